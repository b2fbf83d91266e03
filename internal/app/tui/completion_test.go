package tui

import (
	"context"
	"slices"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/tool"
)

// slowHost lists one file, when it may.
type slowHost struct {
	Host
	may chan struct{}
}

func (h slowHost) Complete(ctx context.Context, word string, show func([]Candidate)) {
	select {
	case <-h.may:
		show([]Candidate{{Text: "@greet.sh"}})
	case <-ctx.Done():
	}
}

// A Tab that is pressed before the list is there completes when it comes, and the list is shown at once: both used to wait for
// another key, or for the next frame.
func TestTabBeforeTheList(t *testing.T) {
	t.Parallel()
	host := slowHost{may: make(chan struct{})}
	s := New(Options{Host: host})
	s.editor.Insert("look at @gre")
	s.complete.update(s, t.Context())
	s.key(t.Context(), keys.Key{Name: "tab"})
	if !s.complete.wanted {
		t.Fatal("Tab did something else")
	}
	close(host.may)
	(<-s.messages)(s)
	if got := s.editor.Text(); got != "look at @greet.sh " || !s.urgent {
		t.Errorf("%q, at once: %v", got, s.urgent)
	}
}

// A Tab after a list that turned out empty is no reason to hold keys back: what was typed after it used to be
// invisible.
func TestTabWithoutAList(t *testing.T) {
	t.Parallel()
	s := New(Options{Host: slowHost{may: make(chan struct{})}})
	s.columns, s.rows = 80, 24
	s.editor.Insert("@zzz")
	s.complete.asked = "@zzz"
	s.complete.show("@zzz", nil)
	for _, k := range []keys.Key{{Name: "tab"}, {Name: "o", Text: "o"}} {
		s.key(t.Context(), k)
	}
	if got := s.editor.Text(); got != "@zzzo" {
		t.Errorf("%q", got)
	}
}

// Keys after a Tab that waits for its list come after what it completes.
func TestKeysAfterTab(t *testing.T) {
	t.Parallel()
	host := slowHost{may: make(chan struct{})}
	s := New(Options{Host: host})
	s.columns, s.rows = 80, 24
	s.editor.Insert("@gre")
	s.complete.update(s, t.Context())
	for _, k := range []keys.Key{{Name: "tab"}, {Name: "o", Text: "o"}, {Name: "k", Text: "k"}} {
		s.key(t.Context(), k)
	}
	close(host.may)
	(<-s.messages)(s)
	if got := s.editor.Text(); got != "@greet.sh ok" {
		t.Errorf("%q", got)
	}
}

// Calls are printed in the order of the answer, whichever has its first event first.
func TestCallOrder(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	s.columns, s.rows = 80, 24
	calls := []tool.Call{{ID: "1", Name: "first"}, {ID: "2", Name: "second"}}
	for _, c := range calls {
		s.event(agent.Called{Call: c})
	}
	for i := len(calls) - 1; i >= 0; i-- {
		s.event(agent.Step{Event: tool.Event{Stage: tool.Done, Request: tool.Request{Call: calls[i]}, Outcome: &tool.Outcome{Status: tool.StatusSuccess}}})
	}
	var got []string
	for _, l := range s.finished {
		got = append(got, l.String())
	}
	if len(got) != 2 || got[0] != "● first " || got[1] != "● second " {
		t.Errorf("%q", got)
	}
}

// What the lookup finds is printed after a prompt that was faster: the row of the model used to be missing then.
func TestLateHeader(t *testing.T) {
	t.Parallel()
	s := New(Options{Lookup: func(context.Context) []Row { return nil }})
	s.columns, s.rows = 40, 24
	s.header = []Row{{Label: "Adze", Text: "/work"}}
	found := []Row{{Label: "model", Text: "scripted"}}
	s.endHeader(nil)
	s.endHeader(found)
	s.endHeader(found)
	var got []string
	for _, l := range s.finished {
		got = append(got, l.String())
	}
	if want := []string{"Adze     /work", "", "model    scripted"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
