package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// answer is what the model is saying.
type answer struct {
	text     markdown.Stream
	pending  strings.Builder // text that the next frame shows
	live     []cell.Line     // of the text: its last block, which may still change
	said     bool            // some text of this answer was printed or is live
	thinking time.Time       // since when; zero: it is not
	raw      strings.Builder // the text as the model wrote it
	thought  strings.Builder // what it is thinking
	retry    model.Retry     // the request failed,
	until    time.Time       // and is sent again then; zero: it isn't
}

// event shows an event of the agent.
func (s *Screen) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Began:
		if s.work != nil {
			s.work.model, s.work.asked = s.o.Now(), true
		}
	case agent.Said:
		s.said(e.Event)
	case agent.Called:
		s.endText()
		s.calls.find(tool.Request{Call: e.Call})
	case agent.Step:
		s.step(e.Event)
	case agent.Answered:
		s.endText()
		if s.work != nil {
			s.work.model = time.Time{}
			s.work.tokens += e.Usage.Output
		}
	case agent.Responded:
		s.settleCalls()
	case agent.Changed:
		s.endText()
		s.tell(e.String())
	case agent.Resumed:
		s.endText()
		s.tell(fmt.Sprintf("answer truncated, asking the model to continue (%d of %d): %v", e.Times, e.Most, e.Err))
	}
}

// said shows a piece of the answer.
func (s *Screen) said(e model.Event) {
	switch e := e.(type) {
	case model.Thought:
		s.answer.until = time.Time{}
		if s.answer.thinking.IsZero() {
			s.answer.thinking = s.o.Now()
		}
		s.answer.thought.WriteString(string(e))
	case model.Text:
		s.answer.until = time.Time{}
		s.endThought()
		s.say(string(e))
	case model.Retry:
		s.endThought()
		s.transcript.add(Item{Kind: ItemNote, Text: e.String()})
		s.answer.retry, s.answer.until = e, s.o.Now().Add(e.Wait)
	}
}

// retrying is the line about a request that failed and is sent again: when, and what the server said.
func (a *answer) retrying(now time.Time, width int) []cell.Line {
	r := a.retry
	r.Wait = max(0, a.until.Sub(now)+time.Second-1).Truncate(time.Second)
	text := "∙ " + r.String()
	var e *model.Error
	if errors.As(r.Err, &e) {
		text += ": " + visible(e.Error())
	}
	const limit = 3
	rows := cell.Wrap(cell.Styled(text, cell.Dim), width, cell.Text("  "))
	return rows[:min(len(rows), limit)]
}

func (s *Screen) say(text string) {
	if !s.answer.said {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return
		}
		s.answer.said = true
		s.space()
	}
	s.answer.raw.WriteString(text)
	if s.answer.pending.WriteString(text); s.answer.pending.Len() > maxPending {
		s.showText()
	}
}

// maxPending is how much text waits for a frame.
const maxPending = 8 << 10

// showText parses the text that arrived since the last frame. Pieces are shorter than words, and frames are rarer.
func (s *Screen) showText() {
	if s.answer.pending.Len() == 0 {
		return
	}
	finished, live := s.answer.text.Add(s.answer.pending.String(), s.width())
	s.answer.pending.Reset()
	s.print(finished...)
	s.answer.live = live
}

// endThought folds the model's thinking to a line.
func (s *Screen) endThought() {
	if s.answer.thinking.IsZero() {
		return
	}
	took := s.o.Now().Sub(s.answer.thinking)
	s.answer.thinking = time.Time{}
	head := thoughtFor(took)
	s.transcript.add(Item{Kind: ItemThinking, Head: head, Text: s.answer.thought.String()})
	s.answer.thought.Reset()
	s.print(cell.Wrap(cell.Styled("∙ "+head+s.toView(), cell.Dim), s.width(), cell.Text("  "))...)
}

// toView is how to see what was folded.
func (s *Screen) toView() string {
	if key := s.keys.label("transcript"); key != "" {
		return "  (" + key + " to view)"
	}
	return ""
}

// thoughtFor is the line of the model's thinking.
func thoughtFor(d time.Duration) string {
	if d < time.Second {
		return "thought for under 1 s"
	}
	return "thought for " + humanize.Seconds(d)
}

// endText finishes the text of an answer.
func (s *Screen) endText() {
	s.endThought()
	s.showText()
	if s.answer.said {
		s.print(s.answer.text.End(s.width())...)
		s.transcript.add(Item{Kind: ItemAnswer, Text: s.answer.raw.String()})
	}
	s.answer = answer{}
}

