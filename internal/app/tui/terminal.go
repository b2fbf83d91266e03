package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

const (
	// enter asks for bracketed paste, focus events and unambiguous keys, and what the terminal is. By default, xterm
	// sends õ for Alt+U: modes 1036 and 1039 make that an Esc and u. They are saved and restored, because users can set
	// them.
	enter = "\x1b[?1036;1039s\x1b[?1036;1039h\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[?2026$p\x1b[>q"
	leave = "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?1036;1039r\x1b[?7h\x1b[?25h"
	// askBackground requests the color of the background.
	askBackground = "\x1b]11;?\x1b\\"
	// askAttributes is the last request. Every terminal answers it, so it ends the answers.
	askAttributes = "\x1b[c"
	// reportTime is how long a terminal has to answer its first probe, slowTime how long later if it has answered
	// before: a busy machine takes its time.
	reportTime = 200 * time.Millisecond
	slowTime   = 2 * time.Second
	// missedReports is how many probes in a row a terminal may leave unanswered before it is not asked anymore.
	missedReports = 3
)

// terminal is the user's terminal in raw mode.
type terminal struct {
	in, out *os.File
	input   *os.File // in, opened again so that a read can be ended
	paused  chan struct{}
	resume  chan struct{}
	old     *term.State
	now     func() time.Time
	events  chan arrival // keys, pasted text and focus; closed at the end of the input
	reports chan [2]int  // answers to probes: columns and rows
	closed  chan struct{}
	ignored chan struct{} // closed when the screen takes no more events; answers of the terminal are still read
	resized chan os.Signal
	asked   atomic.Int32 // probes without an answer
	missed  int          // probes in a row that were not answered in time
	late    int          // answers that came too late
	answers bool         // the terminal answered a probe
	stop    func()       // ends the notification of resizes
	fixed   [2]int       // columns and rows if there is no terminal, only its output

	enter, leave string        // what is sent at the start and at the end
	expects      atomic.Bool   // answers to the requests at the start are pending
	answered     chan struct{} // has a value when they have arrived
	verbatim     atomic.Bool   // keys are delivered with what the terminal sent

	synchronized atomic.Bool // it can show a frame at once
	keepsRows    atomic.Bool // it cuts lines when it becomes narrower
}

// openTerminal switches a terminal to raw mode. Keys that were typed before are kept. begin and end are sent at the
// start and at the end, in addition to what is needed anyway.
func openTerminal(in, out *os.File, now func() time.Time, begin, end string) (*terminal, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, errors.New("standard input and output must be a terminal")
	}
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	t := &terminal{
		in: in, out: out, old: old, now: now, events: make(chan arrival, 256), reports: make(chan [2]int, 64),
		input: reopen(in), paused: make(chan struct{}), resume: make(chan struct{}), closed: make(chan struct{}),
		ignored: make(chan struct{}),
		enter:   enter + begin + askAttributes, leave: end + leave, answered: make(chan struct{}, 1),
	}
	t.resized, t.stop = watchResize()
	t.expects.Store(true)
	start := t.enter
	if typedAhead(in) { // they are read again, and shown in the prompt
		start = "\r\x1b[K" + start
	}
	if _, err := io.WriteString(out, start); err != nil {
		t.close()
		return nil, err
	}
	go t.read()
	return t, nil
}

// close leaves the terminal as it was found.
func (t *terminal) close() {
	close(t.ignored)
	t.stop()
	t.settle()
	close(t.closed)
	io.WriteString(t.out, t.leave)
	term.Restore(int(t.in.Fd()), t.old)
	if t.input != t.in { // which ends the reader; what is typed from now on is not ours
		t.input.Close()
	}
}

// settle waits until the terminal has answered what it was asked at the start: the next program would read that as
// input.
func (t *terminal) settle() {
	if !t.expects.Load() {
		return
	}
	timeout := time.NewTimer(reportTime)
	defer timeout.Stop()
	select {
	case <-t.answered:
	case <-timeout.C:
	}
}

