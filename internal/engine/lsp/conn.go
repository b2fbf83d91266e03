package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// The limits of a conversation. A server that exceeds one is stopped.
const (
	maxBody   = 64 << 20
	maxHeader = 4 << 10
	maxUnread = 1000 // messages that the server hasn't read yet
)

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is an error that a server answers with, or gets.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// The codes of failures.
const (
	methodNotFound  = -32601
	contentModified = -32801
	serverCancelled = -32802
)

// conn exchanges messages with a server until its context ends. A server that breaks the protocol ends it.
type conn struct {
	ctx   context.Context // its cause is why it ended
	end   context.CancelCauseFunc
	heard func(method string, params json.RawMessage) (answer any, known bool) // what the server asks or reports
	out   chan []byte

	mu      sync.Mutex
	last    int
	waiting map[string]chan message
}

// talk starts to exchange messages.
func talk(ctx context.Context, server io.ReadWriter, heard func(string, json.RawMessage) (any, bool)) *conn {
	c := &conn{heard: heard, out: make(chan []byte, maxUnread), waiting: map[string]chan message{}}
	c.ctx, c.end = context.WithCancelCause(ctx)
	go c.read(bufio.NewReaderSize(server, maxHeader))
	go c.write(server)
	return c
}

var errEnded = errors.New("it exited")

func (c *conn) read(r *bufio.Reader) {
	for {
		body, err := readBody(r)
		if errors.Is(err, io.EOF) {
			err = errEnded
		}
		var m message
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			c.end(err)
			return
		}
		c.receive(m)
	}
}

// readBody reads one message.
func readBody(r *bufio.Reader) ([]byte, error) {
	size, left := -1, maxHeader
	for {
		line, err := r.ReadSlice('\n')
		if left -= len(line); left < 0 || errors.Is(err, bufio.ErrBufferFull) {
			return nil, errors.New("it printed text that isn't a message, or a header that is too long")
		}
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(string(line))
		if text == "" && size >= 0 {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("it printed text that isn't a message: %.60q", text)
		}
		if strings.EqualFold(name, "Content-Length") {
			value = strings.TrimSpace(value)
			if size, err = strconv.Atoi(value); err != nil || size < 0 || size > maxBody {
				return nil, fmt.Errorf("it announced a message of %.20s bytes, and the limit is %d", value, maxBody)
			}
		}
	}
	var body bytes.Buffer // grows with what comes: a size alone takes no memory
	_, err := io.CopyN(&body, r, int64(size))
	return body.Bytes(), err
}

func (c *conn) receive(m message) {
	if m.Method == "" {
		c.mu.Lock()
		answer := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if answer != nil {
			answer <- m
		}
		return
	}
	answer, known := c.heard(m.Method, m.Params)
	switch {
	case m.ID == nil:
	case known:
		c.send(message{ID: m.ID, Result: raw(answer)})
	default:
		c.send(message{ID: m.ID, Error: &failure{methodNotFound, "this client doesn't do that"}})
	}
}

// raw returns the JSON of a value that has one.
func raw(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}

func (c *conn) send(m message) {
	m.Version = "2.0"
	body := raw(m)
	select {
	case c.out <- fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body):
	default:
		c.end(errors.New("it doesn't read what it is sent"))
	}
}

func (c *conn) write(to io.Writer) {
	for {
		select {
		case text := <-c.out:
			if _, err := to.Write(text); err != nil {
				c.end(errEnded)
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *conn) notify(method string, params any) {
	c.send(message{Method: method, Params: raw(params)})
}

// call sends a request and waits for the answer. If the context ends, the server learns that.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.Itoa(c.last)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.send(message{ID: json.RawMessage(id), Method: method, Params: raw(params)})
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if json.Unmarshal(m.Result, result) != nil {
			return &failure{Message: "its answer has another form than the protocol says"}
		}
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		c.notify("$/cancelRequest", map[string]any{"id": json.RawMessage(id)})
		return context.Cause(ctx)
	}
}
