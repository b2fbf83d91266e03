// Package acp serves sessions to an editor, by the Agent Client Protocol (version 1): JSON-RPC 2.0, one message per
// line.
//
//	err := acp.Serve(ctx, acp.Options{In: os.Stdin, Out: os.Stdout, Open: open})
//
// The editor shows the conversation and asks the user. Files are read on disk, and commands run in Adze's own sandbox:
// the editor's files and terminals would lose bytes, hashes and the sandbox. Before an edit, Adze asks the editor
// whether the file has unsaved changes. Then the editor writes it, and Adze restores the bytes that the editor didn't
// keep.
package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/engine/lines"
)

// protocolVersion is the only version, whatever the client requests.
const protocolVersion = 1

// Options configure Serve.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Version string
	// Open opens a session.
	Open func(Start) (*session.Session, error)
	// Directory returns a directory without a session.
	Directory func(dir string) (project.Directory, error)
	// Limits apply to every conversation.
	Limits session.Limits
	// Doctor explains why there is no model, and how to set one.
	Doctor func(ctx context.Context, dir string) string
}

// Start has the parameters of a new session.
type Start struct {
	Dir     string
	AddDirs []string
	Record  *recording.Options
	Tell    func(note string)
	// Write writes a file in the editor; nil: the editor doesn't offer it.
	Write func(ctx context.Context, path, text string) error
}

// server is the connection to one editor.
type server struct {
	o    Options
	conn *conn
	ctx  context.Context // of the connection
	work sync.WaitGroup  // requests that are being handled

	mu       sync.Mutex
	client   clientCapabilities
	begun    bool                          // initialize was answered
	sessions map[string]*opening           // by ID
	handling map[string]context.CancelFunc // requests of the client, by their IDs
	models   []string                      // listed by servers so far
}

// opening is a session that is open, or being opened.
type opening struct {
	ready chan struct{} // closed when talk or err is set
	talk  *talk
	err   error
}

// Serve answers requests until the editor disconnects or ctx ends. Then it stops everything that it has started.
func Serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{o: o, ctx: ctx, sessions: map[string]*opening{}, handling: map[string]context.CancelFunc{}}
	s.conn = newConn(o.Out, cancel)
	ended := make(chan error, 1)
	go func() { ended <- s.read(o.In) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	cancel()
	s.conn.close()
	s.work.Wait()
	s.closeAll()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, s.conn.failure())
}

// read handles messages in order. Slow requests are handled concurrently.
func (s *server) read(in io.Reader) error {
	messages := lines.New(in, maxLine)
	for {
		line, err := messages.Next()
		text := bytes.TrimSpace(line.Text)
		switch {
		case err != nil:
			return err
		case line.Long:
			s.conn.reject(line.Member("id"), errorf(codeInvalidRequest, "a message has more than %d MB\nSend large "+
				"files as links: resource_link with a file URI.", maxLine>>20))
		case len(text) > 0:
			s.handle(text)
		}
	}
}

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

func (s *server) handle(line []byte) {
	var m message
	if !json.Valid(line) {
		s.conn.reject(nil, errorf(codeParse, "a line is not JSON: expected one JSON-RPC message on each line"))
		return
	}
	if err := json.Unmarshal(line, &m); err != nil {
		s.conn.reject(nil, errorf(codeInvalidRequest, "expected a JSON-RPC request, notification or response: %s",
			discover.Misread(err)))
		return
	}
	switch {
	case m.Version != rpcVersion:
		s.conn.reject(m.ID, errorf(codeInvalidRequest, "jsonrpc: expected %q, got %q", rpcVersion, m.Version))
	case len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f'):
		s.conn.reject(nil, errorf(codeInvalidRequest, "id: expected a string or a number"))
	case m.Method == nil && len(m.ID) > 0:
		s.conn.answered(string(m.ID), m)
	case m.Method == nil:
		s.conn.reject(nil, errorf(codeInvalidRequest, "expected a JSON-RPC request, notification or response, got an "+
			"object without method and id"))
	case len(m.ID) == 0 || string(m.ID) == "null":
		s.notified(*m.Method, m.Params)
	default:
		s.requested(*m.Method, m.ID, m.Params)
	}
}

// requested answers a request. Its context ends with $/cancel_request.
func (s *server) requested(method string, id, params json.RawMessage) {
	h, ok := handlers[method]
	if !ok {
		s.conn.reject(id, errorf(codeNoMethod, "unknown method %q", method))
		return
	}
	s.mu.Lock()
	begun, used := s.begun, s.handling[string(id)] != nil
	s.mu.Unlock()
	switch {
	case used: // an error with this ID would end the first request for the editor
		s.conn.reject(nil, errorf(codeInvalidRequest, "request ID %s is in use", id))
		return
	case !begun && method != "initialize":
		s.conn.reject(id, errorf(codeInvalidRequest, "%s came before initialize\nSend initialize first.", method))
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.handling[string(id)] = cancel
	s.mu.Unlock()
	run, err := h(s, params)
	if err != nil {
		s.end(ctx, id, nil, nil, err)
		return
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		result, after, err := run(ctx)
		s.end(ctx, id, result, after, err)
	}()
}

// end responds to a request. after sends updates that must follow the response.
func (s *server) end(ctx context.Context, id json.RawMessage, result any, after func(), err error) {
	s.mu.Lock()
	cancel := s.handling[string(id)]
	delete(s.handling, string(id))
	s.mu.Unlock()
	switch {
	case err != nil && ctx.Err() != nil && s.ctx.Err() == nil:
		s.conn.reject(id, errorf(codeCancelled, "cancelled"))
	case err != nil:
		s.conn.reject(id, err)
	default:
		s.conn.respond(id, result)
	}
	if cancel != nil {
		cancel()
	}
	if after != nil && err == nil {
		after()
	}
}

func (s *server) notified(method string, params json.RawMessage) {
	switch method {
	case "session/cancel":
		var p sessionID
		if json.Unmarshal(params, &p) == nil {
			if t := s.current(p.SessionID); t != nil {
				t.interrupt()
			}
		}
	case "$/cancel_request":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(params, &p) == nil {
			s.mu.Lock()
			cancel := s.handling[string(p.RequestID)]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	}
}

// current returns the open session with an ID, or nil.
func (s *server) current(id string) *talk {
	s.mu.Lock()
	o := s.sessions[id]
	s.mu.Unlock()
	if o == nil {
		return nil
	}
	select {
	case <-o.ready:
		return o.talk
	default:
		return nil
	}
}

// closeAll ends all sessions.
func (s *server) closeAll() {
	s.mu.Lock()
	open := s.sessions
	s.sessions = map[string]*opening{}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, o := range open {
		all.Go(func() {
			<-o.ready
			if o.talk != nil {
				o.talk.close()
			}
		})
	}
	all.Wait()
}
