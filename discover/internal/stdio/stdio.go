// Package stdio runs MCP servers as commands and exchanges messages with them over stdin and stdout: lines of JSON. It
// handles servers that print other output, don't stop, or leave processes behind.
package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/engine/lines"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// MaxMessage is the maximum length of a message. A longer one is skipped.
const MaxMessage = 10 << 20

const (
	maxRequests = 64 // unanswered requests of a server
	closeGrace  = 300 * time.Millisecond
	writeGrace  = 50 * time.Millisecond
	exitWait    = 5 * time.Second // for the exit of a server that closed its pipes, which explains more

	// Drain is how long output is read after a command has exited, if a process that it left behind keeps the pipe
	// open.
	Drain = 250 * time.Millisecond

	// A launcher that has not answered may be installing the server. If it isn't disturbed it finishes, and the server
	// then finds its input closed and exits. A command that has not answered and isn't known as a launcher may be a
	// script that runs one. npm rolls an install back at the first SIGTERM, which takes a moment, and at the second one
	// releases its locks and exits. A SIGKILL leaves a broken cache, or a lock that delays the next start for a minute.
	// InstallGrace is the usual Command.Install.
	InstallGrace = 10 * time.Second // to finish, before SIGTERM
	rollback     = 5 * time.Second  // between SIGTERM and a second one for a command that has not answered
	insistence   = 2 * time.Second  // between that and SIGKILL

	// StopTime is how long a command may take to exit after Command.Install.
	StopTime = rollback + insistence
)

// NotReadingError is the error of a server that doesn't read its input.
type NotReadingError struct{ cause error }

func (e *NotReadingError) Error() string {
	return fmt.Sprintf("the server doesn't read its input (%v)", e.cause)
}

func (e *NotReadingError) Unwrap() []error { return []error{io.ErrClosedPipe, e.cause} }

// Process is a server that Adze started, and the transport to it.
//
// Unlike the SDK's transport, it reads lines of any length in bounded memory, skips invalid messages, limits pending
// requests, can cancel a write, keeps stderr, and stops the whole process group.
type Process struct {
	cmd   *exec.Cmd
	group *Group
	log   *Log
	exit  chan struct{} // closed when the command has exited
	gone  chan struct{} // closed when its remaining processes are stopped

	launcher bool            // it may install the server first
	install  time.Duration   // how long the install may continue when the server is stopped
	urgent   <-chan struct{} // closed: the install gets no more time; nil: never
	answered atomic.Bool     // the server took part in a handshake

	stdin, stdout *os.File
	ended         sync.Once
	ending        atomic.Bool   // Adze is stopping it
	hungUp        atomic.Bool   // it closed its output before that
	unread        atomic.Bool   // it closed its input before that
	term          sync.Once     // for the first SIGTERM
	termed        atomic.Bool   // the first SIGTERM was sent
	alone         bool          // it exited by itself; known when exit is closed
	writing       chan struct{} // holds one token: permission to write
	broken        atomic.Bool   // a message was written only in part

	lines    *lines.Reader
	queue    []jsonrpc.Message // the rest of a batch
	stray    strayOutput
	odd      atomic.Pointer[string] // the first line that wasn't a message, if the server has sent no message
	words    exitReason
	gaveUp   atomic.Pointer[error] // why Adze stops it, if because of its output
	requests atomic.Int32          // unanswered requests of the server
}

// Command is the command of a server.
type Command struct {
	Path     string
	Args     []string
	Dir      string // "": the current directory
	Env      []string
	Launcher bool            // it may install the server first
	Install  time.Duration   // how long an install may continue when the server is stopped
	Urgent   <-chan struct{} // closed: the install gets no more time; nil: never
}

// Start starts a server. Its stderr, and output that isn't a message, is added to the log.
func Start(c Command, log *Log) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if info, err := os.Stat(cmd.Dir); cmd.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("start %s: directory not found: %s", c.Path, cmd.Dir)
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		in.Close()
		stdin.Close()
		return nil, err
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), stdin.Close(), stdout.Close(), out.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	group, err := NewGroup(cmd)
	if err == nil {
		err = group.Start()
	}
	in.Close()
	out.Close()
	errs.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		stderr.Close()
		return nil, StartError(c.Path, err)
	}
	p := &Process{
		cmd: cmd, group: group, log: log, exit: make(chan struct{}), gone: make(chan struct{}),
		stdin: stdin, stdout: stdout,
		launcher: c.Launcher, install: c.Install, urgent: c.Urgent,
		writing: make(chan struct{}, 1), lines: lines.New(stdout, MaxMessage), stray: strayOutput{log: log},
	}
	p.lines.Longest = MaxMessage // a first message is short
	go p.attend(stderr)
	return p, nil
}

