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

// mailbox is a list of prompts, or of messages, in order.
type mailbox[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	wake   chan struct{} // holds a token after a change
}

func newMailbox[T any]() mailbox[T] { return mailbox[T]{wake: make(chan struct{}, 1)} }

func (m *mailbox[T]) change(what func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// add adds an item, unless the mailbox is closed.
func (m *mailbox[T]) add(item T) {
	m.change(func() {
		if !m.closed {
			m.items = append(m.items, item)
		}
	})
}

// close means that no more items follow.
func (m *mailbox[T]) close() { m.change(func() { m.closed = true }) }

// next waits for the first item, and removes it with take. It returns false if no item can follow, or ctx has ended.
func (m *mailbox[T]) next(ctx context.Context, take bool) (item T, ok bool) {
	for ctx.Err() == nil {
		m.mu.Lock()
		closed := m.closed
		if ok = len(m.items) > 0; ok {
			item = m.items[0]
			if take {
				m.items = m.items[1:]
			}
		}
		m.mu.Unlock()
		if ok || closed {
			return item, ok
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
		}
	}
	return item, false
}

// queue has the unanswered prompts. The first one may be in progress.
type queue struct{ mailbox[*prompt] }

// done removes the first prompt.
func (q *queue) done(p *prompt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > 0 && q.items[0] == p {
		q.items = q.items[1:]
	}
}

// busy reports whether there is a prompt.
func (q *queue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) > 0
}

// interrupt stops the first prompt, which is being answered or about to be.
func (q *queue) interrupt() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > 0 {
		q.items[0].cancel(ErrInterrupted)
	}
}
