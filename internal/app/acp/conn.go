package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// rpcVersion is the version of JSON-RPC.
const rpcVersion = "2.0"

// Codes of errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800
	codeAuthRequired   = -32000
	codeNotFound       = -32002
)

// rpcError is an error of the protocol.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func errorf(code int, format string, args ...any) error {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// conn writes messages, and matches responses to the requests of this side.
type conn struct {
	cancel context.CancelFunc // ends the connection

	writing sync.Mutex
	out     io.Writer
	failed  error

	mu     sync.Mutex
	last   int64
	open   map[string]chan message
	closed bool
}

func newConn(out io.Writer, cancel context.CancelFunc) *conn {
	return &conn{out: out, cancel: cancel, open: map[string]chan message{}}
}

func (c *conn) send(m any) { c.write(encode(m)) }

// encode returns a message as a line.
func encode(m any) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		b, _ = json.Marshal(map[string]any{
			"jsonrpc": rpcVersion, "method": "_adze/unsendable", "params": map[string]string{"error": err.Error()},
		})
	}
	return append(b, '\n')
}

// write writes whole lines. An error closes the connection.
func (c *conn) write(lines []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.failed != nil || len(lines) == 0 {
		return
	}
	if _, c.failed = c.out.Write(lines); c.failed != nil {
		c.cancel()
	}
}

// failure returns the error of the first failed write.
func (c *conn) failure() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.failed
}

type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (c *conn) notify(method string, params any) {
	c.send(outgoing{Version: rpcVersion, Method: method, Params: params})
}

func (c *conn) respond(id json.RawMessage, result any) {
	if result == nil {
		result = struct{}{}
	}
	c.send(outgoing{Version: rpcVersion, ID: id, Result: result})
}

// reject responds with an error.
func (c *conn) reject(id json.RawMessage, err error) {
	if len(id) == 0 || !json.Valid(id) {
		id = json.RawMessage("null")
	}
	e := &rpcError{}
	if !errors.As(err, &e) {
		e = &rpcError{Code: codeInternal, Message: err.Error()}
	}
	c.send(outgoing{Version: rpcVersion, ID: id, Error: e})
}

// errGone is the error of a request to an editor that has disconnected.
var errGone = errors.New("the editor has closed the connection")

// call sends a request and waits for the response; a nil result isn't read. If ctx ends first, it cancels the request.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	answered := make(chan message, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errGone
	}
	c.last++
	id := strconv.FormatInt(c.last, 10)
	c.open[id] = answered
	c.mu.Unlock()
	c.send(outgoing{Version: rpcVersion, ID: json.RawMessage(id), Method: method, Params: params})
	select {
	case m, ok := <-answered:
		switch {
		case !ok:
			return errGone
		case m.Error != nil:
			return m.Error
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("the editor's response to %s can't be read: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		_, open := c.open[id]
		delete(c.open, id)
		c.mu.Unlock()
		if open {
			c.notify("$/cancel_request", map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		}
		return context.Cause(ctx)
	}
}

// answered passes on a response. A response without a waiting request is ignored.
func (c *conn) answered(id string, m message) {
	c.mu.Lock()
	waiting := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if waiting != nil {
		waiting <- m
	}
}

// close fails all requests of this side, now and later.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, waiting := range c.open {
		delete(c.open, id)
		close(waiting)
	}
}

// maxLine is the maximum length of a message.
const maxLine = 16 << 20
