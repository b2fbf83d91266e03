package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// findPeers looks for the programs to compare with.
func (o *options) findPeers() {
	if o.rg == "" && o.node != "" {
		arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		for _, p := range []string{"@vscode/ripgrep-" + runtime.GOOS + "-" + orElse(arch, runtime.GOARCH) + "/bin/rg",
			"@vscode/ripgrep/bin/rg"} {
			if found, err := exec.LookPath(filepath.Join(o.node, "node_modules", p)); err == nil {
				o.rg = found
				break
			}
		}
	}
	if o.rg == "" {
		o.rg, _ = exec.LookPath("rg")
	}
	for _, name := range []string{"fdfind", "fd"} {
		if o.fd == "" {
			o.fd, _ = exec.LookPath(name)
		}
	}
}

func version(program string) string {
	if program == "" {
		return "not found, left out"
	}
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return program + " does not run, left out: " + err.Error()
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
