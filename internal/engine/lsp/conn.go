package lsp

import (
	"bufio"
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
	maxBody    = 64 << 20
	maxHeader  = 4 << 10
	maxWaiting = 64 << 20 // bytes that the server hasn't read yet
)

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *ResponseError  `json:"error,omitempty"`
}

// ResponseError is an error that a server answered with.
type ResponseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ResponseError) Error() string { return e.Message }

// The codes of errors.
const (
	methodNotFound  = -32601
	contentModified = -32801
	serverCancelled = -32802
)

// conn exchanges messages with a server. A server that breaks the protocol ends it.
type conn struct {
	notified func(method string, params json.RawMessage)
	asked    func(method string, params json.RawMessage) (any, *ResponseError)
	done     chan struct{} // closed at the end

	mu      sync.Mutex
	next    int64
	waiting map[string]chan message
	why     error // of the end
	queue   [][]byte
	queued  int
	more    chan struct{} // has a token if there is something in the queue
}

// talk starts to exchange messages. It ends when from ends, or with close.
func talk(from io.Reader, to io.Writer, notified func(string, json.RawMessage),
	asked func(string, json.RawMessage) (any, *ResponseError)) *conn {
	c := &conn{
		notified: notified, asked: asked, done: make(chan struct{}), waiting: map[string]chan message{},
		more: make(chan struct{}, 1),
	}
	go c.read(from)
	go c.write(to)
	return c
}

// close ends the conversation. The first reason counts.
func (c *conn) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		close(c.done)
	}
}

func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

func (c *conn) read(from io.Reader) {
	r := bufio.NewReaderSize(from, maxHeader)
	for {
		body, err := readBody(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEnded
		}
		if err != nil {
			c.close(err)
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.close(fmt.Errorf("it sent an invalid message: %w", err))
			return
		}
		c.receive(m)
	}
}

var errEnded = errors.New("it exited")

// readBody reads one message.
func readBody(r *bufio.Reader) ([]byte, error) {
	size, total := -1, 0
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, errors.New("it printed text that isn't a message")
		}
		if err != nil {
			return nil, err
		}
		if total += len(line); total > maxHeader {
			return nil, errors.New("it sent a header that is too long")
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && size >= 0 {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("it printed text that isn't a message: %.60q", text)
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxBody {
				return nil, fmt.Errorf("it announced a message of %.20s bytes, and the limit is %d",
					strings.TrimSpace(value), maxBody)
			}
		}
	}
	body := make([]byte, min(size, 1<<20)) // a size alone takes no memory
	for at := 0; at < size; {
		if at == len(body) {
			body = append(body, make([]byte, min(len(body), size-at))...)
		}
		n, err := io.ReadFull(r, body[at:])
		if at += n; err != nil {
			return nil, err
		}
	}
	return body[:size], nil
}

func (c *conn) receive(m message) {
	switch {
	case m.Method == "":
		c.mu.Lock()
		answer := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	case m.ID == nil:
		c.notified(m.Method, m.Params)
	default:
		result, failed := c.asked(m.Method, m.Params)
		reply := message{ID: m.ID, Error: failed}
		if failed == nil {
			reply.Result, _ = json.Marshal(result)
		}
		c.send(reply)
	}
}

func (c *conn) send(m message) {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		c.close(fmt.Errorf("write a message: %w", err))
		return
	}
	text := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	c.mu.Lock()
	c.queue, c.queued = append(c.queue, text), c.queued+len(text)
	full := c.queued > maxWaiting
	c.mu.Unlock()
	if full {
		c.close(errors.New("it doesn't read what it is sent"))
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *conn) write(to io.Writer) {
	for {
		select {
		case <-c.more:
		case <-c.done:
			return
		}
		c.mu.Lock()
		texts := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, text := range texts {
			if _, err := to.Write(text); err != nil {
				c.close(errEnded)
				return
			}
			c.mu.Lock()
			c.queued -= len(text)
			c.mu.Unlock()
		}
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		c.close(fmt.Errorf("write %s: %w", method, err))
		return
	}
	c.send(message{Method: method, Params: raw})
}

// call sends a request and waits for the answer. If the context ends, the server learns that.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.send(message{ID: json.RawMessage(id), Method: method, Params: raw})
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if result == nil || len(m.Result) == 0 {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("read the answer to %s: %w", method, err)
		}
		return nil
	case <-c.done:
		return c.reason()
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		c.notify("$/cancelRequest", map[string]json.RawMessage{"id": json.RawMessage(id)})
		return ctx.Err()
	}
}
