package api

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/model"
)

// patience ends a request whose server has gone silent. Its clock runs until the first byte, and from then on only
// while a read waits: the reader of the events may take a while for one.
type patience struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	wait   atomic.Int64 // what the clock was set to, for the message
	heard  bool
	next   time.Duration
}

// newPatience gives a context that ends when nothing was heard for the first while until the first byte, or for the
// next between two.
func newPatience(ctx context.Context, first, next time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, next: next}
	p.wait.Store(int64(first))
	p.timer = time.AfterFunc(first, func() {
		cancel(model.Errorf(model.ErrTimeout, "the server sent nothing for %v", time.Duration(p.wait.Load())))
	})
	return ctx, p
}

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// body reads an answer under the eyes of patience.
type body struct {
	io.Reader
	ctx context.Context
	p   *patience
}

func (b body) Read(buf []byte) (int, error) {
	if b.p.heard {
		b.p.timer.Reset(b.p.next)
	}
	n, err := b.Reader.Read(buf)
	if n > 0 {
		b.p.heard = true
		b.p.wait.Store(int64(b.p.next))
		b.p.timer.Stop()
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}
