package tui

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

func (mutedHost) Status() Status       { return Status{Mode: "default"} }
func (mutedHost) Todos() todo.List     { return nil }
func (mutedHost) Background() []string { return nil }

// kindsOfQuestions are questions of each kind that the screen asks.
func kindsOfQuestions() map[string]func() *question {
	ask := func(i tool.Invocation, origin string, offer ...string) func() *question {
		return func() *question {
			i.Description = "do something"
			return newQuestion(approval.Rules{}.Question(tool.Request{
				Call: tool.Call{ID: "1"}, Declaration: tool.Declaration{Name: "x", Origin: origin}, Invocation: i,
			}, tool.Decision{Offer: offer}))
		}
	}
	rework := func(...*string) json.RawMessage { return nil }
	form := json.RawMessage(`{"properties": {"a": {"oneOf": [{"const": "red", "title": "red"}, {"const": "blue", "title": "blue"}]},
		"a_other": {"type": "string"}, "b": {"type": "array", "items": {"enum": ["x", "y"]}}, "c": {"type": "boolean"}, "d": {"type": "string"}}}`)
	plan := json.RawMessage(`{"properties": {"choice": {"oneOf": [{"const": "ask", "title": "Yes"}, {"const": "stay", "title": "No"}]},
		"choice_other": {"type": "string"}}}`)
	return map[string]func() *question{
		"command": ask(tool.Invocation{Confirm: tool.Command{Line: "touch x"}, Rework: rework}, "", "Shell(touch:*)", "Shell"),
		"edit":    ask(tool.Invocation{Confirm: tool.FileDiff{File: "a", Diff: "@@ -1 +1 @@\n-a\n+b\n"}}, "", "Edit"),
		"trial": ask(tool.Invocation{Confirm: tool.Effects{Command: tool.Command{Line: "touch x"}, Network: []string{"example.com"},
			Changes: []tool.Effect{{Path: "a", Kind: "changed"}, {Path: "b", Kind: "changed"}}}}, "", "Edit"),
		"model": ask(tool.Invocation{Form: form, MustAsk: true}, ""),
		"plan":  ask(tool.Invocation{Form: plan, MustAsk: true, Confirm: tool.Plan{Text: "# a"}}, ""),
		"form":  ask(tool.Invocation{Form: json.RawMessage(`{"properties": {"c": {"type": "boolean"}}}`), MustAsk: true}, "server"),
	}
}

// randomKeys presses random keys at random times, with lists, searches and viewers that open and close.
type randomKeys struct {
	*Screen
	r       *rand.Rand
	now     time.Time
	pressed []string
	live    string // the live area as it was painted last
}

var randomNames = strings.Fields("y y y a n h e w v d r 1 2 3 q x enter enter enter up down down left right tab shift+tab space backspace esc " +
	"ctrl+r ctrl+r ctrl+o ctrl+u @ / ? paste paste-line menu choice")

var randomDelays = []time.Duration{0, 20, 100, 149, 150, 250, 399, 400, 1000, 5000}

func newRandomKeys(seed uint64, q *question) *randomKeys {
	k := &randomKeys{r: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1e9, 0)}
	k.Screen = New(Options{Host: mutedHost{}, Now: func() time.Time { return k.now }, History: History{Prompts: []string{"yes", "an earlier one"}}})
	k.columns, k.rows, k.term = 80, 24, &terminal{fixed: [2]int{80, 24}}
	k.painter = paint.New(io.Discard, paint.Options{Size: k.term.size, Report: func() (int, int, bool) { return 0, 0, false }})
	k.questions.open = []*question{q}
	return k
}

// open names what is open besides the question. It looks at the state, not at who owns the keys.
func (k *randomKeys) open() string {
	switch {
	case k.view != nil:
		return "a view"
	case k.choice != nil:
		return "a choice"
	case k.lookup.active:
		return "the search"
	case k.complete.open(k.Screen):
		return "a list"
	case k.showKeys:
		return "the keys"
	}
	return ""
}

