package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/headless"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// textOutput prints the answer: as it comes where stdout is a terminal, else when it is complete. On a terminal it shows
// beside it what happens.
type textOutput struct {
	env    Env
	screen *screen
	steps  bool            // calls are shown, not only denied ones
	said   strings.Builder // by the model since its last call, where it does not stream
	words  words           // of the answer that streams
	spoke  bool            // something has streamed
	quiet  bool            // only the answer goes to stdout, which is JSON
	tried  map[string]bool // calls that are shown since they were tried
}

func newTextOutput(env Env, s *screen) *textOutput {
	return &textOutput{env: env, screen: s, steps: env.Terminal || s.size != nil}
}

// below shows nothing: a subagent's calls come as steps of the first agent.
func (t *textOutput) below(agent.Member, agent.Event) {}

func (t *textOutput) event(e agent.Event) {
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
			t.screen.tell("adze: " + tool.Visible(said.String()))
		}
	case agent.Compacted:
		t.screen.tell("adze: " + tool.Visible(e.String()))
	case agent.Stuck:
		t.screen.tell("adze: " + tool.Visible(e.String()))
	case agent.Resumed:
		t.screen.tell(fmt.Sprintf("adze: answer truncated, asking the model to continue (%d of %d): %s", e.Times, e.Most, tool.Visible(e.Err.Error())))
	}
}

// hear takes a piece of what the model says.
func (t *textOutput) hear(text string) {
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
func (t *textOutput) between() {
	if text := strings.TrimSpace(t.said.String()); text != "" && t.steps {
		t.screen.tell(tool.Visible(text))
	}
	t.said.Reset()
	t.words = words{}
	t.screen.endLine()
}

func (t *textOutput) step(e tool.Event) {
	r := e.Request
	switch e.Stage {
	case tool.Trying, tool.Running:
		if e.Stage == tool.Running && t.tried[r.Call.By+"/"+r.Call.ID] {
			break // its effects are kept, which takes no time
		}
		if e.Stage == tool.Trying {
			if t.tried == nil {
				t.tried = map[string]bool{}
			}
			t.tried[r.Call.By+"/"+r.Call.ID] = true
		}
		t.screen.change(func(l *live, now time.Time) { l.begin(r, now) })
		if t.steps && t.screen.size == nil {
			t.screen.tell(under(r.Call.By) + "● " + r.Declaration.Title() + ": " + r.Description)
		}
	case tool.Showing:
		t.screen.change(func(l *live, _ time.Time) { l.show(r.Call, e.Display) })
	case tool.Done:
		t.done(r.Call, e.Outcome)
	}
}

// done folds a call into a line, and shows of a failed one why it failed.
func (t *textOutput) done(c tool.Call, o *tool.Outcome) {
	var call liveCall
	var ran bool
	t.screen.change(func(l *live, _ time.Time) { call, ran = l.end(c) })
	if !t.steps && o.Status != tool.StatusDenied {
		return
	}
	mark, margin := "●", under(c.By)
	var lines []string
	if ran && t.screen.size != nil { // else it was told when it began
		lines = append(lines, call.title+took(o.Duration))
	}
	if o.Error != nil {
		mark = t.screen.ink.red("✗")
		lines = append(lines, strings.Split(tool.Visible(o.Error.Message), "\n")...)
		for _, line := range call.output {
			lines = append(lines, t.screen.ink.dim("  "+line))
		}
	}
	if len(lines) > 0 {
		t.screen.tell(margin + mark + " " + strings.Join(lines, "\n  "+strings.Repeat(" ", cells(margin))))
	}
	if list, ok := o.Result.Display.(builtin.TodoList); ok && o.Error == nil {
		t.screen.tell(checklist(list, margin+"  "))
	}
}

// took is how long a call took, if that is worth a word.
func took(d time.Duration) string {
	if d < 100*time.Millisecond {
		return ""
	}
	if d < 10*time.Second {
		return fmt.Sprintf("  %.1f s", d.Seconds())
	}
	return "  " + seconds(d)
}

// under sets a subagent's calls below the one that gave it its task, with its name.
func under(by string) string {
	if by == "" {
		return ""
	}
	return strings.Repeat("  ", 1+strings.Count(by, "/")) + tool.Visible(by) + " "
}

// end prints the answer, unless there is none or it has streamed. A run that failed has no answer.
func (t *textOutput) end(answer agent.Answer, err error) error {
	t.screen.finish()
	if !headless.Complete(err) {
		return nil
	}
	if answer.Reason == model.Length {
		t.screen.tell("adze: the model's answer was truncated at its length limit")
	}
	if t.spoke {
		return t.screen.err
	}
	if answer.Text == "" {
		return nil
	}
	_, err = fmt.Fprintln(t.env.Stdout, strings.TrimRight(answer.Text, "\n"))
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
