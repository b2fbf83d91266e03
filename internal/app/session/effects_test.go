package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// run runs a call and returns its outcome.
func run(t *testing.T, s *Session, name string, args any) tool.Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Executor.Batch(t.Context())
	b.Add(tool.Call{Name: name, Args: raw})
	return b.Wait()[0]
}

func shell(t *testing.T, s *Session, command string) tool.Outcome {
	t.Helper()
	return run(t, s, "run_shell_command", map[string]any{"command": command})
}

// listed returns changes as text, relative to the workspace.
func (d *desk) listed(c tool.Changes) string {
	var out []string
	for _, one := range c.List {
		text := string(one.Kind) + " " + strings.TrimPrefix(one.Path, d.dir+"/")
		if one.Discarded {
			text = "discarded " + text
		}
		if one.Lines != nil {
			text += fmt.Sprintf(" +%d -%d", one.Lines.Added, one.Lines.Removed)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// withTrials lets a desk's sessions try commands.
func (d *desk) withTrials(t *testing.T) *desk {
	t.Helper()
	path, err := os.Executable() // TestMain calls builtin.Main
	if err != nil {
		t.Fatal(err)
	}
	d.helper = builtin.Helper(proc.HelperAt(cmp.Or(os.Getenv(plainadze.Variable), path)))
	return d
}

// A command that wasn't tried says what it changed, once, and only if it changed something.
func TestUntriedChanges(t *testing.T) {
	skipWindows(t)
	d := newDesk(t)
	d.write(t, "b", "1\n")
	s, _ := d.open(t, &recording.Options{})
	defer s.Close()
	s.Policy.SetMode(permission.Yolo)
	o := shell(t, s, "echo x > a; rm b")
	if got := d.listed(o.Changes); got != "created a +1 -0, deleted b +0 -1" || !o.Changes.During {
		t.Errorf("%s %+v", got, o)
	}
	if text := o.Result.Text(); !strings.HasSuffix(text, "\nChanged: a (new), b (deleted)") {
		t.Errorf("%q", text)
	}
	for i := range 30 {
		d.write(t, fmt.Sprintf("many/%02d", i), "1")
	}
	if text := shell(t, s, "rm -r many").Result.Text(); !strings.HasSuffix(text, "many/19 (deleted), 10 more") {
		t.Errorf("%q", text)
	}
	for _, command := range []string{"ls", "true", "echo x > a"} {
		if o := shell(t, s, command); strings.Contains(o.Result.Text(), "Changed") || !o.Changes.None() {
			t.Errorf("%s: %q", command, o.Result.Text())
		}
	}
	o = run(t, s, "write_file", map[string]any{"file_path": filepath.Join(d.dir, "new"), "content": "1\n2\n"})
	if got := d.listed(o.Changes); got != "created new +2 -0" || o.Changes.During || strings.Contains(o.Result.Text(), "Changed") {
		t.Errorf("%s %q", got, o.Result.Text())
	}
}

// Changes of a trial are listed whether they are kept or not, recorded or not.
func TestTriedChanges(t *testing.T) {
	skipWindows(t)
	for _, o := range []*recording.Options{{}, nil} {
		d := newDesk(t).withTrials(t)
		d.write(t, "b", "1\n")
		s, _ := d.open(t, o)
		defer s.Close()
		var answer tool.Decision
		s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) { return answer, nil }
		answer = tool.Decision{Verdict: tool.Deny}
		got := shell(t, s, "echo 1 > a; rm b; mkdir sub; echo 2 > sub/c")
		if got.Changes.None() {
			t.Skip("commands can't be tried here: adze doctor says why")
		}
		if text := d.listed(got.Changes); text != "discarded created a, discarded deleted b, discarded created sub/" || got.Changes.Count() != "" {
			t.Errorf("%s", text)
		}
		answer = tool.Decision{Verdict: tool.Allow, Answer: json.RawMessage(`{"keep":["a"]}`)}
		got = shell(t, s, "echo 1 > a; rm b")
		if text := d.listed(got.Changes); text != "created a +1 -0, discarded deleted b" {
			t.Errorf("%s", text)
		}
		answer.Answer = nil
		got = shell(t, s, "echo 2 >> a; mv b c")
		if text := d.listed(got.Changes); text != "changed a +1 -0, renamed c" || got.Changes.During || got.Changes.Incomplete != "" {
			t.Errorf("%s %+v", text, got.Changes)
		}
		if n := strings.Count(got.Result.Text(), "Changed: "); n != 1 {
			t.Errorf("%d times: %q", n, got.Result.Text())
		}
		before, after, ok := s.Effects.Texts(got.Changes.List[0])
		if !ok || *before != "1\n" || *after != "1\n2\n" {
			t.Errorf("%v %v %v", before, after, ok)
		}
	}
}

// A question shows a new mode beside a new text: a diff alone would hide that a file can be executed now.
func TestTriedModes(t *testing.T) {
	skipWindows(t)
	d := newDesk(t).withTrials(t)
	d.write(t, "a", "1\n")
	d.write(t, "b", "1\n")
	s, _ := d.open(t, nil)
	defer s.Close()
	var rows []tool.Row
	s.Executor.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		if f, ok := r.Confirm.(tool.Effects); ok {
			rows = f.Rows()
		}
		return tool.Decision{Verdict: tool.Deny}, nil
	}
	for line, want := range map[string][]tool.Row{
		"chmod 600 a b; sed -i s/1/2/ a; chmod 755 a b": {
			{Label: "changed", Cells: []string{"a  +1 −1, mode 0644 → 0755", "b, mode 0644 → 0755"}},
		},
		"echo 1 > c; echo 2 > d; chmod 755 c; chmod 644 d; ln -s c e": {
			{Label: "new", Cells: []string{"c  +1 −0, mode 0755", "d  +1 −0", "e, link to c"}},
		},
	} {
		if shell(t, s, line).Changes.None() {
			t.Skip("commands can't be tried here: adze doctor says why")
		}
		if !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: %q", line, rows)
		}
	}
}