// paint paints, as the loop does after each key.
func (k *randomKeys) paint() {
	if k.view != nil {
		k.live = ""
		return
	}
	lines, _ := k.Screen.live()
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	k.live, k.finished = b.String(), nil
}

// press presses a key, or opens a list. It returns its name.
func (k *randomKeys) press(t *testing.T) string {
	name := randomNames[k.r.IntN(len(randomNames))]
	k.pressed = append(k.pressed, name)
	var e keys.Event
	switch name {
	case "paste":
		e = keys.Paste{Text: "y"}
	case "paste-line":
		e = keys.Paste{Text: "1\n"}
	case "menu":
		if word := completable(k.Screen); word != "" {
			k.complete.asked = word
			k.complete.show(word, []Candidate{{Text: word + "a"}, {Text: word + "b"}})
		}
		return name
	case "choice":
		if k.choice == nil && k.view == nil && k.r.IntN(4) == 0 {
			k.choice = newChoice(Choice{Title: "Which?", View: "all", Options: []Option{{Text: "a"}, {Text: "b"}}})
		}
		return name
	default:
		key, _ := keys.Parse(name)
		if key.Mods == 0 && (len(key.Name) == 1 || key.Name == "space") {
			key.Text = strings.ReplaceAll(key.Name, "space", " ")
		}
		e = key
	}
	k.input(t.Context(), arrival{e, k.now})
	return name
}

// Whatever is pressed, and whenever: a question is approved only by a key that it showed while nothing else was open,
// after it was visible for 150 ms. The search of Ctrl+R used to hand letters to the question.
func TestRandomKeys(t *testing.T) {
	t.Parallel()
	serial.Test(t)
	for kind, ask := range kindsOfQuestions() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			approved := 0
			for seed := range soak.Count(300, 10_000) {
				if oneSequence(t, uint64(seed), ask()) {
					approved++
				}
			}
			if approved == 0 {
				t.Error("no sequence approved anything: the test tests nothing")
			}
			t.Logf("%d approved", approved)
		})
	}
}

// oneSequence presses keys until the question is answered. It reports whether it was approved.
func oneSequence(t *testing.T, seed uint64, q *question) bool {
	k := newRandomKeys(seed, q)
	k.vim.On, k.vim.Normal = seed%2 == 1, seed%4 == 1
	defer close(k.quit)
	stopped := false
	k.work = &work{cancel: func() { stopped = true }}
	k.paint()
	for range 60 {
		k.now = k.now.Add(randomDelays[k.r.IntN(len(randomDelays))] * time.Millisecond)
		open, live, stage := k.open(), k.live, q.stage
		typing, mine, taken := q.typing && !k.editor.Empty(), q.owns(k.Screen), q.typing
		lit := "\x00"
		if i := q.list.chosen(); i >= 0 && stage == choosing {
			lit = "› " + q.list.items[i].key + " " + q.list.items[i].text
		}
		sinceKey, visible := k.now.Sub(k.lastKey), k.now.Sub(q.shown)
		name := k.press(t)
		if len(q.reply) > 0 {
			d := <-q.reply
			if d.Verdict != tool.Allow {
				return false
			}
			shown := strings.Contains(live, "  "+name+" ") || strings.Contains(live, "› "+name+" ") // its letter
			if name == "enter" {
				shown = strings.Contains(live, lit) || stage != choosing && strings.Contains(live, "Enter ")
			}
			quick := sinceKey < brief && !typing && stage != picking
			if open != "" || !mine || !shown || quick || visible < brief && !typing {
				t.Fatalf("seed %d: %v approved (%s was open; shown %v, for %v; %v after the last key; stage %d):\n%s",
					seed, k.pressed, open, shown, visible, sinceKey, stage, live)
			}
			return true
		}
		if stopped {
			return false
		}
		if q.typing && !taken && name != "tab" && (open != "" || visible < brief || sinceKey < brief) {
			t.Fatalf("seed %d: %v: a text for the prompt became an answer (%s was open):\n%s", seed, k.pressed, open, live)
		}
		k.settling = false
		k.paint()
	}
	return false
}
