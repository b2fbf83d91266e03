package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
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

// Calls of parallel subagents were listed below the last task, and in the transcript in the order of their first event.
func TestCallsOfSubagents(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	s.columns, s.rows = 60, 24
	event := func(stage tool.Stage, by, id, what string) tool.Event {
		return tool.Event{Stage: stage, Request: tool.Request{
			Call: tool.Call{By: by, ID: id, Name: "x"}, Declaration: tool.Declaration{Name: "Task"},
			Invocation: tool.Invocation{Description: what},
		}, Outcome: &tool.Outcome{Status: tool.StatusSuccess}}
	}
	show := func(id, by string, calls int) {
		e := event(tool.Showing, "", id, "explore: look")
		e.Display = agent.TaskDisplay{Path: by, Summary: agent.TaskSummary{Calls: calls}}
		s.step(e)
	}
	for _, id := range []string{"1", "2"} {
		s.step(event(tool.Running, "", id, "explore: look"))
	}
	show("1", "explore-2", 2)
	show("2", "explore-1", 1)
	s.step(event(tool.Running, "explore-1", "a", "first of 1"))
	s.step(event(tool.Running, "explore-2", "a", "first of 2"))
	s.step(event(tool.Done, "explore-2", "a", ""))
	s.step(event(tool.Running, "explore-2/plan-1", "a", "below 2"))
	s.step(event(tool.Running, "background-1", "b", "alone"))
	var got []string
	for _, l := range s.calls.live(s.o.Now(), 60, "") {
		got = append(got, strings.TrimRight(strings.ReplaceAll(l.String(), "0 s", ""), " "))
	}
	want := "◐ Task explore-2: look                               2 calls|    ● Task first of 2|" +
		"◐ Task explore-1: look                                1 call|    ◐ Task first of 1|" +
		"        ◐ Task below 2 (explore-2/plan-1)|    ◐ Task alone (background-1)"
	if text := strings.Join(got, "|"); strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("live: %s\nwant  %s", text, want)
	}
	s.step(event(tool.Done, "explore-1", "a", ""))
	s.step(event(tool.Done, "", "2", ""))
	s.step(event(tool.Done, "", "1", ""))
	got = nil
	for i := range s.transcript.len() {
		got = append(got, s.transcript.at(i).Head)
	}
	text := strings.Join(got, "|")
	if want := "Task explore-2: look|Task first of 2 (explore-2)|Task explore-1: look|Task first of 1 (explore-1)"; text != want {
		t.Errorf("transcript: %s\nwant        %s", text, want)
	}
}
