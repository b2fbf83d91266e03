package console

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Text prints the answer: as it comes where stdout is a terminal, else when it is complete. On a terminal it
// shows beside it what happens.
type Text struct {
	out    io.Writer
	screen *Screen
	steps  bool            // calls are shown, not only denied ones
	said   strings.Builder // by the model since its last call, where it does not stream
	words  words           // of the answer that streams
	spoke  bool            // something has streamed
	quiet  bool            // only the answer goes to stdout, which is JSON
}

// NewText prints to the streams of a screen. If quiet is true, the answer is JSON for a program, and only that goes to
// stdout.
func NewText(in Streams, s *Screen, quiet bool) *Text {
	return &Text{out: in.Stdout, screen: s, steps: in.Terminal || s.size != nil, quiet: quiet}
}

// Below shows nothing: a subagent's calls come as steps of the first agent.
func (t *Text) Below(agent.Member, agent.Event) {}

// Event shows what happens.
func (t *Text) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.Began:
		t.screen.change(func(l *live, now time.Time) { l.thinking = now })
	case agent.Step:
		t.step(e.Event)
	case agent.Called:
		t.between()
	case agent.Answered:
		t.said.Reset()
		t.words = words{}
		t.screen.change(func(l *live, _ time.Time) { l.thinking = time.Time{} })
	case agent.Said:
		switch said := e.Event.(type) {
		case model.Text:
			t.hear(string(said))
		case model.Retry:
			t.said.Reset()
			t.words = words{}
			t.screen.Tell("adze: " + tool.Visible(said.String()))
		}
	case agent.Compacted, agent.Stuck, agent.Changed:
		t.screen.Tell("adze: " + tool.Visible(fmt.Sprint(e)))
	case agent.Resumed:
		t.screen.Tell(fmt.Sprintf("adze: answer truncated, asking the model to continue (%d of %d): %s", e.Times,
			e.Most, tool.Visible(e.Err.Error())))
	}
}

// hear takes a piece of what the model says.
func (t *Text) hear(text string) {
	if t.screen.out == nil || t.quiet {
		t.said.WriteString(text)
		return
	}
	if piece := t.words.next(text); piece != "" {
		t.spoke = true
		t.screen.speak(tool.Visible(piece))
	}
}

// between shows what the model said before a call: it is no part of the answer, but says what the call is about.
func (t *Text) between() {
	if text := strings.TrimSpace(t.said.String()); text != "" && t.steps {
		t.screen.Tell(tool.Visible(text))
	}
	t.said.Reset()
	t.words = words{}
	t.screen.endLine()
}

// step shows a step of a call. A call that is done is a line, and of a failed one, why it failed.
func (t *Text) step(e tool.Event) {
	var lines []cell.Line
	t.screen.change(func(l *live, now time.Time) { lines = l.calls.Step(e, now, t.screen.width()) })
	if e.Stage == tool.Done && e.Outcome.Status == tool.StatusDenied && !t.steps {
		t.screen.Tell("✗ " + tool.Visible(e.Outcome.Error.Message))
	}
	if !t.steps {
		return
	}
	for _, l := range lines {
		t.screen.Tell(t.screen.text(l))
	}
	if e.Stage == tool.Done && e.Outcome.Error == nil {
		if list, ok := e.Outcome.Result.Display.(todo.List); ok {
			t.screen.Tell(Checklist(list, "  "))
		}
	}
}

// End prints the answer, unless there is none or it has streamed. A run that failed has no answer.
func (t *Text) End(answer agent.Answer, err error) error {
	t.screen.finish()
	if !headless.Complete(err) {
		return nil
	}
	if answer.Reason == model.Length {
		t.screen.Tell("adze: the model's answer was truncated at its length limit")
	}
	if t.spoke {
		return t.screen.err
	}
	if answer.Text == "" {
		return nil
	}
	_, err = fmt.Fprintln(t.out, strings.TrimRight(answer.Text, "\n"))
	return err
}

// words is a text that comes in pieces, without the blank lines at its beginning and its end.
type words struct {
	begun bool
	open  bool   // what was printed does not end with a newline
	blank string // at the end of what came, and perhaps of all
}

// next is what to print of a piece: all of it but what may be blank lines at the end.
func (w *words) next(piece string) string {
	if !w.begun {
		piece = strings.TrimLeft(piece, " \t\r\n")
		w.begun = piece != ""
	}
	piece = w.blank + piece
	text := strings.TrimRight(piece, " \t\r\n")
	w.blank = piece[len(text):]
	w.open = w.open || text != ""
	if end := strings.IndexByte(w.blank, '\n'); end >= 0 && w.open {
		text, w.blank = text+"\n", w.blank[end+1:]
		w.open = false
	}
	return text
}

// maxSteps is how many lines a checklist has on the screen.
const maxSteps = 20

// Checklist is a list of steps, each on a line behind margin; of a long one, what is done is omitted first.
func Checklist(list todo.List, margin string) string {
	if len(list) > maxSteps {
		list = append(todo.List{{Content: fmt.Sprintf("(%d of %d steps done)", len(list)-len(list.Open()),
			len(list)), Status: todo.Completed}}, list.Open()...)
	}
	more := len(list) - maxSteps
	list = list[:min(len(list), maxSteps)]
	lines := strings.Split(strings.ReplaceAll(list.Markdown(), "\n- ", "\n"), "\n")
	lines[0] = strings.TrimPrefix(lines[0], "- ")
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	for i, line := range lines {
		if r := []rune(line); len(r) > 100 {
			line = string(r[:100]) + " …"
		}
		lines[i] = margin + line
	}
	return strings.Join(lines, "\n")
}
