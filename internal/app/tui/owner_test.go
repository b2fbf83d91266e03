package tui

import (
	"context"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/viewer"
	"github.com/adze-dev/adze/tool"
)

// mutedHost completes nothing.
type mutedHost struct{ Host }

func (mutedHost) Complete(context.Context, string, func([]Candidate)) {}
func (mutedHost) Running() []string                                   { return nil }
func (mutedHost) NextMode()                                           {}
func (mutedHost) Aside(string) bool                                   { return false }

// While something else is open, no key answers a question, whenever it is pressed, and Esc interrupts nothing. In the
// search, a letter used to approve, and Esc in a list of completions denied the call and interrupted the work.
func TestKeysOfWhatIsOpen(t *testing.T) {
	t.Parallel()
	menu := func(s *Screen, text string) {
		s.editor.Insert(text)
		s.complete.asked = text
		s.complete.show(text, []Candidate{{Text: text + "a"}, {Text: text + "b"}})
	}
	opens := map[string]func(*Screen){
		"search": func(s *Screen) { s.searchHistory() },
		"search with a query": func(s *Screen) {
			s.searchHistory()
			s.lookup.query = "x"
		},
		"files":    func(s *Screen) { menu(s, "@") },
		"commands": func(s *Screen) { menu(s, "/") },
		"stale list": func(s *Screen) {
			menu(s, "@p")
			s.editor.Insert("a")
			s.complete.asked = "@pa"
		},
		"waiting Tab": func(s *Screen) {
			s.editor.Insert("@p")
			s.complete.asked = "@p"
			s.complete.await(s)
		},
		"keys":   func(s *Screen) { s.showKeys = true },
		"test":   func(s *Screen) { s.testing = true },
		"choice": func(s *Screen) { s.choice = newChoice(Choice{Options: []Option{{Text: "a"}, {Text: "b"}}}) },
		"view": func(s *Screen) {
			s.view = &overlay{View: viewer.New("", viewer.Text(func(int) []cell.Line { return []cell.Line{cell.Text("a")} }))}
		},
	}
	var pressed []keys.Key
	for c := '!'; c <= '~'; c++ {
		pressed = append(pressed, keys.Key{Name: string(c), Text: string(c)})
	}
	for _, name := range []string{"esc", "up", "down", "left", "right", "backspace", "enter", "tab"} {
		pressed = append(pressed, keys.Key{Name: name})
	}
	pressed = append(pressed, keys.Key{Name: "space", Text: " "})
	for name, open := range opens {
		for _, k := range pressed {
			for _, stage := range []stage{choosing, always, picking, rerunning} {
				var s *Screen
				now := time.Now()
				s = New(Options{Host: mutedHost{}, Now: func() time.Time { return now }, Out: nil})
				s.columns, s.rows, s.term = 80, 24, &terminal{}
				interrupted := false
				s.work = &work{cancel: func() { interrupted = true }}
				q := questionOf("1", "Edit")
				q.Parts = make([]approval.Hunk, 1)
				q.enter(stage)
				q.shown, q.printed = now.Add(-time.Hour), true
				s.questions.open = []*question{q}
				open(s)
				if name == "view" && (k.Name == "esc" || k.Name == "q") { // it writes to the terminal
					continue
				}
				s.keyAt, s.lastKey = now, now.Add(-time.Hour)
				s.key(t.Context(), k)
				if len(q.reply) > 0 || q.stage != stage || q.explain || interrupted || s.view == nil && name == "view" {
					t.Fatalf("%s, stage %d: %s reached the question (answered %d, stage %d, interrupted %v)", name, stage, k, len(q.reply), q.stage, interrupted)
				}
			}
		}
	}
}

// Esc cancels the turn before it answers the question: otherwise the model is asked again.
func TestEscCancelsFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := New(Options{Host: mutedHost{}, Now: func() time.Time { return now }})
	s.columns, s.rows = 80, 24
	q := questionOf("1")
	q.shown, q.printed = now.Add(-time.Hour), true
	s.questions.open = []*question{q}
	answered := -1
	s.work = &work{cancel: func() { answered = len(q.reply) }}
	s.keyAt, s.lastKey = now, now.Add(-time.Hour)
	s.key(t.Context(), keys.Key{Name: "esc"})
	if answered != 0 || len(q.reply) != 1 {
		t.Errorf("answered %d before the cancel, %d after it", answered, len(q.reply))
	}
}

// What a user has in the prompt while they type a reason comes back. It used to be sent as the reason.
func TestDraftDuringAReason(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := New(Options{Host: mutedHost{}, Now: func() time.Time { return now }})
	s.columns, s.rows = 80, 24
	q := questionOf("1")
	q.shown, q.printed = now.Add(-time.Hour), true
	s.questions.open = []*question{q}
	press := func(names ...string) {
		for _, n := range names {
			k := keys.Key{Name: n}
			if len(n) == 1 {
				k.Text = n
			}
			now = now.Add(time.Second)
			s.keyAt = now
			s.key(t.Context(), k)
			s.lastKey = now
		}
	}
	s.editor.Insert("look at the flags")
	press("y", "tab", "n", "b", "u", "s", "y", "enter")
	if d := <-q.reply; d.Verdict != tool.Deny || d.Reason != "busy" {
		t.Errorf("%+v", d)
	}
	if got := s.editor.Text(); got != "look at the flagsy" {
		t.Errorf("the prompt is %q", got)
	}
}

// A question that is withdrawn before the one that the user reads doesn't put another in its place.
func TestWithdrawnBefore(t *testing.T) {
	t.Parallel()
	var l questionList
	for _, id := range []string{"1", "2", "3"} {
		l.open = append(l.open, questionOf(id))
	}
	l.at, l.focused = 1, true
	first := l.open[0]
	l.remove(func(q *question) bool { return q == first })
	if got := l.current().Request.Call.ID; got != "2" || !l.focused {
		t.Errorf("the user reads %s, focused %v", got, l.focused)
	}
}

// The event that a question was withdrawn may come after the next question about the same call: that one was lost, and
// the call waited forever.
func TestWithdrawnLate(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	s.questions.open = []*question{questionOf("1")}
	s.step(tool.Event{Stage: tool.Withdrawn, Request: s.questions.open[0].Request})
	if len(s.questions.open) != 1 {
		t.Error("the question was dropped")
	}
}
