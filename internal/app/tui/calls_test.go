package tui

import (
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

// "WebFetch fetch URL" and "Grep search for X" said the same thing twice.
func TestNaming(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ title, what, want string }{
		{"ReadFile", "read greet.sh", "Read greet.sh"},
		{"WebFetch", "fetch https://a.b", "Fetch https://a.b"},
		{"Grep", `grep "TODO" in src`, `Grep "TODO" in src`},
		{"Task", "Task explore: who calls Close?", "Task explore: who calls Close?"},
		{"Shell", "sh check.sh", "Shell sh check.sh"},
		{"Shell", "make test", "Shell make test"},
		{"TodoWrite", "0 of 3 steps done", "TodoWrite 0 of 3 steps done"},
		{"Shell", "", "Shell "},
		{"AskUserQuestion", "ask: Color", "Ask Color"},
	} {
		if got := naming(tt.title, tt.what).String(); got != tt.want {
			t.Errorf("%s, %s: %q", tt.title, tt.what, got)
		}
	}
}

// Short thinking was shown as "thought for 0 s".
func TestThoughtFor(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "thought for under 1 s", 700 * time.Millisecond: "thought for under 1 s", 4 * time.Second: "thought for 4 s"} {
		if got := thoughtFor(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// A call that failed before it was known what it would do was shown as "read_file", beside others as "ReadFile".
func TestFailedCallHasTheToolsTitle(t *testing.T) {
	t.Parallel()
	var l callList
	call := tool.Call{ID: "1", Name: "read_file"}
	if c := l.find(tool.Request{Call: call}); c.title != "read_file" {
		t.Errorf("called: %q", c.title)
	}
	if c := l.find(tool.Request{Call: call, Declaration: tool.Declaration{Name: "read_file", DisplayName: "ReadFile"}}); c.title != "ReadFile" {
		t.Errorf("failed: %q", c.title)
	}
}