// A session that isn't recorded lists what edits change, and says that commands weren't compared. It writes no file.
func TestUnrecordedChanges(t *testing.T) {
	skipWindows(t)
	d := newDesk(t)
	s, _ := d.open(t, nil)
	defer s.Close()
	s.Policy.SetMode(permission.Yolo)
	path := filepath.Join(d.dir, "new")
	o := run(t, s, "write_file", map[string]any{"file_path": path, "content": "1\n2\n"})
	if got := d.listed(o.Changes); got != "created new +2 -0" || o.Changes.Incomplete != "" {
		t.Errorf("%s %+v", got, o.Changes)
	}
	o = shell(t, s, "echo x > a")
	if !o.Changes.None() || o.Changes.Incomplete != "not compared: this session isn't recorded" {
		t.Errorf("%+v", o.Changes)
	}
	if o := shell(t, s, "ls"); o.Changes.Reported() != nil && o.Changes.Incomplete == "" {
		t.Errorf("%+v", o.Changes)
	}
	if o := run(t, s, "read_file", map[string]any{"file_path": path}); o.Changes.Reported() != nil {
		t.Errorf("%+v", o.Changes)
	}
	if _, err := os.Stat(filepath.Join(d.home, "store")); err == nil {
		t.Error("contents were saved")
	}
}

// A turn without commands and external tools saves no file except those that it names: the workspace isn't scanned.
func TestTurnsScanNothing(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"})
	d.write(t, "a", "1\n")
	d.write(t, "other", "not read by any call\n")
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	d.say(t, c, "hi")
	for _, call := range []struct {
		name string
		args map[string]any
	}{
		{"read_file", map[string]any{"absolute_path": filepath.Join(d.dir, "a")}}, {"grep_search", map[string]any{"pattern": "read"}},
		{"edit", map[string]any{"file_path": filepath.Join(d.dir, "a"), "old_string": "1", "new_string": "2"}},
		{"todo_write", map[string]any{"todos": []any{map[string]any{"id": "1", "content": "x", "status": "pending"}}}},
	} {
		if o := run(t, s, call.name, call.args); o.Error != nil {
			t.Fatal(call.name, o.Error)
		}
	}
	c.takeNews(t.Context())
	_, differ, err := s.Effects.Diff("")
	if err != nil {
		t.Fatal(err)
	}
	sum := func(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }
	if _, err := differ.Store.Get(sum("1\n")); err != nil {
		t.Error(err)
	}
	if _, err := differ.Store.Get(sum("not read by any call\n")); err == nil {
		t.Error("the workspace was saved")
	}
}

