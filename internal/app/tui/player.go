package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/paint"
	"github.com/adze-dev/adze/tool"
)

// ErrStopped is returned when the user ends a replay.
var ErrStopped = errors.New("the replay was stopped")

// PlayerOptions configure a Player.
type PlayerOptions struct {
	// In and Out are the terminal. Without them, Write gets what a terminal of this size would.
	In, Out       *os.File
	Write         io.Writer
	Columns, Rows int
	Watch         func(paint.Frame) // sees every frame; may be nil

	Header   []Row
	Status   func() Status
	Theme    string
	NoColor  bool
	Terminal func(variable string) string
}

// Player shows a conversation that took place: the screen of a live one, with the clock of the recording. It runs
// nothing and asks nothing. The caller says what happened, lets time pass with Wait, and shows it with Paint:
//
//	p.Send("fix the test")
//	p.Paint()
//	p.Wait(ctx, time.Second)
type Player struct {
	s      *Screen
	now    time.Time
	paused bool
}

// recorded is the host of a player: it has a status, and nothing else is called.
type recorded struct {
	Host
	status func() Status
}

func (r recorded) Status() Status { return r.status() }

// OpenPlayer prepares the terminal, if there is one. Close restores it.
func OpenPlayer(o PlayerOptions) (*Player, error) {
	p := &Player{}
	s := New(Options{
		In: o.In, Out: o.Out, Host: recorded{status: o.Status}, HideTitle: true, Notifications: notifyOff,
		Theme: o.Theme, NoColor: o.NoColor, Terminal: o.Terminal, Now: func() time.Time { return p.now },
		OutputLines: OutputLines,
	})
	p.s = s
	s.header, s.watch = o.Header, o.Watch
	if o.Out == nil {
		s.term = &terminal{fixed: [2]int{o.Columns, o.Rows}}
		s.painter = paint.New(o.Write, paint.Options{
			Size: s.term.size, Colors: s.o.colorsOn(s.backdrop),
		})
		return p, nil
	}
	begin := ""
	if s.o.asksBackground() {
		begin = askBackground
	}
	term, err := openTerminal(o.In, o.Out, time.Now, begin, "")
	if err != nil {
		return nil, err
	}
	s.term = term
	s.painter = paint.New(term, paint.Options{
		Size: term.size, Colors: s.o.colorsOn(s.backdrop), Report: term.report,
	})
	p.hint()
	return p, nil
}

// Close removes the live area and leaves the terminal as it was found.
func (p *Player) Close() error {
	err := p.s.painter.Paint(paint.Frame{Finished: p.s.finished})
	err = errors.Join(err, p.s.painter.Close())
	if p.s.o.Out != nil {
		p.s.term.close()
	}
	if err = gone(err); errors.Is(err, ErrStopped) { // there is nothing to restore
		return nil
	}
	return err
}

// Clock sets the time.
func (p *Player) Clock(now time.Time) { p.now = now }

// Paint shows what happened.
func (p *Player) Paint() error {
	p.s.showText()
	return gone(p.s.paint())
}

// Type shows a text in the prompt, as if it was being typed.
func (p *Player) Type(text string) { p.s.editor.Set(text) }

// Send shows a prompt that was sent. Work begins.
func (p *Player) Send(text string) {
	p.End()
	p.s.editor.Set("")
	p.s.endHeader(nil)
	p.s.printPrompt(text)
	p.s.work = &work{cancel: func() {}, began: p.now}
}

// Working reports whether the screen shows how long something has been running.
func (p *Player) Working() bool { return p.s.work != nil }

// Observe shows an event of the agent.
func (p *Player) Observe(e agent.Event) {
	p.s.endHeader(nil)
	p.s.event(e)
}

// Ask shows a question, until the call is answered.
func (p *Player) Ask(r tool.Request) {
	q := newQuestion(approval.Rules{}.Question(r, tool.Decision{}))
	p.s.announce(q) // even if no frame is painted before the answer
	p.s.questions.open = append(p.s.questions.open, q)
}

// Answer removes the question about a call.
func (p *Player) Answer(c tool.Call) {
	for _, q := range p.s.questions.open {
		if q.Request.Call.ID == c.ID && q.Request.Call.By == c.By {
			p.s.calls.answered(q, approval.Answer{Act: approval.Once}, layout{})
		}
	}
	p.s.withdraw(c)
}

// Tell prints a notice.
func (p *Player) Tell(text string) {
	p.s.endHeader(nil)
	p.s.endText()
	p.s.tell(text)
}

// Fail prints an error.
func (p *Player) Fail(err error) {
	p.s.endText()
	p.s.fail(err)
}

// End shows that nothing runs anymore.
func (p *Player) End() {
	p.s.endText()
	p.s.questions.open = nil
	p.s.settleCalls()
	p.s.work = nil
}

// Wait returns when that time has passed. In a terminal the user can pause, and end with ErrStopped. Without one, it
// returns at once.
func (p *Player) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.s.o.Out == nil {
		return nil
	}
	end := time.Now().Add(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if !p.paused {
				return nil
			}
		case in, ok := <-p.s.term.events:
			if !ok {
				return ErrStopped
			}
			was := p.paused
			if err := p.input(in.event); err != nil {
				return err
			}
			switch {
			case p.paused && !was:
				d = max(0, time.Until(end))
				timer.Stop()
			case was && !p.paused:
				end = time.Now().Add(d)
				timer.Reset(d)
			}
		case <-p.s.term.resized:
			p.s.painter.Redraw()
			if err := p.Paint(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// gone is the error of a write to the terminal. One that was closed ends the replay.
func gone(err error) error {
	if errors.Is(err, syscall.EIO) {
		return ErrStopped
	}
	return err
}

// input handles what the terminal sent.
func (p *Player) input(e keys.Event) error {
	switch e := e.(type) {
	case keys.Report:
		p.s.setBackground(e.Text)
	case keys.Key:
		switch e.String() {
		case "ctrl+c", "ctrl+d", "q", "esc":
			return ErrStopped
		case "ctrl+z":
			p.s.suspend()
		case "ctrl+l":
			p.s.painter.Redraw()
		case "space", " ":
			p.paused = !p.paused
			p.hint()
		default:
			return nil
		}
	default:
		return nil
	}
	return p.Paint()
}

// hint shows the keys in the status line.
func (p *Player) hint() {
	p.s.note = "replay · space pauses · q ends"
	if p.paused {
		p.s.note = "paused · space continues · q ends"
	}
}