// attend reads stderr and waits for the command to exit.
func (p *Process) attend(stderr *os.File) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		p.log.copy(stderr, p.words.add)
	}()
	p.cmd.Wait()
	// It may exit by itself at the moment when it is being stopped. The exit status shows which it was.
	p.alone = (p.hungUp.Load() || p.unread.Load() || !p.ending.Load()) && !(p.termed.Load() && p.group.Signal() != "")
	select { // its last output; a process that it left behind may keep the pipe open
	case <-copied:
	case <-time.After(Drain):
	}
	p.expire(stderr.SetReadDeadline)
	<-copied
	stderr.Close()
	close(p.exit)
	time.AfterFunc(Drain, func() { p.expire(p.stdout.SetReadDeadline) }) // likewise
}

// expire ends a read or write of a pipe. Those of Windows have no deadlines, so their other ends must close.
func (p *Process) expire(deadline func(time.Time) error) {
	if errors.Is(deadline(time.Now()), os.ErrNoDeadline) {
		p.terminate()
	}
}

// Exit returns a channel that is closed when the command has exited.
func (p *Process) Exit() <-chan struct{} { return p.exit }

// Gone returns a channel that is closed when the command and its child processes are stopped.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Answered records that the server took part in a handshake.
func (p *Process) Answered() { p.answered.Store(true) }

// Stray returns the first line that wasn't a message, if the server has sent no message; otherwise "".
func (p *Process) Stray() string {
	if first := p.odd.Load(); first != nil {
		return *first
	}
	return ""
}

// Reason returns the line of stderr that best explains the exit, to continue a sentence about it.
func (p *Process) Reason() string { return p.words.said() }

// Tail returns the last lines of stderr, to continue a message about a failed start.
func (p *Process) Tail() string { return p.words.lines() }

// Connect implements [mcp.Transport].
func (p *Process) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements [mcp.Connection]. It is always "".
func (p *Process) SessionID() string { return "" }

// Read implements [mcp.Connection].
func (p *Process) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(p.queue) == 0 {
			if err := p.fill(); err != nil {
				return nil, err
			}
			continue
		}
		msg := p.queue[0]
		p.queue = p.queue[1:]
		if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() && p.requests.Add(1) > maxRequests {
			p.Write(context.Background(), &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeInternalError, Message: "too many pending requests",
			}})
			continue
		}
		return msg, nil
	}
}

// fill reads one line into the queue. A line that isn't a message is logged and skipped: many servers print a banner.
// One that begins like the response to a request fails it, so that its caller doesn't wait for another.
func (p *Process) fill() error {
	line, err := p.lines.Next()
	if err != nil {
		if over := lines.EndlessError(0); errors.As(err, &over) {
			return p.giveUp(err)
		}
		p.hungUp.Store(err == io.EOF && !p.ending.Load())
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return io.EOF
		}
		return err
	}
	if line.Long {
		return p.tooLong(line)
	}
	text := bytes.TrimSpace(line.Text)
	if len(text) == 0 {
		return nil
	}
	raws := []json.RawMessage{text}
	if text[0] == '[' {
		raws = nil
		if json.Unmarshal(text, &raws) != nil {
			raws = []json.RawMessage{text}
		}
	}
	for _, raw := range raws {
		msg, err := jsonrpc.DecodeMessage(bytes.Clone(p.readable(marked(raw))))
		if err != nil {
			if p.fail(lines.Line{Text: raw}, "the response is not a JSON-RPC 2.0 message") {
				continue
			}
			if err := p.stray.add(string(raw)); err != nil {
				return p.giveUp(err)
			}
			if !p.stray.spoke {
				first := p.stray.first
				p.odd.Store(&first)
			}
			continue
		}
		p.stray.end()
		p.odd.Store(nil)
		p.lines.Longest = endlessLine
		p.queue = append(p.queue, msg)
	}
	return nil
}

// giveUp stops a server that doesn't speak the protocol. Fate returns the reason.
func (p *Process) giveUp(err error) error {
	p.gaveUp.Store(&err)
	p.end()
	return io.EOF
}

// tooLong answers the request whose response is too long to read.
func (p *Process) tooLong(line lines.Line) error {
	p.log.Printf("dropped a message of %d bytes (limit: %d)", line.Size, MaxMessage)
	p.fail(line, fmt.Sprintf("dropped a response of %d MB (limit: %d MB). Request less data", line.Size>>20,
		MaxMessage>>20))
	return nil
}

// fail answers the request that a line seems to respond to with an error. It reports whether there is one. It is only a
// guess: an ID without a request is dropped later.
func (p *Process) fail(line lines.Line, cause string) bool {
	var v any
	if line.Member("jsonrpc") == nil || line.Member("method") != nil || json.Unmarshal(line.Member("id"), &v) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(v)
	if err == nil {
		failed := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: cause}
		p.queue = append(p.queue, &jsonrpc.Response{ID: id, Error: failed})
	}
	return err == nil
}