// suspend gives the terminal to another program while f runs.
func (t *terminal) suspend(f func()) error {
	t.settle()
	io.WriteString(t.out, t.leave)
	if t.input.SetReadDeadline(time.Unix(1, 0)) == nil { // the other program reads now
		<-t.paused
		defer func() {
			t.input.SetReadDeadline(time.Time{})
			t.resume <- struct{}{}
		}()
	}
	if err := term.Restore(int(t.in.Fd()), t.old); err != nil {
		return err
	}
	f()
	old, err := term.MakeRaw(int(t.in.Fd()))
	if err == nil {
		t.old = old
		t.expects.Store(true)
		_, err = io.WriteString(t.out, t.enter)
	}
	return err
}

// size is the terminal's size as the system knows it.
func (t *terminal) size() (columns, rows int) {
	if t.fixed[0] > 0 {
		return t.fixed[0], t.fixed[1]
	}
	c, r, err := term.GetSize(int(t.out.Fd()))
	if err != nil || c <= 0 || r <= 0 {
		return 80, 24
	}
	return c, r
}

// report waits for the answer to a probe.
func (t *terminal) report() (columns, rows int, ok bool) {
	if t.missed >= missedReports {
		return 0, 0, false
	}
	patience := reportTime
	if t.answers {
		patience = slowTime
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case r := <-t.reports:
			t.answers = true
			if t.late > 0 { // terminals answer in order
				t.late--
				continue
			}
			t.missed = 0
			return r[0], r[1], true
		case <-timeout.C:
			t.missed++
			t.late++
			return 0, 0, false
		}
	}
}

// Write prints, and counts the probes.
func (t *terminal) Write(p []byte) (int, error) {
	t.asked.Add(int32(bytes.Count(p, []byte(paint.Where))))
	return t.out.Write(p)
}

// read decodes the input until it ends.
func (t *terminal) read() {
	defer close(t.events)
	input := make(chan []byte)
	go func() {
		defer close(input)
		for {
			b := make([]byte, 64<<10)
			n, err := t.input.Read(b)
			if n > 0 {
				select {
				case input <- b[:n]:
				case <-t.closed:
					return
				}
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.paused <- struct{}{}
				<-t.resume
				continue
			}
			if err != nil {
				return
			}
		}
	}()
	d := keys.Decoder{Asked: func() bool { return t.asked.Load() > 0 }}
	for {
		var wait <-chan time.Time
		if d.Pending() {
			wait = time.After(escapeTime)
		}
		select {
		case b, ok := <-input:
			if !ok {
				return
			}
			d.Verbatim = t.verbatim.Load()
			t.deliver(d.Feed(b))
		case <-wait:
			d.Verbatim, d.Expects = t.verbatim.Load(), t.expects.Load()
			t.deliver(d.Flush())
		}
	}
}

// arrival is what the terminal sent, and when.
type arrival struct {
	event keys.Event
	at    time.Time
}

// pass hands an event to the screen, unless that has ended.
func (t *terminal) pass(e keys.Event, at time.Time) {
	select {
	case t.events <- arrival{e, at}:
	case <-t.ignored:
	}
}

func (t *terminal) deliver(events []keys.Event) {
	at := t.now()
	for _, e := range events {
		r, ok := e.(keys.Report)
		if !ok {
			t.pass(e, at)
			continue
		}
		switch r.Kind {
		case keys.Position:
			if t.asked.Add(-1) < 0 {
				t.asked.Store(0)
			}
			select {
			case t.reports <- [2]int{r.Args[1], r.Args[0]}:
			default:
			}
		case keys.Mode:
			if len(r.Args) == 2 && r.Args[0] == 2026 {
				t.synchronized.Store(r.Args[1] == 1 || r.Args[1] == 2)
			}
		case keys.Color:
			t.pass(e, at)
		case keys.Attribute:
			t.expects.Store(false)
			select {
			case t.answered <- struct{}{}:
			default:
			}
		case keys.Version:
			t.keepsRows.Store(strings.HasPrefix(r.Text, "XTerm"))
		}
	}
}
