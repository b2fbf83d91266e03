package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages builds the .deb and the .rpm of an architecture with nfpm.
func (r *run) packages(arch string, files []file) error {
	dir, err := os.MkdirTemp("", "adze-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	type info struct {
		Mode os.FileMode `json:"mode"`
	}
	type content struct {
		Source string `json:"src"`
		Path   string `json:"dst"`
		Info   info   `json:"file_info"`
	}
	var contents []content
	for i, f := range files {
		to := installed(f.name)
		if to == "" {
			continue
		}
		source := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(source, f.content, 0o600); err != nil {
			return err
		}
		if err := os.Chtimes(source, r.at, r.at); err != nil {
			return err
		}
		contents = append(contents, content{source, to, info{f.mode}})
	}
	config, err := json.Marshal(map[string]any{ // valid YAML too
		"name": "adze", "arch": arch, "platform": "linux", "version": r.version, "license": "Apache-2.0",
		"section":    "devel",
		"maintainer": "The Adze authors", "description": "A coding agent for the command line",
		"homepage": "https://github.com/adze-dev/adze",
		"mtime":    r.at, "contents": contents,
		"recommends": []string{"git", "bash"},
	})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		name := fmt.Sprintf("adze_%s_linux_%s.%s", r.number(), arch, kind)
		words := append(strings.Fields(r.nfpm), "package", "--config", file, "--packager", kind, "--target",
			filepath.Join(r.out, name))
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, out)
		}
		r.files = append(r.files, name)
	}
	return nil
}

// installed returns the installed path of an archive's file; "": it isn't installed.
func installed(name string) string {
	switch name {
	case "adze":
		return "/usr/bin/adze"
	case "adze-fleet":
		return "/usr/bin/adze-fleet"
	case "man/adze.1":
		return "/usr/share/man/man1/adze.1"
	case "completions/adze.bash":
		return "/usr/share/bash-completion/completions/adze"
	case "completions/_adze":
		return "/usr/share/zsh/vendor-completions/_adze"
	case "completions/adze.fish":
		return "/usr/share/fish/vendor_completions.d/adze.fish"
	case "LICENSE":
		return "/usr/share/doc/adze/copyright"
	case "THIRD-PARTY-LICENSES.txt":
		return "/usr/share/doc/adze/THIRD-PARTY-LICENSES.txt"
	}
	return ""
}

// formula returns a Homebrew formula; "" unless the release has archives for macOS and Linux.
func (r *run) formula() string {
	var b strings.Builder
	fmt.Fprintf(&b, "class Adze < Formula\n  desc \"Coding agent for the command line\"\n  homepage "+
		"\"https://github.com/adze-dev/adze\"\n  version %q\n  license \"Apache-2.0\"\n", r.number())
	for _, system := range []struct{ brew, name string }{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system.brew)
		for _, arch := range []struct{ brew, name string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("adze_%s_%s_%s.tar.gz", r.number(), system.name, arch.name)
			sum, err := r.sum(name)
			if err != nil {
				return ""
			}
			fmt.Fprintf(&b, "    on_%s do\n      url \"https://github.com/adze-dev/adze/releases/download/%s/%s\"\n  "+
				"    sha256 %q\n    end\n", arch.brew, r.version, name, sum)
		}
		b.WriteString("  end\n")
	}
	b.WriteString("\n  def install\n    bin.install \"adze\", \"adze-fleet\"\n    man1.install \"man/adze.1\"\n    " +
		"bash_completion.install \"completions/adze.bash\" => \"adze\"\n" +
		"    zsh_completion.install \"completions/_adze\"\n    fish_completion.install " +
		"\"completions/adze.fish\"\n  end\n\n" +
		"  test do\n    assert_match version.to_s, shell_output(\"#{bin}/adze version\")\n  end\nend\n")
	return b.String()
}
