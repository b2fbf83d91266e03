package headless

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/adze-dev/adze/internal/app/record"
)

// errClosed is the error of a request to a program that can no longer answer.
var errClosed = errors.New("stdin is closed, so the program that drives this session can't answer")

// requests are Adze's requests to the program.
type requests struct {
	out *Printer

	mu     sync.Mutex
	open   map[string]func(reply)
	closed bool
}

// reply is the response to a request.
type reply struct {
	response json.RawMessage
	err      error
}

type controlRequest struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request any    `json:"request"`
}

// send sends a request. done is called once: with the response, or with errClosed. withdraw cancels the request; done
// isn't called after it.
func (r *requests) send(request any, done func(reply)) (withdraw func()) {
	id := record.NewID()
	r.mu.Lock()
	closed := r.closed
	if !closed {
		if r.open == nil {
			r.open = map[string]func(reply){}
		}
		r.open[id] = done
	}
	r.mu.Unlock()
	if closed {
		done(reply{err: errClosed})
		return func() {}
	}
	r.out.Send(controlRequest{"control_request", id, request})
	return func() {
		if r.take(id) != nil {
			r.out.Send(map[string]string{"type": "control_cancel_request", "request_id": id})
		}
	}
}

// call sends a request and waits for its response.
func (r *requests) call(ctx context.Context, request any) (json.RawMessage, error) {
	answered := make(chan reply, 1)
	withdraw := r.send(request, func(a reply) { answered <- a })
	select {
	case a := <-answered:
		return a.response, a.err
	case <-ctx.Done():
		withdraw()
		return nil, context.Cause(ctx)
	}
}

// take removes an open request and returns its callback; nil: it isn't open.
func (r *requests) take(id string) func(reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.open[id]
	delete(r.open, id)
	return done
}

// answered passes on a response, and reports whether its request is open.
func (r *requests) answered(id string, a reply) bool {
	done := r.take(id)
	if done != nil {
		done(a)
	}
	return done != nil
}

// close fails all requests, now and later.
func (r *requests) close() {
	r.mu.Lock()
	open := r.open
	r.open, r.closed = nil, true
	r.mu.Unlock()
	for _, done := range open {
		done(reply{err: errClosed})
	}
}