// fromServer is a tool of an MCP server.
type fromServer struct{ tool.Tool }

func (e fromServer) Declaration() tool.Declaration {
	d := e.Tool.Declaration()
	d.Origin = "mcp:test"
	return d
}

// A change that breaks a rule for edits is reported to the model and the user, if nothing judged it before.
func TestRulesByEffect(t *testing.T) {
	skipWindows(t)
	d := newDesk(t)
	rules := `{"permissions":{"deny":["Edit(/locked/**)"],"ask":["Edit(/asked/**)"],"allow":["Shell(sh x.sh)"]}}`
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write(t, "locked/a", "1")
	d.write(t, "asked/b", "1")
	d.write(t, "x.sh", "echo 2 > locked/a; echo 2 > asked/b; echo 2 > c")
	s, _ := d.open(t, &recording.Options{}) // the user approves commands, which can't be tried here
	defer s.Close()
	o := shell(t, s, "sh x.sh")
	text := o.Result.Text()
	for _, want := range []string{"Changed: asked/b, c (new), locked/a\n", "locked/a (deny rule Edit(/locked/**)",
		"asked/b (ask rule Edit(/asked/**)", "adze undo"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	notice := strings.Join(d.told, "\n")
	if !strings.Contains(notice, "changed files that a rule protects: ") || !strings.Contains(notice, "deny rule Edit(/locked/**)") ||
		!strings.Contains(notice, "adze undo") {
		t.Errorf("%q", notice)
	}
	writes := tool.Define(tool.Def[struct{}]{Name: "writes", Description: "Writes.", Kind: tool.Other,
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			return &tool.Invocation{Description: "writes", Run: func(context.Context, *tool.Live) (tool.Result, error) {
				return tool.TextResult("done"), os.WriteFile(filepath.Join(d.dir, "locked", "a"), []byte("3"), 0o600)
			}}, nil
		}})
	if err := s.Executor.Registry.Set("mcp:test", []tool.Tool{fromServer{writes}}); err != nil {
		t.Fatal(err)
	}
	if text := run(t, s, "writes", struct{}{}).Result.Text(); !strings.Contains(text, "A rule protects files that changed: locked/a (deny rule Edit(/locked/**)") {
		t.Errorf("an external tool: %q", text)
	}
	d.told = nil
	d.write(t, "x.sh", "echo 3 > c")
	if o := shell(t, s, "sh x.sh"); strings.Contains(o.Result.Text(), "protect") || len(d.told) > 0 {
		t.Errorf("%q %q", o.Result.Text(), d.told)
	}
}

// The model reads everything that a background command changed until it ended.
func TestBackgroundChanges(t *testing.T) {
	skipWindows(t)
	d := newDesk(t)
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	s.Policy.SetMode(permission.Yolo)
	o := run(t, s, "run_shell_command", map[string]any{"is_background": true,
		"command": "while ! [ -e go ]; do sleep 0.01; done; echo 1 > first; while ! [ -e end ]; do sleep 0.01; done; echo 1 > last"})
	if o.Error != nil {
		t.Fatal(o.Error)
	}
	shell(t, s, "touch go")
	waittest.Until(t, "its first change", func() bool { _, err := os.Stat(filepath.Join(d.dir, "first")); return err == nil })
	shell(t, s, "touch end")
	waittest.Until(t, "its end", func() bool { return len(s.Tools.Running()) == 0 })
	news := strings.Join(c.takeNews(t.Context()), "\n")
	if !strings.Contains(news, "Changed while background command bg_1 was running: end (new), first (new), go (new), last (new)") {
		t.Errorf("%q", news)
	}
	if news := strings.Join(c.takeNews(t.Context()), "\n"); strings.Contains(news, "Changed") {
		t.Errorf("twice: %q", news)
	}
}
