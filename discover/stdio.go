package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

const (
	maxRequests = 64 // of a server that are unanswered
	closeGrace  = 300 * time.Millisecond
	writeGrace  = 50 * time.Millisecond
	exitWait    = 5 * time.Second // for the exit of a server that has closed its pipes: it says more than they do

	// A launcher that has not answered may be installing the server. Its install ends by itself if it isn't disturbed,
	// and the server then finds its input closed and exits. What has not answered and is not known as a launcher may
	// still be a script that runs one. npm rolls an install back at the first SIGTERM, which takes it a moment, and at
	// the second one releases its locks and exits. A SIGKILL leaves a broken cache, or a lock that delays the next
	// start for a minute.
	installGrace = 10 * time.Second // to finish, before SIGTERM
	rollback     = 5 * time.Second  // between SIGTERM and a second one of what has not answered
	insistence   = 2 * time.Second  // between that and SIGKILL
)

// notReadingError is the error of a server that does not take what it is sent.
type notReadingError struct{ cause error }

func (e *notReadingError) Error() string {
	return fmt.Sprintf("the server doesn't read its input (%v)", e.cause)
}

func (e *notReadingError) Unwrap() []error { return []error{io.ErrClosedPipe, e.cause} }

// process is a server that we started, and the transport to it.
//
// The SDK has one of its own. This one reads lines of any length in bounded memory, skips invalid messages,
// limits pending requests, can cancel a write, keeps stderr, and stops the whole process group.
type process struct {
	cmd  *exec.Cmd
	log  *serverLog
	exit chan struct{} // closed when the command itself has ended
	gone chan struct{} // closed when we have ended what was left of it

	launcher bool            // it may install the server first
	install  time.Duration   // how long that may continue when we stop it
	urgent   <-chan struct{} // closed: no longer; nil: never
	answered atomic.Bool     // the server has taken part in a handshake

	stdin, stdout *os.File
	ended         sync.Once
	ending        atomic.Bool                     // we end it
	hungUp        atomic.Bool                     // it closed its output before that
	unread        atomic.Bool                     // it closed its input before that
	failed        atomic.Pointer[notReadingError] // of the last Write; the SDK does not always wrap it
	term          sync.Once                       // for the first SIGTERM
	termed        atomic.Bool                     // it was sent
	alone         bool                            // it ended by itself; known when exit is closed
	writing       chan struct{}                   // holds one token: the right to write
	broken        atomic.Bool                     // a message was written only in part

	frames   *frames
	queue    []jsonrpc.Message // the rest of a batch
	stray    strayOutput
	odd      atomic.Pointer[string] // the first line that was no message, of a server that has said nothing else
	words    exitReason
	gaveUp   atomic.Pointer[error] // why we end it, if it is for what it printed
	requests atomic.Int32          // of the server, unanswered
}

// launch starts a server.
func launch(s Server, env []string, dir string, log *serverLog) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = dir, env
	if s.Cwd != "" {
		cmd.Dir = s.Cwd
	}
	if info, err := os.Stat(cmd.Dir); cmd.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("start %s: directory not found: %s", s.Command, cmd.Dir)
	}
	ownGroup(cmd)
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
	err = cmd.Start()
	in.Close()
	out.Close()
	errs.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		stderr.Close()
		return nil, startError(s.Command, err)
	}
	p := &process{
		cmd: cmd, log: log, exit: make(chan struct{}), gone: make(chan struct{}), stdin: stdin, stdout: stdout,
		launcher: s.launcher() != "", install: installGrace,
		writing: make(chan struct{}, 1), frames: newFrames(stdout, maxFrame), stray: strayOutput{log: log},
	}
	p.frames.most = maxFrame // a first message is short
	go p.attend(stderr)
	return p, nil
}

// attend reads stderr and waits for the end of the command.
func (p *process) attend(stderr *os.File) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		p.log.copy(stderr, p.words.add)
	}()
	p.cmd.Wait()
	// It may end by itself at the moment when we notice and end it: what it was that ended it is the truth.
	p.alone = (p.hungUp.Load() || p.unread.Load() || !p.ending.Load()) && !(p.termed.Load() && signalOf(p.cmd) != "")
	select { // what it said last; something it left behind may hold the pipe
	case <-copied:
	case <-time.After(drain):
	}
	stderr.SetReadDeadline(time.Now())
	<-copied
	stderr.Close()
	close(p.exit)
	time.AfterFunc(drain, func() { p.stdout.SetReadDeadline(time.Now()) }) // likewise
}

// Connect implements [mcp.Transport].
func (p *process) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements [mcp.Connection]: there is none.
func (p *process) SessionID() string { return "" }

