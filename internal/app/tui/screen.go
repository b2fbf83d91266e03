// Package tui is the interactive terminal: a conversation with a model, printed into the terminal's own scrollback,
// above a small live area with the prompt.
//
//	s := tui.New(tui.Options{In: os.Stdin, Out: os.Stdout, Host: host})
//	executor.Ask = s.Ask            // questions
//	observe = s.Observe             // events of the agent
//	err := s.Run(ctx)
//
// It knows no session: a [Host] runs prompts. One goroutine has all state. Others send it messages.
package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/editor"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

// Host is the session behind the screen.
type Host interface {
	// Run carries out what the user typed: a prompt, a /command or a !command. It returns when that has ended.
	Run(ctx context.Context, typed string) (Reply, error)
	// Retry requests the answer again to a prompt that failed with a [Retryable] error, unless the model answered
	// since.
	Retry(ctx context.Context) error
	// Aside reports whether what was typed is a command that only shows something: it runs at once, also beside a
	// prompt.
	Aside(typed string) bool
	// Wake has a value when background work has something to report, and Continue lets the model answer to it.
	Wake() <-chan struct{}
	Continue(ctx context.Context) error
	// Status is what the status line shows. It is called often.
	Status() Status
	// StatusLine is the user's command for the status line; nil: none. mode is vim's, or "". It is called often.
	StatusLine(mode string) *StatusLine
	// Todos is the model's to-do list.
	Todos() todo.List
	// NextMode switches to the next approval mode.
	NextMode()
	// Running are the background commands that end with the session, as the user knows them.
	Running() []string
	// Background moves running commands to the background and returns their names.
	Background() []string
	// Attach takes an image that the user dropped, and returns the label that prompts name it with. Without one, the
	// path is text; why says so if the user should know.
	Attach(path string) (label, why string)
	// Clipboard reads the clipboard: an image, which is attached and has a label then, or text.
	Clipboard(ctx context.Context) (label, text string, err error)
	// Complete calls show with what could replace a word that starts with @, or a command with its words so far, and
	// again when there is more.
	Complete(ctx context.Context, typed string, show func([]Candidate))
}

// Reply is what the user gets, apart from what was observed.
type Reply struct {
	Text     string
	Markdown bool   // what Text is; otherwise it is shown as it is
	Copy     string // for the clipboard
	Quit     bool
	Theme    string // to use from now on; "": as before
	Vim      *bool  // vim's keys from now on; nil: as before
	Keys     bool   // list the keys

	Choice *Choice // the user decides before something happens
	Edit   string  // a prompt to be edited: the conversation is as it was before it
	Next   *Next   // another session continues; nil: this one does
}

// Next is the session that continues.
type Next struct {
	Host    Host
	Earlier []Item // what was said in it
	Same    bool   // it is the conversation that is on the screen
}

// Retryable is an error of a prompt that the user can try again: Enter on an empty prompt does.
type Retryable struct{ Err error }

func (e *Retryable) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Retryable) Unwrap() error { return e.Err }

// Status is the state of the session.
type Status struct {
	Mode, Model, Directory, Branch string
	Context                        int     // percent of the window; below 0: it is not known
	Jobs                           int     // background commands
	Servers, Connected             int     // MCP servers, and those that can be used
	Connecting                     bool    // some of them are being started
	Cost                           float64 // so far, in US dollars; 0: it is not known
}

// Dollars is an amount of money.
func Dollars(n float64) string {
	if n < 0.01 {
		return fmt.Sprintf("$%.4f", n)
	}
	return fmt.Sprintf("$%.2f", n)
}

// Candidate is a completion: its text, what can follow it, and what it is. Without a text it is a note about the list.
type Candidate struct{ Text, Words, About string }

