package tui

import (
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// forgiving is a screen with its own clock.
type forgiving struct {
	*Screen
	t   *testing.T
	now time.Time
}

func newForgiving(t *testing.T) *forgiving {
	f := &forgiving{t: t, now: time.Unix(1e9, 0)}
	f.Screen = New(Options{Host: mutedHost{}, Now: func() time.Time { return f.now }})
	f.columns, f.rows, f.term = 80, 24, &terminal{fixed: [2]int{80, 24}}
	return f
}

// press presses a key some milliseconds after the last one.
func (f *forgiving) press(after int, name string) {
	f.now = f.now.Add(time.Duration(after) * time.Millisecond)
	k, _ := keys.Parse(name)
	if len(k.Name) == 1 && k.Mods == 0 {
		k.Text = k.Name
	}
	f.input(f.t.Context(), arrival{k, f.now})
	f.live()
}

// Three questions are answered by y, y, y, if each was visible for 150 ms. It used to be 400 ms for each. A key that
// comes sooner is text, and approves nothing; so is what is typed after that.
func TestKeysAfterAnAnswer(t *testing.T) {
	for _, c := range []struct {
		first, second, third int // ms
		answered             int
		text                 string
	}{
		{400, 150, 150, 3, ""},
		{399, 1000, 1000, 0, "yyy"}, // after text, Tab is needed
		{400, 149, 1000, 1, "yy"},
		{400, 250, 149, 2, "y"},
	} {
		f := newForgiving(t)
		var all []*question
		for _, id := range []string{"1", "2", "3"} {
			all = append(all, questionOf(id, "Edit"))
		}
		f.questions.open = append(f.questions.open, all...)
		f.live()
		for _, ms := range []int{c.first, c.second, c.third} {
			f.press(ms, "y")
		}
		answered := 0
		for _, q := range all {
			answered += len(q.reply)
		}
		if answered != c.answered || f.editor.Text() != c.text {
			t.Errorf("%+v: %d answered, the prompt is %q", c, answered, f.editor.Text())
		}
	}
}

// After another program had the terminal, such as an editor, a question takes keys when it is visible for a while: a key
// for the editor that came too late used to approve.
func TestKeysAfterAnEditor(t *testing.T) {
	f := newForgiving(t)
	q := questionOf("1", "Edit")
	f.questions.open = []*question{q}
	f.live()
	f.press(1000, "w")
	f.now = f.now.Add(time.Minute) // the editor
	f.questions.hide()
	f.live()
	f.press(100, "y")
	if len(q.reply) > 0 || f.editor.Text() != "y" {
		t.Errorf("answered %d, the prompt is %q", len(q.reply), f.editor.Text())
	}
}

// A key that is held moves on, and Enter right after an arrow takes nothing.
func TestHeldArrow(t *testing.T) {
	f := newForgiving(t)
	q := questionOf("1", "Edit")
	f.questions.open = []*question{q}
	f.live()
	f.press(100, "up") // too soon
	if q.list.at >= 0 {
		t.Fatal("highlighted too soon")
	}
	f.press(400, "down")
	if c := q.List(0)[q.list.at]; c.Keys[0].Key != "n" {
		t.Errorf("the first arrow highlights %s", c.Keys[0].Key)
	}
	for range 10 {
		f.press(30, "up")
	}
	f.press(149, "enter")
	if len(q.reply) > 0 || q.list.at != 0 {
		t.Fatalf("answered, or at %d", q.list.at)
	}
	f.press(150, "enter")
	if len(q.reply) != 1 {
		t.Error("Enter takes the highlighted answer")
	}
}

// Ctrl+C quits only if it is pressed twice within two seconds at an idle prompt, and never right after it interrupted.
func TestCtrlC(t *testing.T) {
	f := newForgiving(t)
	interrupted := 0
	f.work = &work{cancel: func() { interrupted++ }}
	for range 5 {
		f.press(50, "ctrl+c")
	}
	f.work = nil // it has ended, and the user still presses
	for range 5 {
		f.press(50, "ctrl+c")
	}
	if f.done || f.note != "" || interrupted != 5 {
		t.Fatalf("quit %v, %q, interrupted %d times", f.done, f.note, interrupted)
	}
	f.press(3000, "ctrl+c")
	if f.done || f.note != "Ctrl+C again quits" {
		t.Fatalf("quit %v, %q", f.done, f.note)
	}
	f.press(2000, "ctrl+c") // too late
	if f.done {
		t.Fatal("quit after two seconds")
	}
	f.editor.Insert("a draft")
	f.press(100, "ctrl+c")
	f.press(100, "up")
	if f.done || f.editor.Text() != "a draft" {
		t.Fatalf("quit %v; Up brings back %q", f.done, f.editor.Text())
	}
	f.press(100, "ctrl+c")
	f.press(100, "ctrl+c")
	f.press(1999, "ctrl+c")
	if !f.done {
		t.Error("not quit")
	}
}
