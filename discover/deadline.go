package discover

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errIdle is the cause of the end of a call that showed no sign of life for too long.
var errIdle = errors.New("no response and no progress")

// deadline cancels a context after a time without activity. Progress restarts the time, and a question to the user pauses
// it.
type deadline struct {
	allowed time.Duration
	cancel  context.CancelCauseFunc
	mu      sync.Mutex
	timer   *time.Timer
	paused  int
}

// withDeadline begins the time.
func withDeadline(ctx context.Context, allowed time.Duration) (context.Context, *deadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &deadline{allowed: allowed, cancel: cancel}
	d.timer = time.AfterFunc(allowed, func() { cancel(errIdle) })
	return ctx, d
}

// extend begins the time again.
func (d *deadline) extend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused == 0 {
		d.timer.Reset(d.allowed)
	}
}

// pause stops the time until the returned function is called.
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
	d.paused++ // no timer after this
	d.timer.Stop()
	d.cancel(nil)
}
