package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// session is one connection to a running server.
type session struct {
	link   *link
	cs     *mcp.ClientSession
	client *mcp.Client
	proc   *stdio.Process     // nil: not started by Adze
	http   *http.Client       // nil: not over HTTP
	stop   context.CancelFunc // cancels everything that the connection still does
	dead   chan struct{}      // closed when the connection has ended

	mu    sync.Mutex
	calls []*running // oldest first
	count int        // number of calls so far, for progress tokens
	known map[string]string
}

// running is a call that waits for its answer.
type running struct {
	token string
	ctx   context.Context
	live  *tool.Live
	limit *deadline
	mu    sync.Mutex
	notes []string // for the model, in addition to the result
}

// maxNotes bounds the notes that a server can cause.
const maxNotes = 5

func (r *running) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := fmt.Sprintf(format, args...); len(r.notes) < maxNotes && !slices.Contains(r.notes, n) {
		r.notes = append(r.notes, n)
	}
}

// connect starts or connects to the server and performs the handshake, within the start timeout.
func (l *link) connect(a *attempt) (*session, error) {
	s, err := l.dial(a, l.firstVersion())
	var rpc *jsonrpc.Error
	if err != nil && l.kind == launched && errors.As(err, &rpc) {
		return l.dial(a, "") // it rejected the old handshake: it may support only the new one
	}
	return s, err
}

// firstVersion returns the protocol version to try first. An old stdio server may never answer a request of the new
// protocol, so it gets the old handshake; over HTTP every request has a response.
func (l *link) firstVersion() string {
	if l.kind == launched || l.kind == dialed {
		return "2025-11-25"
	}
	return ""
}

func (l *link) dial(a *attempt, version string) (*session, error) {
	if l.life.Err() != nil {
		return nil, ErrClosed
	}
	ctx, stop := context.WithCancel(l.life)
	s := &session{link: l, stop: stop, dead: make(chan struct{}), known: map[string]string{}}
	t, err := l.transport(s)
	if err != nil {
		stop()
		return nil, err
	}
	oddly := ""
	bound := l.startTimeout()
	late := time.AfterFunc(bound, func() {
		if s.proc != nil && s.proc.Installing() {
			// A slow server is never killed: that left broken package caches, with which every later start failed. One
			// that hangs costs nothing until Close.
			l.overdue(a, fmt.Errorf("no response within %s. %s may still be installing the server; it continues to "+
				"start in the background",
				humanize.Wait(bound), l.conf.launcher()))
			return
		}
		oddly = s.oddly()
		stop()
		if s.proc != nil {
			s.proc.Hurry()
		}
	})
	defer late.Stop()
	l.mu.Lock()
	a.proc = s.proc
	l.mu.Unlock()
	s.client = mcp.NewClient(&mcp.Implementation{Name: l.opt.name(), Version: l.opt.version()}, s.options())
	s.announce(l.conf.Roots)
	cs, err := s.client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if ctx.Err() != nil && l.life.Err() == nil {
			err = fmt.Errorf("no response within %s%s", humanize.Wait(bound), oddly)
		}
		if s.http != nil {
			err = l.webError(s.http, err)
		}
		return nil, s.startError(withFate(plainly(err), s.abandon()))
	}
	if s.proc != nil {
		s.proc.Answered()
	}
	s.cs = cs
	go func() {
		cs.Wait()
		close(s.dead)
	}()
	if l.isOurs(cs) {
		s.close()
		return nil, ErrItself
	}
	return s, nil
}

// startError adds the end of the server's stderr to the error of a start.
func (s *session) startError(err error) error {
	if s.proc == nil {
		return err
	}
	return &failedStart{err, s.proc.Tail()}
}

// failedStart is the error of a start, with the end of the server's stderr.
type failedStart struct {
	cause  error
	stderr string // see stdio.Process.Tail
}

func (e *failedStart) Error() string { return e.cause.Error() + e.stderr }

func (e *failedStart) Unwrap() error { return e.cause }

// oddly describes a server that printed output but no message: it may use another format.
func (s *session) oddly() string {
	if s.proc == nil {
		return ""
	}
	first := s.proc.Stray()
	if first == "" {
		return ""
	}
	return fmt.Sprintf("; it printed %q, which is not a message (MCP expects one JSON object per line)", first)
}

// plainly removes the SDK's internal details from an error, if there is a better explanation.
func plainly(err error) error {
	var login *loginNeeded
	var unread *stdio.NotReadingError
	var unreached *url.Error
	switch {
	case errors.As(err, &login):
		return login
	case errors.As(err, &unread):
		return unread
	case errors.As(err, &unreached):
		return fmt.Errorf("can't connect to %s: %w", unreached.URL, unreached.Err)
	}
	return err
}

// withFate adds how the server ended, if it has.
func withFate(err error, fate string) error {
	switch {
	case fate == "":
		return err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, mcp.ErrConnectionClosed):
		return errors.New(fate) // the connection ended because the server did
	}
	return fmt.Errorf("%s: %w", fate, err)
}

// abandon closes a connection that failed, and returns how the command ended, if it has.
func (s *session) abandon() string {
	defer s.stop()
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
	if s.proc == nil {
		return ""
	}
	defer s.proc.Close()
	if s.link.life.Err() != nil {
		return "" // it was stopped on purpose, so there is nothing to report
	}
	return s.proc.Fate()
}