// Read implements [mcp.Connection].
func (p *process) Read(context.Context) (jsonrpc.Message, error) {
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

// fill reads one line into the queue. One that is no message is logged and stepped over: many servers print a banner.
func (p *process) fill() error {
	fr, err := p.frames.next()
	if err != nil {
		if over := endless(0); errors.As(err, &over) {
			return p.giveUp(err)
		}
		p.hungUp.Store(err == io.EOF && !p.ending.Load())
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return io.EOF
		}
		return err
	}
	if fr.over {
		return p.tooLong(fr)
	}
	line := bytes.TrimSpace(fr.line)
	if len(line) == 0 {
		return nil
	}
	raws := []json.RawMessage{line}
	if line[0] == '[' {
		raws = nil
		if json.Unmarshal(line, &raws) != nil {
			raws = []json.RawMessage{line}
		}
	}
	for _, raw := range raws {
		msg, err := jsonrpc.DecodeMessage(bytes.Clone(p.readable(marked(raw))))
		if err != nil {
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
		p.frames.most = endlessLine
		p.queue = append(p.queue, msg)
	}
	return nil
}

// giveUp ends a server that does not speak the protocol. Its fate says why.
func (p *process) giveUp(err error) error {
	p.gaveUp.Store(&err)
	p.end()
	return io.EOF
}

// tooLong answers, in the server's place, the call that waits for an answer too long to read.
func (p *process) tooLong(fr frame) error {
	p.log.printf("dropped a message of %d bytes (limit: %d)", fr.size, maxFrame)
	var v any
	if json.Unmarshal(fr.answered(), &v) != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return nil
	}
	p.queue = append(p.queue, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("dropped a response of %d MB (limit: %d MB). Request less data", fr.size>>20, maxFrame>>20),
	}})
	return nil
}

// Write implements [mcp.Connection]. A server that does not read cannot hold the caller longer than ctx.
func (p *process) Write(ctx context.Context, msg jsonrpc.Message) error {
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
	stop := context.AfterFunc(ctx, func() { p.stdin.SetWriteDeadline(time.Now()) })
	n, err := p.stdin.Write(append(data, '\n'))
	if trace := httptrace.ContextClientTrace(ctx); n > 0 && trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // the request may have left: see session.call
	}
	if !stop() || err != nil {
		if err != nil {
			p.broken.Store(true) // half a message may be in the pipe: nothing can follow it
			p.unread.Store(errors.Is(err, syscall.EPIPE) && !p.ending.Load())
			select { // an end of its own is the better reason
			case <-p.exit:
			case <-time.After(writeGrace):
			}
			p.end()
			failed := &notReadingError{err}
			p.failed.Store(failed)
			return failed
		}
		p.stdin.SetWriteDeadline(time.Time{})
	}
	if r, ok := msg.(*jsonrpc.Response); ok && r.ID.IsValid() {
		p.requests.Add(-1)
	}
	return nil
}

// Close implements [mcp.Connection]: stdin is closed, which is the sign to end; what is left then is ended.
func (p *process) Close() error {
	p.end()
	return nil
}

func (p *process) end() {
	p.ended.Do(func() {
		p.ending.Store(true)
		p.stdin.Close()
		if !p.answered.Load() {
			p.stdout.SetReadDeadline(time.Now()) // the handshake is over, however long the command stays
		}
		go p.finish()
	})
}

// hurry stops a server that has nothing to finish, at once.
func (p *process) hurry() {
	p.ending.Store(true)
	p.terminate()
}

func (p *process) terminate() {
	p.term.Do(func() {
		p.termed.Store(true)
		termGroup(p.cmd)
	})
}

// installing reports whether the command may be installing the server.
func (p *process) installing() bool { return p.launcher && !p.answered.Load() }

// grace is how long the command gets to end by itself, and then after a SIGTERM.
func (p *process) grace() (itself, afterTerm time.Duration) {
	switch {
	case p.answered.Load():
		return closeGrace, killGrace
	case p.installing():
		return p.install, rollback
	}
	return closeGrace, rollback
}

// insist tells a command that has not answered a second time to end.
func (p *process) insist() {
	if p.answered.Load() {
		return
	}
	termGroup(p.cmd)
	select {
	case <-p.exit:
	case <-time.After(insistence):
	}
}

func (p *process) finish() {
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
	killGroup(p.cmd)
	<-p.exit
	p.stdout.Close()
}

func (p *process) exited() bool {
	select {
	case <-p.exit:
		return true
	default:
		return false
	}
}

// fate says how the command ended, if it has done so by itself or for what it printed. A command that has closed its
// output or its input is of no use any more: it is ended, and how that comes about tells which of the two it was.
func (p *process) fate() string {
	if why := p.gaveUp.Load(); why != nil {
		return (*why).Error() + ", and was stopped"
	}
	wait := 2 * drain
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
		if s := signalOf(p.cmd); s != "" {
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

// passed are the variables that a server gets of our environment: enough to run, nothing to steal.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES",
}

// serverEnv is a server's environment.
func serverEnv(base []string, own map[string]string) []string {
	env := []string{Nested + "=1"}
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, overridden := own[name]; overridden {
			continue
		}
		if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || containsFold(passed, name) {
			env = append(env, kv)
		}
	}
	for name, value := range own {
		if name != Nested {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func containsFold(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
