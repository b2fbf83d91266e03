package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/tool"
)

// Programs of tools.afterChange run for changes by any tool, without a shell.
func TestAfterChange(t *testing.T) {
	for _, tt := range []struct {
		name, setting, command string
		content                map[string]string
		result                 []string // in the result; none: no text of programs
	}{
		{
			"a formatter", `{"glob":"**/*.go","run":["sed","-i","s/b/B/","{files}"]}`, "sed -i s/a/b/ x.go; echo b > y.ts",
			map[string]string{"x.go": "B\n", "y.ts": "b\n"}, []string{"[afterChange] Changed after the call: x.go."},
		},
		{
			"odd names", `{"glob":"*.go","run":["sed","-i","s/b/B/","{files}"]}`,
			`echo b > ./-n.go; echo b > 'a b;$(touch evil).go'; echo b > 'é"'"'.go"; mkdir sub; echo b > sub/-e.go`,
			map[string]string{"-n.go": "B\n", "a b;$(touch evil).go": "B\n", `é"'.go`: "B\n", "sub/-e.go": "B\n"}, []string{"Changed after the call: "},
		},
		{
			"a check", `{"glob":"*.go","run":["sh","-c","echo $# found; exit 3","sh","{files}"]}`, "touch a.go b.go",
			map[string]string{}, []string{"[afterChange] sh -c echo $# found; exit 3 sh {files} failed: exit code 3\n2 found"},
		},
		{"without files", `{"glob":"*.go","run":["sh","-c","echo ran"]}`, "touch a.go b.go", map[string]string{}, []string{"[afterChange] sh -c echo ran\nran"}},
		{"another glob", `{"glob":"*.ts","run":["sh","-c","echo ran"]}`, "touch a.go", map[string]string{}, nil},
		{"deleted", `{"glob":"*.go","run":["sh","-c","echo ran"]}`, "rm x.go", map[string]string{}, nil},
		{"no such program", `{"glob":"*.go","run":["no-such-program","{files}"]}`, "touch a.go", map[string]string{}, []string{"[afterChange] no-such-program {files} failed: "}},
		{"it never ends", `{"glob":"*.go","run":["sleep","3600"],"timeout":100}`, "touch a.go", map[string]string{}, []string{"sleep 3600 failed: timed out after "}},
		{"20 MB", `{"glob":"*.go","run":["sh","-c","head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end"],"timeout":600000}`, "touch a.go", map[string]string{}, []string{"\nend"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			put(t, filepath.Join(d.dir, "x.go"), "a\n")
			d.settle(t, `{"tools":{"approvalMode":"yolo","afterChange":[`+tt.setting+`]}}`)
			s, err := d.try(&recording.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			args, _ := json.Marshal(map[string]string{"command": tt.command})
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{ID: "1", Name: "run_shell_command", Args: args})
			o := b.Wait()[0]
			text := o.Result.Text()
			if len(tt.result) == 0 && strings.Contains(text, "[afterChange]") || len(text) > 20_000 ||
				slices.ContainsFunc(tt.result, func(part string) bool { return !strings.Contains(text, part) }) {
				t.Errorf("got %s %q, want %q", o.Status, text[:min(len(text), 3000)], tt.result)
			}
			for name, want := range tt.content {
				if got, _ := os.ReadFile(filepath.Join(d.dir, name)); string(got) != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if _, err := os.Stat(filepath.Join(d.dir, "evil")); err == nil {
				t.Error("a name was run")
			}
		})
	}
}

// The programs of a project run only if the user trusts it, and a script of the project only as it was at the start.
func TestAfterChangeOfAProject(t *testing.T) {
	d := newDesk(t)
	put(t, filepath.Join(d.dir, "format.sh"), "#!/bin/sh\ntouch ran\n")
	put(t, filepath.Join(d.dir, ".adze", "settings.json"), `{"tools":{"afterChange":[{"glob":"*.go","run":["./format.sh"]}]}}`)
	d.settle(t, `{"tools":{"approvalMode":"yolo"}}`)
	runs := func(command string) (text string, ran bool) {
		t.Helper()
		s, _ := d.open(t, &recording.Options{})
		defer s.Close()
		text = shell(t, s, command).Result.Text()
		_, err := os.Stat(filepath.Join(d.dir, "ran"))
		os.Remove(filepath.Join(d.dir, "ran"))
		return text, err == nil
	}
	if text, ran := runs("touch a.go"); ran {
		t.Error("it runs without trust:", text)
	}
	d.trust(t)
	if text, ran := runs("touch b.go"); !ran || !strings.Contains(text, "[afterChange] Changed after the call: ran.") {
		t.Error("it doesn't run after trust:", text)
	}
	if text, ran := runs("echo 'touch evil' >> format.sh; touch c.go"); ran || !strings.Contains(text, "format.sh changed since the session began") {
		t.Error(text)
	}
	if text, ran := runs("touch d.go"); ran { // what was trusted is another script
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "evil")); err == nil {
		t.Error("evil exists")
	}
}
