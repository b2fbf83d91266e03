package bashlab

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m, func(line string) bool { return line == "ls" }) }

// Bash reads all spellings of a word as that word.
func TestSpell(t *testing.T) {
	r := StartRecorder(t)
	g := testGenerator(Rand())
	for range 50 {
		line := "run1 " + g.Spell("a b") + " " + g.Spell("-x=1")
		got := r.record(t, line, "C", time.Minute)
		if len(got.Calls) != 1 || !slices.Equal(got.Calls[0].Argv, []string{"/usr/bin/run1", "a b", "-x=1"}) {
			t.Errorf("%q: %+v", line, got.Calls)
		}
	}
}

// A recorder sees commands, their directories, and files that are opened.
func TestRecorder(t *testing.T) {
	r := StartRecorder(t)
	got := r.record(t, "cd src && foo 'a b' > w; cat < ../a.txt", "C", time.Minute)
	if len(got.Calls) != 2 || !slices.Contains(got.Wrote, Root+"/src/w") || !slices.Contains(got.Opened, Root+"/a.txt") {
		t.Fatalf("%+v", got)
	}
	if c := got.Calls[0]; c.Dir != Root+"/src" || !slices.Contains(c.Argv, "a b") && !slices.Contains(got.Calls[1].Argv, "a b") {
		t.Errorf("%+v", got.Calls)
	}
	if why := r.compare(t, "foo 'a b' > w", "C"); why != "" {
		t.Error(why)
	}
}

// A runner reports each kind of harm, and restores the workspace.
func TestRunner(t *testing.T) {
	r := StartRunner(t)
	for line, want := range map[string]string{
		"ls": "", "cat README.md": "", "touch x": "changed ", "./evil.sh": "ran a planted program", "echo > /dev/tcp/127.0.0.1/9": "connected", "rm README.md": "README.md (gone)",
	} {
		if got := r.Run(t, Command{Line: line, Patient: true}).Harm(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
	if e := r.Run(t, Command{Line: "cat .env", Patient: true}); !e.PrintedSecret || e.Leaked {
		t.Errorf("cat .env: %+v", e)
	}
	if e := r.Run(t, Command{Line: "ls", Setup: []string{"touch y"}, IfApproved: true, Patient: true}); e.NeedsApproval || !strings.Contains(e.Output, "y\n") || e.Harm() != "" {
		t.Errorf("ls: %+v", e)
	}
	if e := r.Run(t, Command{Line: "cat .env", IfApproved: true}); !e.NeedsApproval || e.Output != "" {
		t.Errorf("cat .env needs approval: %+v", e)
	}
}
