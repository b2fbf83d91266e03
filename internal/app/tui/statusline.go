package tui

import (
	"context"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// StatusLine is a command of the user. What it prints is shown in the status line instead of the model and the
// directory.
type StatusLine struct {
	State       string // it runs again if this changed
	Colors      bool   // those of its output are shown
	HideContext bool   // the share of the context that is used is in its output
	Run         func(context.Context) (line string, err error)
}

// commandLine is what the command printed, and when it runs again.
type commandLine struct {
	shown        cell.Line // nil: nothing
	hidesContext bool
	state        string    // for which it ran last
	busy         bool      // it runs, or waits until it may
	next         time.Time // when it may run again
	told         string    // why it failed, which is printed once
}

// statusLineTime is the least time between two runs of the command.
const statusLineTime = time.Second

// updateStatusLine runs the command in the background if something changed since it ran last. An idle screen runs and
// waits for nothing.
func (s *Screen) updateStatusLine(ctx context.Context) {
	line, l := s.o.Host.StatusLine(s.vim.Mode()), &s.statusLine
	if line == nil {
		*l = commandLine{}
		return
	}
	if l.busy || line.State == l.state {
		return
	}
	l.busy = true
	now := s.o.Now()
	if wait := l.next.Sub(now); wait > 0 {
		time.AfterFunc(wait, func() { s.send(func(s *Screen) { s.statusLine.busy = false }) })
		return
	}
	l.state, l.next = line.State, now.Add(statusLineTime)
	s.spawn(func() {
		out, err := line.Run(ctx)
		s.send(func(s *Screen) { s.showStatusLine(line, out, err) })
	})
}

// showStatusLine takes the output of the command. If it failed, the status line is the usual one.
func (s *Screen) showStatusLine(from *StatusLine, out string, err error) {
	l := &s.statusLine
	l.busy, l.shown, l.hidesContext = false, nil, false
	if err != nil {
		if text := "the command of ui.statusLine failed: " + err.Error(); text != l.told {
			l.told = text
			s.tell(text)
		}
		return
	}
	line := cell.Colored(out)
	for i := range line {
		if !from.Colors {
			line[i].Style, line[i].Codes = cell.Dim, ""
		}
	}
	if line.Width() > 0 {
		l.shown, l.hidesContext = line, from.HideContext
	}
}
