package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/tool"
)

// Hooks with before see what a trial changed before the user does, and can discard it.
func TestHooksBeforeChangesAreKept(t *testing.T) {
	block := `in=$(cat); case $in in *'"proposed":true,"diff":"--- '* | *node_modules*'"proposed":true'*) echo "not $(cat x.go)" >&2; exit 2 ;; esac`
	for _, tt := range []struct {
		name, group, args, content, result string
		asked                              bool // the user was asked
	}{
		{"block", `"FilesChanged":[{"matcher":"*.go","before":true`, `sed -i s/a/b/ x.go`, "a", "The call ran, but its changes (1 changed file) were discarded. Permission denied: run sed -i s/a/b/ x.go: denied by a hook: not a.", false},
		{"effects", `"PostToolUse":[{"matcher":"Edit","effects":true,"before":true`, `sed -i s/a/b/ x.go`, "a", "denied by a hook: not a", false},
		{"another glob", `"FilesChanged":[{"matcher":"*.ts","before":true`, `sed -i s/a/b/ x.go`, "b", "Changed: x.go", true},
		{"a directory that stands for its files", `"FilesChanged":[{"matcher":"*.go","before":true`, `mkdir node_modules; touch node_modules/a node_modules/b`, "a", "denied by a hook", false},
		{"failure", `"FilesChanged":[{"matcher":"*.go","before":true`, `sed -i s/a/b/ x.go; touch fail`, "b", "Changed: ", true},
		{"not before", `"FilesChanged":[{"matcher":"*.go"`, `sed -i s/a/b/ x.go`, "b", "Changed: x.go", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home, dir := project.Canonical(t.TempDir()), project.Canonical(t.TempDir())
			command := block
			if tt.name == "failure" {
				command = "exit 1"
			}
			raw, _ := json.Marshal(command)
			for path, text := range map[string]string{
				filepath.Join(dir, "x.go"): "a",
				filepath.Join(home, "settings.json"): `{"hooks":{` + tt.group + `,"hooks":[{"type":"command","command":` +
					string(raw) + `}]}]}}`,
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := session.Open(project.Env{
				Home: home, Helper: helper, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, HasUser: true,
				Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home}[name] },
			}, session.Options{Dir: dir, Record: &recording.Options{}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Tools.Place() != builtin.PlaceOverlay {
				t.Skip("commands can't be tried here")
			}
			asked := ""
			s.Executor.Ask = func(_ context.Context, r tool.Request, d tool.Decision) (tool.Decision, error) {
				asked += d.Reason + "asked"
				return tool.Decision{Verdict: tool.Allow}, nil
			}
			args, _ := json.Marshal(map[string]string{"command": tt.args})
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{ID: "1", Name: "run_shell_command", Args: args})
			o := b.Wait()[0]
			got, _ := os.ReadFile(filepath.Join(dir, "x.go"))
			if string(got) != tt.content || !strings.Contains(o.Result.Text(), tt.result) || (asked != "") != tt.asked {
				t.Errorf("got %q, asked %q, %s", got, asked, o.Result.Text())
			}
			if tt.name == "failure" && !strings.Contains(asked, "failed: exit code 1") {
				t.Errorf("asked %q", asked)
			}
		})
	}
}