// Options configure a Screen.
type Options struct {
	In, Out *os.File
	Host    Host
	// Header is printed first. Lookup, if not nil, finds out what takes a moment: until it returns, the header is in
	// the live area, and what it returns is inserted after the first line.
	Header []Row
	Lookup func(context.Context) []Row
	Prompt string // sent at the start
	// Command is carried out at the start, as if a key stood for it. Earlier is what was said before, in a session that
	// continues.
	Command string
	Earlier []Item
	// Theme is auto, dark, light or high-contrast; "" is auto. NoColor overrides it.
	Theme   string
	NoColor bool
	// Notifications is auto, bell or off; "" is auto. HideTitle leaves the title of the window alone.
	Notifications string
	HideTitle     bool
	// Terminal is the environment, which says what the terminal is. nil: nothing is known.
	Terminal func(variable string) string
	History  History
	Editor   string            // command of the user's editor
	Keys     map[string]string // the setting ui.keys: keys by action
	Vim      bool              // the prompt has vim's keys
	// OutputLines is how many lines of a command's output stay visible; 0: none.
	OutputLines int
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Screen is the terminal of a session.
type Screen struct {
	o        Options
	term     *terminal
	painter  *paint.Painter
	messages chan message
	quit     chan struct{} // closed when the screen has ended
	queue    queue         // typed while a prompt ran
	asides   sync.WaitGroup

	// The fields below belong to Run's goroutine.
	keys          keymap
	columns, rows int
	header        []Row       // that waits for the lookup
	awaiting      bool        // the header was printed before the lookup ended
	finished      []cell.Line // to be printed with the next frame
	gap           bool        // the last finished line is empty
	editor        editor.Editor
	vim           editor.Vim
	history       browse
	lookup        lookup
	answer        answer
	calls         callList
	todos         todoList
	questions     questionList
	complete      completion
	transcript    transcript
	view          *overlay    // nil: the conversation is shown
	choice        *openChoice // nil: none is open
	work          *work       // nil: nothing runs
	retry         bool        // the last prompt failed, and can be tried again
	note          string      // shown in the status line until the next key
	showKeys      bool
	keyAt         time.Time // when the key that is handled was typed
	lastKey       time.Time // when the one before it was
	answering     bool      // a question took that one
	offer         offer     // of the last key
	offered       offer     // of the one before
	interrupted   time.Time // when Ctrl+C last interrupted
	focused       bool
	urgent        bool // a message is shown at once, as a key is
	settling      bool // a rule answers open questions: none is shown until the next frame
	backdrop      backdrop
	title         string // of the window
	place         string // the directory
	connecting    bool   // to MCP servers
	statusLine    commandLine
	testing       bool // keys are shown instead of carried out
	done          bool
	broken        error             // why, if it was a panic
	watch         func(paint.Frame) // receives every frame, if set
}

// work is a prompt that runs.
type work struct {
	cancel context.CancelFunc
	began  time.Time
	tokens int
	cost   float64   // of the session, when it began
	asked  bool      // the model was
	model  time.Time // since when the model is asked; zero: it is not
}

// message changes the state in Run's goroutine.
type message func(*Screen)

// New makes a screen. Nothing is painted before Run.
func New(o Options) *Screen {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Terminal == nil {
		o.Terminal = func(string) string { return "" }
	}
	keys, _ := newKeymap(o.Keys)
	return &Screen{
		o: o, keys: keys, messages: make(chan message, 256), quit: make(chan struct{}), focused: true,
		backdrop: backgroundHint(o.Terminal("COLORFGBG")), vim: editor.Vim{On: o.Vim},
	}
}

// Observe takes an event of the agent.
func (s *Screen) Observe(e agent.Event) { s.send(func(s *Screen) { s.event(e) }) }

// Tell prints a notice.
func (s *Screen) Tell(text string) { s.send(func(s *Screen) { s.tell(text) }) }

// send hands a message to Run's goroutine.
func (s *Screen) send(m message) {
	select {
	case s.messages <- m:
	case <-s.quit:
	}
}

const (
	// frameTime is the least time between two frames while an answer streams. Keys are shown at once.
	frameTime = 50 * time.Millisecond
	// escapeTime is how long an Esc waits for the rest of a sequence.
	escapeTime = 40 * time.Millisecond
)

// Run shows the screen until the user quits, the terminal is gone or ctx ends.
func (s *Screen) Run(ctx context.Context) (err error) {
	var begin, end string
	if s.o.asksBackground() {
		begin = askBackground
	}
	if s.o.talksOSC() && !s.o.HideTitle {
		begin, end = begin+saveTitle, restoreTitle
	}
	if s.term, err = openTerminal(s.o.In, s.o.Out, s.o.Now, begin, end); err != nil {
		return err
	}
	defer s.term.close()
	ctx, cancel := context.WithCancel(ctx)
	defer s.asides.Wait()
	defer close(s.quit)
	defer cancel()
	s.painter = paint.New(s.term, paint.Options{
		Size: s.term.size, Colors: s.o.colorsOn(s.backdrop), Report: s.term.report,
	})
	defer func() { err = errors.Join(err, guard(s.closeDown)) }()
	s.header = s.o.Header
	s.todos.list = s.o.Host.Todos() // of a session that continues
	if s.o.Lookup == nil {
		s.endHeader(nil)
	} else {
		s.spawn(func() {
			found := s.o.Lookup(ctx)
			s.send(func(s *Screen) { s.endHeader(found) })
		})
	}
	if s.o.Prompt != "" {
		s.submit(ctx, s.o.Prompt)
	}
	if s.o.Command != "" {
		s.command(ctx, s.o.Command)
	}
	err = guard(func() error { return s.loop(ctx) })
	if errors.Is(err, syscall.EIO) {
		return errGone
	}
	return err
}

// loop handles keys and messages, and paints.
func (s *Screen) loop(ctx context.Context) error {
	var frame, second <-chan time.Time
	if err := s.paint(); err != nil {
		return err
	}
	s.updateStatusLine(ctx)
	for !s.done {
		now, key := false, false // a key is shown at once
		var wake <-chan struct{}
		if s.work == nil && s.choice == nil { // what runs takes the reports itself
			wake = s.o.Host.Wake()
		}
		select {
		case <-wake:
			host := s.o.Host
			s.start(ctx, func(ctx context.Context) (Reply, error) { return Reply{}, host.Continue(ctx) })
		case e, ok := <-s.term.events:
			if !ok {
				return errGone
			}
			s.input(ctx, e)
			key = true
		case m := <-s.messages:
			m(s)
			s.drain()
			key, s.urgent = s.urgent, false
		case <-frame:
			now = true
		case <-second:
			second = nil
			now = true
		case <-s.term.resized:
			s.painter.Redraw() // it may have been smaller in between, and have dropped rows
			now = true
		case <-ctx.Done():
			return errSignaled
		}
		if now {
			s.showText()
			s.settling, frame = false, nil
		}
		switch { // text that arrived waits for its frame, so that a key changes one row
		case now, key:
			if err := s.paint(); err != nil {
				return err
			}
			s.updateStatusLine(ctx)
		case frame == nil:
			frame = time.After(frameTime)
		}
		if s.settling && frame == nil {
			frame = time.After(frameTime)
		}
		// only while something runs: an idle screen wakes up for nothing
		if (s.work != nil || s.connecting) && second == nil {
			second = time.After(time.Second)
		}
	}
	return s.broken
}

// drain handles messages that are waiting, so that one frame shows them all.
func (s *Screen) drain() {
	for range 1000 {
		select {
		case m := <-s.messages:
			m(s)
		default:
			return
		}
	}
}

// closeDown ends what runs and removes the live area.
func (s *Screen) closeDown() error {
	s.closeView()
	if s.work != nil {
		s.work.cancel()
	}
	s.questions.open = nil
	s.painter.Paint(paint.Frame{Finished: s.finished})
	s.painter.Close() // an error was returned by the last frame already, or the terminal is gone
	return nil
}

// paint shows the current state.
func (s *Screen) paint() error {
	if s.view != nil {
		return s.paintView()
	}
	s.columns, s.rows = s.term.size()
	s.retitle()
	s.painter.Synchronized = s.term.synchronized.Load()
	s.painter.KeepsRows = s.term.keepsRows.Load()
	live, cursor := s.live()
	frame := paint.Frame{Finished: s.finished, Live: live, Cursor: cursor}
	s.finished = nil
	if s.watch != nil {
		s.watch(frame)
	}
	return s.painter.Paint(frame)
}

// print adds finished lines.
func (s *Screen) print(lines ...cell.Line) {
	if len(lines) == 0 {
		return
	}
	s.finished = append(s.finished, lines...)
	s.gap = len(lines[len(lines)-1]) == 0
}

// space adds an empty line, unless there is one.
func (s *Screen) space() {
	if !s.gap {
		s.print(nil)
	}
}

// tell prints a notice.
func (s *Screen) tell(text string) {
	s.transcript.add(Item{Kind: ItemNote, Text: text})
	s.print(noteLines(text, s.width())...)
}

// width is the number of columns for text.
func (s *Screen) width() int {
	if s.columns == 0 {
		s.columns, s.rows = s.term.size()
	}
	return max(6, s.columns)
}
