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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxRequests = 64 // of a server that are unanswered
	closeGrace  = 300 * time.Millisecond
	writeGrace  = 50 * time.Millisecond
)

// deaf is the error of a server that does not take what it is sent.
type deaf struct{ cause error }

func (e *deaf) Error() string { return fmt.Sprintf("it does not read what it is sent (%v)", e.cause) }

func (e *deaf) Unwrap() []error { return []error{io.ErrClosedPipe, e.cause} }

// process is a server that we started, and the transport to it.
//
// The SDK has one of its own. This one reads lines of any length in bounded memory, steps over what is no message,
// refuses floods of requests, lets a write be given up, keeps stderr, and ends the whole process group.
type process struct {
	cmd  *exec.Cmd
	log  *serverLog
	exit chan struct{} // closed when the command itself has ended

	stdin, stdout *os.File
	ended         sync.Once
	ending        atomic.Bool   // we end it
	hungUp        atomic.Bool   // it closed its output before that
	alone         bool          // it ended by itself; known when exit is closed
	writing       chan struct{} // holds one token: the right to write
	broken        atomic.Bool   // a message was written only in part

	frames   *frames
	queue    []jsonrpc.Message // the rest of a batch
	nonsense nonsense
	odd      atomic.Pointer[string] // the first line that was no message, of a server that has said nothing else
	words    lastWords
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
		return nil, fmt.Errorf("start %s: its folder %s does not exist", s.Command, cmd.Dir)
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
		cmd: cmd, log: log, exit: make(chan struct{}), stdin: stdin, stdout: stdout,
		writing: make(chan struct{}, 1), frames: newFrames(stdout, maxFrame), nonsense: nonsense{log: log},
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
	p.alone = p.hungUp.Load() || !p.ending.Load()
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
				Code: jsonrpc.CodeInternalError, Message: "too many requests are unanswered",
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
			if err := p.nonsense.add(string(raw)); err != nil {
				return p.giveUp(err)
			}
			if !p.nonsense.spoke {
				first := p.nonsense.first
				p.odd.Store(&first)
			}
			continue
		}
		p.nonsense.end()
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
	p.log.printf("a message of %d bytes was dropped: the limit is %d", fr.size, maxFrame)
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
		Message: fmt.Sprintf("the answer has %d MB and was dropped: the limit is %d MB; ask for less", fr.size>>20, maxFrame>>20),
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
			select {             // an end of its own is the better reason
			case <-p.exit:
			case <-time.After(writeGrace):
			}
			p.end()
			return &deaf{err}
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
		go p.finish()
	})
}

// hurry is for a server that has nothing to bring to an end: it is told to go at once.
func (p *process) hurry() {
	p.ending.Store(true)
	termGroup(p.cmd)
}

func (p *process) finish() {
	select {
	case <-p.exit:
	case <-time.After(closeGrace):
		termGroup(p.cmd)
		select {
		case <-p.exit:
		case <-time.After(killGrace):
		}
	}
	killGroup(p.cmd)
	<-p.exit
	p.stdout.Close()
}

// fate says how the command ended, if it has done so by itself or for what it printed.
func (p *process) fate() string {
	if why := p.gaveUp.Load(); why != nil {
		return (*why).Error() + ", and was ended"
	}
	select {
	case <-p.exit:
	default:
		if p.hungUp.Load() {
			return "it closed its output"
		}
		return ""
	}
	if !p.alone {
		return ""
	}
	if s := signalOf(p.cmd); s != "" {
		return "it was ended by the signal " + s + p.words.said()
	}
	return fmt.Sprintf("it ended with exit code %d%s", p.cmd.ProcessState.ExitCode(), p.words.said())
}

// passed are the variables that a server gets of our environment: enough to run, nothing to steal.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES",
}

// serverEnv is a server's environment.
func serverEnv(base []string, own map[string]string) []string {
	var env []string
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
		env = append(env, name+"="+value)
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