// Write implements [mcp.Connection]. A server that doesn't read can't block the caller longer than ctx.
func (p *Process) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-p.exit:
		return io.ErrClosedPipe
	}
	if p.broken.Load() {
		return io.ErrClosedPipe
	}
	stop := context.AfterFunc(ctx, func() { p.expire(p.stdin.SetWriteDeadline) })
	n, err := p.stdin.Write(append(data, '\n'))
	if trace := httptrace.ContextClientTrace(ctx); n > 0 && trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // the request may be sent from here on: see session.call
	}
	if !stop() || err != nil {
		if err != nil {
			p.broken.Store(true) // part of a message may be in the pipe: nothing can follow it
			p.unread.Store(errors.Is(err, syscall.EPIPE) && !p.ending.Load())
			select { // its own exit is the better explanation
			case <-p.exit:
			case <-time.After(writeGrace):
			}
			p.end()
			return &NotReadingError{err}
		}
		p.stdin.SetWriteDeadline(time.Time{})
	}
	if r, ok := msg.(*jsonrpc.Response); ok && r.ID.IsValid() {
		p.requests.Add(-1)
	}
	return nil
}

// Close implements [mcp.Connection]. It closes stdin, which asks the server to exit, and then stops the remaining
// processes.
func (p *Process) Close() error {
	p.end()
	return nil
}

func (p *Process) end() {
	p.ended.Do(func() {
		p.ending.Store(true)
		p.stdin.Close()
		if !p.answered.Load() {
			p.stdout.SetReadDeadline(time.Now()) // the handshake has ended, however long the command runs
		}
		go p.finish()
	})
}

// Hurry stops a server that has nothing to finish at once.
func (p *Process) Hurry() {
	p.ending.Store(true)
	p.terminate()
}

func (p *Process) terminate() {
	p.term.Do(func() {
		p.termed.Store(true)
		p.group.Term()
	})
}

// Installing reports whether the command may be installing the server.
func (p *Process) Installing() bool { return p.launcher && !p.answered.Load() }

// grace returns how long the command gets to exit by itself, and then after a SIGTERM.
func (p *Process) grace() (itself, afterTerm time.Duration) {
	switch {
	case p.answered.Load():
		return closeGrace, KillGrace
	case p.Installing():
		return p.install, rollback
	}
	return closeGrace, rollback
}

// insist sends a second SIGTERM to a command that has not answered.
func (p *Process) insist() {
	if p.answered.Load() {
		return
	}
	p.group.Term()
	select {
	case <-p.exit:
	case <-time.After(insistence):
	}
}

func (p *Process) finish() {
	defer close(p.gone)
	itself, afterTerm := p.grace()
	select {
	case <-p.exit:
	case <-time.After(itself):
	case <-p.urgent:
	}
	if !p.exited() {
		p.terminate()
		select {
		case <-p.exit:
		case <-time.After(afterTerm):
			p.insist()
		}
	}
	p.group.Kill()
	<-p.exit
	p.stdout.Close()
}

func (p *Process) exited() bool {
	select {
	case <-p.exit:
		return true
	default:
		return false
	}
}

// Fate describes how the command ended, if it exited by itself or was stopped because of its output. A command that has
// closed its output or its input is useless and is stopped; its exit status shows whether it was exiting anyway.
func (p *Process) Fate() string {
	if why := p.gaveUp.Load(); why != nil {
		return (*why).Error() + ", and was stopped"
	}
	wait := 2 * Drain
	if p.hungUp.Load() || p.unread.Load() {
		p.end()
		wait = exitWait
	}
	select {
	case <-p.exit:
	case <-time.After(wait):
	}
	select {
	case <-p.exit:
		if !p.alone {
			break
		}
		if s := p.group.Signal(); s != "" {
			return "the server was killed by signal " + s
		}
		return fmt.Sprintf("the server exited with code %d", p.cmd.ProcessState.ExitCode())
	default:
	}
	if p.hungUp.Load() {
		return "the server closed its output"
	}
	return ""
}

// StartError explains why a command could not be started.
func StartError(name string, err error) error {
	words := strings.Fields(name)
	switch {
	case errors.Is(err, exec.ErrNotFound) && len(words) > 1:
		args, _ := json.Marshal(words[1:])
		return fmt.Errorf("command %q not found in PATH. Put arguments in \"args\": {\"command\": %q, \"args\": %s}",
			name, words[0], args)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("command %q not found in PATH. Install it, or use its full path", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable. Run chmod +x on it", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: file not found (or its #! interpreter is missing)", name)
	}
	return fmt.Errorf("start %s: %w", name, nofollow.Cause(err)) // its text repeats the name
}
