package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Lines is a conversation for screen readers and terminals that can't redraw: labeled lines, and numbers as answers.
// Nothing that was printed changes.
type Lines struct {
	host   Host
	out    io.Writer
	prompt string

	lines     chan string                // typed by the user; closed at the end of the input
	questions chan func(context.Context) // ask one, until it is answered or the context ends
	events    chan agent.Event
	asked     int             // questions so far
	text      strings.Builder // of the answer, since the last call
	output    int             // lines of a command's output that are printed
	calls     callList        // that run
}

// NewLines makes a conversation in lines. It starts with the prompt, if there is one. output is how many lines of a
// command's output are printed.
func NewLines(in io.Reader, out io.Writer, host Host, prompt string, output int) *Lines {
	l := &Lines{
		host: host, out: out, prompt: prompt, lines: make(chan string), questions: make(chan func(context.Context)),
		events: make(chan agent.Event, 256), output: output,
	}
	go func() {
		defer close(l.lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	return l
}

// Observe takes an event of the agent.
func (l *Lines) Observe(e agent.Event) { l.events <- e }

// Typed is empty: a line is read after the answer before it.
func (l *Lines) Typed() []string { return nil }

// Tell prints a notice.
func (l *Lines) Tell(text string) { l.say("note", text) }

// Ask puts a question to the user. It is an [approval.Front].
func (l *Lines) Ask(ctx context.Context, q *approval.Question) (d tool.Decision, err error) {
	done := make(chan struct{})
	select {
	case l.questions <- func(run context.Context) {
		defer close(done)
		asked, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(run, cancel)()
		d, err = l.answer(asked, q)
	}:
		<-done
		return d, err
	case <-ctx.Done():
		return tool.Decision{}, ctx.Err()
	}
}

// Run holds the conversation until the input ends or the user quits.
func (l *Lines) Run(ctx context.Context) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	typed := l.prompt
	var pressed time.Time // Ctrl+C
	for {
		if typed == "" {
			fmt.Fprint(l.out, "you: ")
			select {
			case line, ok := <-l.lines:
				if !ok {
					return nil
				}
				typed = line
			case <-l.host.Wake():
				fmt.Fprintln(l.out)
				proceed := func(ctx context.Context) (Reply, error) { return Reply{}, l.host.Continue(ctx) }
				l.work(ctx, interrupts, proceed)
			case <-interrupts:
				if time.Since(pressed) < again {
					return nil
				}
				pressed = time.Now()
				fmt.Fprintln(l.out)
				if running := l.host.Running(); len(running) > 0 {
					l.say("note", "this stops "+strings.Join(running, ", "))
				}
				l.say("note", "Ctrl+C again quits")
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if strings.TrimSpace(typed) != "" {
			if quit := l.work(ctx, interrupts,
				func(ctx context.Context) (Reply, error) { return l.host.Run(ctx, typed) }); quit {
				return nil
			}
		}
		typed = ""
	}
}

// work runs something, and answers questions meanwhile.
func (l *Lines) work(ctx context.Context, interrupts <-chan os.Signal,
	f func(context.Context) (Reply, error)) (quit bool) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		reply Reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := f(run)
		done <- result{reply, err}
	}()
	for {
		select {
		case e := <-l.events:
			l.event(e)
		case q := <-l.questions:
			l.drain()
			q(run)
		case <-interrupts:
			cancel()
		case r := <-done:
			l.drain()
			l.endText()
			if r.reply.Text != "" {
				l.say("adze", r.reply.Text)
			}
			if r.reply.Copy != "" {
				io.WriteString(l.out, clipboard(r.reply.Copy, os.Getenv("TMUX") != ""))
			}
			switch {
			case errors.Is(r.err, context.Canceled):
				l.say("note", "interrupted")
			case r.err != nil:
				l.say("error", r.err.Error())
			}
			return l.follow(ctx, interrupts, r.reply)
		}
	}
}

// drain prints what happened before now.
func (l *Lines) drain() {
	for len(l.events) > 0 {
		l.event(<-l.events)
	}
}

// endText prints what the model said since its last call.
func (l *Lines) endText() {
	if text := strings.TrimSpace(l.text.String()); text != "" {
		l.say("adze", text)
	}
	l.text.Reset()
}

// say prints a labeled text. Further lines of it are indented.
func (l *Lines) say(label, text string) {
	lines := cell.CleanLines(strings.Trim(text, "\n"))
	lines[0] = label + ": " + lines[0]
	for i, line := range lines {
		if i > 0 {
			line = "  " + line
		}
		l.print([]cell.Line{cell.Text(line)})
	}
}

func (l *Lines) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Called, agent.Answered:
		l.endText()
	case agent.Said:
		switch said := e.Event.(type) {
		case model.Text:
			l.text.WriteString(string(said))
		case model.Retry:
			l.text.Reset()
			l.say("note", said.String())
		}
	case agent.Changed:
		l.say("note", e.String())
	case agent.Step:
		l.step(e.Event)
	}
}

// answer asks a question until it is answered.
func (l *Lines) answer(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	l.asked++
	r := q.Request
	text := naming(visible(r.Declaration.Title()), about(r)).String()
	if q.Effects != nil {
		text += ", " + q.Effects.Headline()
	}
	if d := q.Diff; d != nil && d.Stat != nil {
		text += ", " + linesChanged(*d)
	}
	if why := visible(q.Brief); why != "" {
		text += ". Needs approval: " + why
	}
	l.say(fmt.Sprintf("question %d", l.asked), text+".")
	if q.Command != nil {
		l.print(commandDetails(*q.Command, lineWidth))
	}
	c := l.calls.find(r)
	if q.Effects != nil {
		c.shown = true
		l.print(tail(q.Effects.Output, l.output, lineWidth, ""))
		l.effects(*q.Effects)
	}
	if len(r.Form) > 0 {
		l.print(details(r.Confirm, lineWidth, true))
	}
	return approval.Dialog{
		Style: approval.Spoken, Out: l.out, Read: l.number,
		Fail: func(err error) { l.say("error", err.Error()) },
		View: func() {
			c.shown = true
			l.print(whole(q, lineWidth))
		},
	}.Ask(ctx, q)
}

// number reads a line. What was typed before the question is dropped.
func (l *Lines) number(ctx context.Context, prompt string) (string, error) {
	for drained := false; !drained; {
		select {
		case _, ok := <-l.lines:
			if !ok {
				return "", io.EOF
			}
		case <-time.After(50 * time.Millisecond):
			drained = true
		}
	}
	for i, row := range l.rows(cell.Text(strings.TrimRight(prompt, " "))) {
		if i > 0 {
			fmt.Fprintln(l.out)
		}
		fmt.Fprint(l.out, row.String())
	}
	fmt.Fprint(l.out, " ")
	select {
	case line, ok := <-l.lines:
		if !ok {
			return "", io.EOF
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
