package headless

import (
	"context"
	"sync"

	"github.com/adze-dev/adze/model"
)

// prompt is a message of the user that waits for its answer, or is being answered.
type prompt struct {
	parts  []model.Part
	err    error             // why it can't be answered
	after  []<-chan struct{} // earlier requests that must be done first
	ctx    context.Context   // of the answer: a prompt is an operation
	cancel context.CancelCauseFunc

	continues bool // it has no parts: the model continues its last turn
}

func newPrompt(ctx context.Context, parts []model.Part, after []<-chan struct{}) *prompt {
	p := &prompt{parts: parts, after: after}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	return p
}

// text returns the first part, if it is a text.
func (p *prompt) text() (string, bool) {
	if len(p.parts) == 0 {
		return "", false
	}
	text, ok := p.parts[0].(model.Text)
	return string(text), ok
}

// queue is the list of unanswered prompts, in order. The first one may be in progress.
type queue struct {
	mu      sync.Mutex
	prompts []*prompt
	closed  bool
	wake    chan struct{} // holds a token after a change
}

func (q *queue) change(what func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	what()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) add(p *prompt) { q.change(func() { q.prompts = append(q.prompts, p) }) }

// close means that no more prompts follow.
func (q *queue) close() { q.change(func() { q.closed = true }) }

// next waits for the first prompt. It returns false if no prompt can follow, or ctx has ended.
func (q *queue) next(ctx context.Context) (*prompt, bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		prompts, closed := q.prompts, q.closed
		q.mu.Unlock()
		if len(prompts) > 0 {
			return prompts[0], true
		}
		if closed {
			return nil, false
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return nil, false
}

// done removes the first prompt.
func (q *queue) done(p *prompt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.prompts) > 0 && q.prompts[0] == p {
		q.prompts = q.prompts[1:]
	}
}

// busy reports whether there is a prompt.
func (q *queue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.prompts) > 0
}

// interrupt stops the first prompt, which is being answered or about to be.
func (q *queue) interrupt() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.prompts) > 0 {
		q.prompts[0].cancel(ErrInterrupted)
	}
}
