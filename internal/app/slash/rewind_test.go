package slash

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/google/go-cmp/cmp"
)

// texts returns what a conversation says.
func texts(history []model.Message) string {
	var out []string
	for _, m := range history {
		out = append(out, m.Text())
	}
	return strings.Join(out, "|")
}

// decide runs a command and the options that it offers, one after another.
func decide(t *testing.T, c *Commands, command string, options ...int) Expansion {
	t.Helper()
	x, _, err := c.Expand(t.Context(), command)
	for _, n := range options {
		if err != nil || x.Choice == nil {
			t.Fatalf("%s offers nothing: %+v %v", command, x, err)
		}
		x, err = x.Choice.Options[n].Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A rewind reaches back over a summary, in the session and after a resume, and a resume has what was rewound.
func TestRewindOverASummary(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openaitest.Answer{Text: "1"}, openaitest.Answer{Text: "2"}, openaitest.Answer{Text: "3"},
		openaitest.Answer{Expect: []string{"p-one", "p-four"}, Absent: []string{"p-two", "p-three", "p-sum"}, Text: "4"})
	s, c := d.open(t, &recording.Options{})
	commands := New(s, Lasts|Chooses)
	d.say(t, c, "p-one")
	d.say(t, c, "p-two")
	c.Reset([]model.Message{model.Prompt("p-sum")})
	d.say(t, c, "p-three")
	x := decide(t, commands, "/rewind", 1, 0)
	if x.Edit != "p-two" || texts(c.History()) != "p-one|1" {
		t.Errorf("%q is to be edited after %q", x.Edit, texts(c.History()))
	}
	d.say(t, c, "p-four")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	again, err := d.try(&recording.Options{Resume: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	commands = New(again, Lasts|Chooses)
	if got := texts(again.History()); got != "p-one|1|p-four|4" {
		t.Errorf("resumed with %q", got)
	}
	var names []string
	for _, o := range decide(t, commands, "/rewind").Choice.Options {
		names = append(names, o.Text)
	}
	if diff := cmp.Diff([]string{"p-four", "p-one"}, names); diff != "" {
		t.Error(diff)
	}
	decide(t, commands, "/rewind 2", 0)
	if len(again.Resumed.Earlier()) != 0 {
		t.Errorf("rewound to %v", again.Resumed.Earlier())
	}
}

// Files that changed since stay as they are, and the choice that keeps all files is the first one.
func TestRewindFiles(t *testing.T) {
	skipWindows(t)
	t.Parallel()
	d := newDesk(t, shellCall("c1", "echo 1 > a; echo 1 > b"), openaitest.Answer{Text: "done"})
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	commands := New(s, Lasts|Chooses)
	d.say(t, c, "make files")
	d.write(t, "b", "mine\n")
	x := decide(t, commands, "/rewind 1")
	want := []string{"conversation  1 prompt and 3 other messages less", "files         delete a", "left alone    1 path that changed since"}
	if diff := cmp.Diff(want, x.Choice.Detail); diff != "" {
		t.Error(diff)
	}
	if x = decide(t, commands, "/rewind 1", 1); !strings.Contains(x.Print, "leave    b: changed since") || !strings.Contains(x.Print, "1 file restored") {
		t.Error(x.Print)
	}
	d.holds(t, "a", "")
	d.holds(t, "b", "mine\n")
}

func TestRewindWithoutARecord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s, err := d.try(&recording.Options{Off: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commands := New(s, Lasts|Chooses)
	if _, _, err := commands.Expand(t.Context(), "/rewind"); err == nil || !strings.Contains(err.Error(), "isn't recorded") {
		t.Error(err)
	}
}

// A report of background work is not a prompt of the user: it used to be in the list, and the title of a session.
func TestReportsAreNoPrompts(t *testing.T) {
	skipWindows(t)
	t.Parallel()
	// A command that ends before the first turn does is reported in that turn.
	wait := call("c1", "run_shell_command", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done", "is_background": true})
	d := newDesk(t, openaitest.Answer{Calls: []openaitest.Call{wait}}, openaitest.Answer{Text: "runs"}, openaitest.Answer{Text: "ended"})
	s, c := d.open(t, &recording.Options{})
	defer s.Close()
	commands := New(s, Lasts|Chooses)
	if _, err := c.Turn(t.Context(), model.Text("start it")); err != nil {
		t.Fatal(err)
	}
	d.write(t, "go", "")
	select {
	case <-c.Wake():
	case <-time.After(2 * time.Minute):
		t.Fatal("a finished command wakes no one")
	}
	if answer, err := c.Turn(t.Context()); err != nil || answer.Text != "ended" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if n := len(decide(t, commands, "/rewind").Choice.Options); n != 1 {
		t.Errorf("%d prompts", n)
	}
}

func TestUndoCommands(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, shellCall("c1", "rm -rf src"), openaitest.Answer{Text: "removed"})
	d.write(t, "src/a", "1")
	s, c := d.open(t, &recording.Options{})
	commands := New(s, Lasts)
	d.say(t, c, "go")
	decide(t, commands, "/undo --yes")
	for _, tt := range []struct{ prompt, print, content string }{
		{"/redo", "delete   src/a\nType '/redo --yes' to continue.", "1"},
		{"/redo --yes", "All restored.", ""},
		{"/undo --call c1", "create   src/a\nType '/undo --call c1 --yes' to continue.", ""},
		{"/undo --turn 1 --yes", "All restored.", "1"},
	} {
		x, _, err := commands.Expand(t.Context(), tt.prompt)
		if err != nil || !strings.HasSuffix(x.Print, tt.print) {
			t.Errorf("%s: %q %v", tt.prompt, x.Print, err)
		}
		d.holds(t, "src/a", tt.content)
	}
	for _, bad := range []string{"/undo nonsense", "/undo --turn x", "/undo --call nope", "/undo"} {
		if _, _, err := commands.Expand(t.Context(), bad); !errors.Is(err, project.ErrPrompt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestUndoSummary(t *testing.T) {
	file := func(is string) undo.State { return undo.State{Is: is} }
	there, gone := file("sha256:1"), undo.State{}
	for _, test := range []struct {
		want         string
		target, name string
		redo         int64
		steps        []undo.Step
	}{
		{`restores docs/: 2 files that "rm -r docs" removed`, "rm -r docs", "run_shell_command", 0,
			[]undo.Step{{Path: "/w/docs", To: file("dir")}, {Path: "/w/docs/a", To: there}, {Path: "/w/docs/b/c", To: there}}},
		{`restores a, which "edit a" changed`, "/w/a", "edit", 0, []undo.Step{{Path: "/w/a", Now: there, To: file("sha256:2")}}},
		{`deletes a, which "write_file a" created`, "/w/a", "write_file", 0, []undo.Step{{Path: "/w/a", Now: there, To: gone}}},
		{`restores 2 files that "make" changed`, "make", "run_shell_command", 0, []undo.Step{{Path: "/w/a", Now: there, To: gone}, {Path: "/w/b/c", Now: gone, To: there}}},
		{`deletes docs/: 2 files: "rm -r docs" again`, "rm -r docs", "x", 7, []undo.Step{{Path: "/w/docs/a", Now: there}, {Path: "/w/docs/b", Now: there}}},
	} {
		u := &record.Undo{Redo: test.redo, Calls: []undo.Call{{Name: test.name, Target: test.target, Title: fmt.Sprint(test.name, test.target)}}, Plan: undo.Plan{Steps: test.steps}}
		if got := undoSummary(u, "/w"); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