// submit carries out what was typed, or queues it while something runs.
func (s *Screen) submit(ctx context.Context, typed string) {
	if strings.TrimSpace(typed) == "" {
		return
	}
	if s.work != nil {
		if s.o.Host.Aside(typed) {
			s.aside(ctx, typed)
			return
		}
		s.queue.add(typed)
		return
	}
	s.endHeader(nil)
	s.printPrompt(typed)
	s.o.History.add(typed)
	host := s.o.Host
	s.start(ctx, func(ctx context.Context) (Reply, error) { return host.Run(ctx, typed) })
}

// Of a prompt that is longer than this, the start is printed.
const (
	promptRows  = 20
	promptBytes = 4000
)

// opening is the start of a prompt.
func opening(typed string) string {
	lines := strings.SplitN(typed[:min(len(typed), promptBytes)], "\n", promptRows+1)
	return strings.ToValidUTF8(strings.Join(lines[:min(len(lines), promptRows)], "\n"), "")
}

// start runs something that the user can interrupt.
func (s *Screen) start(ctx context.Context, f func(context.Context) (Reply, error)) {
	run, cancel := context.WithCancel(ctx)
	s.work = &work{cancel: cancel, began: s.o.Now(), cost: s.o.Host.Status().Cost}
	s.spawn(func() {
		defer cancel()
		reply, err := f(run)
		s.send(func(s *Screen) { s.ended(ctx, reply, err) })
	})
}

// ended shows how a prompt ended, and sends what is queued.
func (s *Screen) ended(ctx context.Context, reply Reply, err error) {
	if reply.Choice == nil { // a list leaves the header waiting
		s.endHeader(nil)
	}
	s.endText()
	s.settleCalls()
	spent := s.spent()
	s.work = nil
	s.show(reply)
	switch {
	case err == nil && spent != "":
		s.print(cell.Styled("∙ "+spent, cell.Dim))
	case errors.Is(err, context.Canceled):
		s.print(cell.Styled("∙ interrupted", cell.Yellow))
	case err != nil:
		s.fail(err)
	}
	var failed *Retryable
	s.retry = s.retry || errors.As(err, &failed) // a command, such as /model, may come before that
	if reply.Quit {
		s.done = true
		return
	}
	s.follow(reply)
	s.sendQueued(ctx)
}

// spent is what a turn took: time, tokens that the model wrote, and money if prices are known; "": the model wasn't
// asked.
func (s *Screen) spent() string {
	w := s.work
	if w == nil || !w.asked {
		return ""
	}
	out := humanize.Duration(s.o.Now().Sub(w.began))
	if w.tokens > 0 {
		out += " · " + humanize.Count(w.tokens, "token")
	}
	if cost := s.o.Host.Status().Cost - w.cost; cost > 0 {
		out += " · " + Dollars(cost)
	}
	return out
}

// sendQueued sends what was typed while something ran.
func (s *Screen) sendQueued(ctx context.Context) {
	if s.choice != nil {
		return
	}
	next := s.queue.next()
	if next == "" {
		s.notify("the answer is ready")
	}
	s.submit(ctx, next)
}

// follow does what a reply asks for after its text was shown.
func (s *Screen) follow(r Reply) {
	if r.Theme != "" {
		s.setTheme(r.Theme)
	}
	if r.Vim != nil {
		s.vim.Insert()
		s.vim.On = *r.Vim
	}
	if r.Keys {
		s.listKeys()
	}
	if r.Choice != nil {
		s.choice = newChoice(*r.Choice)
	}
	if r.Edit != "" {
		s.editor.Set(r.Edit)
	}
	if r.Next != nil {
		s.o.Host = r.Next.Host
	}
	if r.Next != nil && !r.Next.Same {
		s.transcript = transcript{}
		s.showEarlier(r.Next.Earlier)
	}
	s.todos.list = s.o.Host.Todos() // a new conversation has none, and a continued one may
}

// fail shows an error: what failed, and in further lines what to do.
func (s *Screen) fail(err error) {
	s.transcript.add(Item{Kind: ItemNote, Text: err.Error()})
	s.space()
	what, next, more := strings.Cut(err.Error(), "\n")
	s.print(block(what, cell.Red, "✗ ", "", s.width())...)
	if more {
		s.print(block(next, cell.Plain, "  ", "  ", s.width())...)
	}
}

// visible is untrusted text as one clean line. Of a very long text it is the start.
func visible(s string) string {
	return cell.Clean(strings.Join(strings.Fields(tool.Visible(humanize.Cut(s, maxVisible))), " "))
}

// maxVisible is the number of bytes of a text that a line shows at most.
const maxVisible = 4000
