package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// A program that embeds Adze as README.md shows ran a workspace's bin/ls for ls without approval, because only the command
// line program removed such directories from PATH.
func TestEmbeddedPath(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, link := filepath.Join(dir, "ws"), filepath.Join(dir, "link")
	for _, name := range []string{"bin", "late"} {
		if err := os.MkdirAll(filepath.Join(ws, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	evil := func(name string) {
		if err := os.WriteFile(filepath.Join(ws, name, "ls"), []byte("#!/bin/sh\necho EVIL\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	evil("bin")
	for name, path := range map[string]string{
		"absolute": filepath.Join(ws, "bin"), "relative": "./bin", "empty": "", "through a link": filepath.Join(link, "bin"), "made later": filepath.Join(link, "late/bin"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
			for _, mode := range []string{"", "off"} {
				set, err := builtin.New(builtin.Options{Dir: ws, Helper: helper, Sandbox: builtin.Sandbox{Mode: mode}})
				if err != nil {
					t.Fatal(err)
				}
				defer set.Close()
				if name == "made later" {
					if err := os.MkdirAll(filepath.Join(ws, "late/bin"), 0o755); err != nil {
						t.Fatal(err)
					}
					evil("late/bin")
				}
				policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
				x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge}
				for _, command := range []string{"ls", "cd bin && ls"} {
					args, _ := json.Marshal(map[string]string{"command": command})
					batch := x.Batch(context.Background())
					batch.Add(tool.Call{Name: "run_shell_command", Args: args})
					for _, o := range batch.Wait() {
						if text := o.Result.Text(); fmt.Sprint(o.Status) != "success" || strings.Contains(text, "EVIL") {
							t.Errorf("%q, sandbox %q: %s %s", command, mode, o.Status, text)
						}
					}
				}
			}
		})
	}
}
