package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errGone ends pending requests when the connection is lost: no answer will come.
var errGone = errors.New("the connection to the queue was lost")

// link is the connection between two interruptions.
type link struct {
	mu   sync.Mutex
	ctx  context.Context
	lose context.CancelCauseFunc
}

func newLink() *link {
	l := &link{}
	l.renew()
	return l
}

func (l *link) renew() {
	l.ctx, l.lose = context.WithCancelCause(context.Background())
}

// lost ends the pending requests.
func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(errGone)
	l.renew()
}

func (l *link) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// request returns a context for one request: it ends after requestTime, and when the connection is lost.
func (q *Queue) request(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	stop := context.AfterFunc(q.link.current(), cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// transientErrors are errors of requests that the server may not have received or answered.
var transientErrors = []error{
	nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
	jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout, context.DeadlineExceeded, context.Canceled,
}

// transient reports whether a request may succeed later: the server didn't answer, or it has no leader yet.
func transient(err error) bool {
	if c := code(err); c != 0 {
		return c == busySubject || starting(err)
	}
	return slices.ContainsFunc(transientErrors, func(e error) bool { return errors.Is(err, e) })
}

// patience is how long a command waits for a server that is starting, or that lost a node.
const patience = 5 * time.Minute

// patiently runs an idempotent request, and retries it while the server can't be reached. An attempt takes at most limit,
// and ends when the connection is lost.
func (q *Queue) patiently(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, end := q.whileRunning(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		began := time.Now()
		err := q.once(ctx, limit, do)
		if d := q.denied.Load(); err != nil && transient(err) && d != nil && d.at.After(began) {
			return fmt.Errorf("the credentials don't allow this: %w\nUse others with --creds.", d.err)
		}
		if err == nil || !transient(err) || !pause(ctx, retryTime) {
			return err
		}
	}
}

// stopTime is how long a process that was stopped waits for a request.
const stopTime = 2 * time.Second

// Until limits how long requests of running tasks wait: they give up soon after stop has ended. It must be called before tasks
// are taken.
func (q *Queue) Until(stop context.Context) { q.stop = stop }

// whileRunning returns a context that ends some time after the process was stopped.
func (q *Queue) whileRunning(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if q.stop == nil {
		return ctx, cancel
	}
	ignore := context.AfterFunc(q.stop, func() {
		if pause(ctx, stopTime) {
			cancel()
		}
	})
	return ctx, func() {
		ignore()
		cancel()
	}
}

// denial is a request that the credentials don't allow. The server reports it separately, and the request gets no answer.
type denial struct {
	err error
	at  time.Time
}

func (q *Queue) once(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(q.link.current(), cancel)()
	return do(ctx)
}