// transport returns the transport to the server.
func (l *link) transport(s *session) (mcp.Transport, error) {
	switch l.kind {
	case launched:
		p, err := stdio.Start(stdio.Command{
			Path: l.conf.Command, Args: l.conf.Args, Dir: cmp.Or(l.conf.Cwd, l.opt.Dir),
			Env:      serverEnv(l.opt.environ(), l.conf.Env),
			Launcher: l.conf.launcher() != "", Install: l.opt.install(), Urgent: l.opt.Hurry,
		}, l.log)
		if err != nil {
			return nil, err
		}
		s.proc = p
		l.set.processes.Go(func() { <-p.Gone() })
		return formTransport{p}, nil
	case dialed:
		return formTransport{messageTransport{l.conf.Dial()}}, nil
	case streamable:
		s.http = httpClient(l.conf.Headers, nil)
		t := &mcp.StreamableClientTransport{
			Endpoint: l.conf.endpoint(), HTTPClient: s.http, MaxEventSize: stdio.MaxMessage,
		}
		if a := l.authority(); a != nil {
			t.OAuthHandler = a
		}
		return t, nil
	}
	s.http = httpClient(l.conf.Headers, l.authority())
	return &mcp.SSEClientTransport{Endpoint: l.conf.endpoint(), HTTPClient: s.http, MaxEventSize: stdio.MaxMessage}, nil
}

// options returns the client's capabilities.
func (s *session) options() *mcp.ClientOptions {
	l := s.link
	caps := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
		Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
	}}
	o := &mcp.ClientOptions{
		Capabilities:                caps,
		ElicitationHandler:          s.elicit,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.changed() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { l.changed() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { l.changed() },
		ProgressNotificationHandler: s.progress,
	}
	s.offerRootsAndLogging(o)
	if l.opt.Sample != nil {
		s.offerSampling(o)
	}
	return o
}

// call calls a tool. left reports whether the request may have reached the server.
func (s *session) call(ctx context.Context, live *tool.Live, name string, args any) (res *mcp.CallToolResult,
	notes []string, left bool, err error) {
	ctx, limit := withDeadline(ctx, s.link.conf.timeout(s.link.opt.call()))
	defer limit.end()
	run := s.begin(&running{ctx: ctx, live: live, limit: limit})
	defer s.over(run)
	// The transport acquires its connection right before it sends, so nothing was sent before that. Our own transports
	// report it through the same hook as HTTP.
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	params := &mcp.CallToolParams{Name: name, Arguments: args, Meta: mcp.Meta{}}
	params.SetProgressToken(run.token)
	if trace := s.link.opt.Traceparent; trace != nil && live != nil {
		if parent := trace(live.Call); parent != "" {
			params.Meta["traceparent"] = parent
		}
	}
	res, err = s.cs.CallTool(traced, params)
	if err != nil && context.Cause(ctx) == errIdle {
		err = errIdle
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return res, run.notes, sent.Load(), err
}

func (s *session) begin(r *running) *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	r.token = "call-" + strconv.Itoa(s.count)
	s.calls = append(s.calls, r)
	return r
}

func (s *session) over(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(one *running) bool { return one == r })
}

// latest returns the call that a request of the server probably belongs to: the protocol doesn't say.
func (s *session) latest() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil
	}
	return s.calls[len(s.calls)-1]
}

// progress shows the progress of a call and extends its deadline.
func (s *session) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	s.mu.Lock()
	i := slices.IndexFunc(s.calls, func(one *running) bool { return one.token == token })
	var run *running
	if i >= 0 {
		run = s.calls[i]
	}
	s.mu.Unlock()
	if run == nil {
		return // the call has ended
	}
	run.limit.extend()
	if run.live != nil && run.live.Show != nil {
		run.live.Show(Progress{r.Params.Progress, r.Params.Total, r.Params.Message})
	}
}

// close closes the connection, and stops the server if Adze started it. It doesn't wait.
func (s *session) close() {
	s.stop()
	if s.proc != nil {
		s.proc.Close()
	}
	go func() {
		s.cs.Close()
		if s.http != nil {
			s.http.CloseIdleConnections()
		}
	}()
}

// gone waits until the connection is closed, with a limit.
func (s *session) gone(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-s.dead:
	case <-late.C:
		return
	}
	if s.proc != nil {
		select {
		case <-s.proc.Exit():
		case <-late.C:
		}
	}
}

// alive reports whether the connection is open.
func (s *session) alive() bool {
	select {
	case <-s.dead:
		return false
	default:
		return true
	}
}

// fate describes how the server ended, if it has, with its last output.
func (s *session) fate() string {
	if s.proc == nil {
		return ""
	}
	fate := s.proc.Fate()
	select {
	case <-s.proc.Exit():
		if fate != "" {
			fate += s.proc.Reason()
		}
	default:
	}
	return fate
}

// errIdle is the cause when a call ends because of inactivity.
var errIdle = errors.New("no response and no progress")

// deadline cancels a context after a time without activity. Progress restarts the time, and a question to the user
// pauses it.
type deadline struct {
	allowed time.Duration
	cancel  context.CancelCauseFunc
	mu      sync.Mutex
	timer   *time.Timer
	paused  int
}

// withDeadline starts the timer.
func withDeadline(ctx context.Context, allowed time.Duration) (context.Context, *deadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &deadline{allowed: allowed, cancel: cancel}
	d.timer = time.AfterFunc(allowed, func() { cancel(errIdle) })
	return ctx, d
}

// extend restarts the timer.
func (d *deadline) extend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused == 0 {
		d.timer.Reset(d.allowed)
	}
}

// pause stops the timer until the returned function is called.
func (d *deadline) pause() (resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++
	d.timer.Stop()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.paused--; d.paused == 0 {
			d.timer.Reset(d.allowed)
		}
	}
}

// end ends the context.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++ // no timer starts after this
	d.timer.Stop()
	d.cancel(nil)
}
