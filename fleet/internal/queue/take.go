package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/fleet/internal/task"
)

// Item is a task that this worker has until it is silent for the lease.
type Item struct {
	Run  string
	Task task.Task

	q    *Queue
	msg  jetstream.Msg
	beat atomic.Int64 // when the last confirmed heartbeat was sent, in ns since began
}

// began is the reference time of heartbeats: the monotonic clock continues while a process is stopped.
var began = time.Now()

// Take waits for a task for up to wait. It returns nil if none came.
func (q *Queue) Take(ctx context.Context, wait time.Duration) (*Item, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(q.link.current(), cancel)()
	sent := time.Since(began)
	b, err := q.workers.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, err
	}
	if m, ok := <-b.Messages(); ok {
		var t queued
		if err := json.Unmarshal(m.Data(), &t); err != nil || t.Format != Format {
			_ = m.NakWithDelay(q.Lease) // for a worker that supports it
			return nil, fmt.Errorf("%s: %w", m.Subject(), &FormatError{t.Format})
		}
		i := &Item{Run: t.Run, Task: t.Task, q: q, msg: m}
		i.beat.Store(int64(sent))
		return i, nil
	}
	if err := b.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && ctx.Err() == nil {
		return nil, err
	}
	return nil, nil
}

// Token returns the name of the task in subjects.
func (i *Item) Token() string { return task.Token(i.Task.ID) }

// Beat sends a heartbeat to the server, and waits for its confirmation.
func (i *Item) Beat(ctx context.Context) error {
	ctx, cancel := i.q.request(ctx)
	defer cancel()
	sent := time.Since(began)
	if _, err := i.q.nc.RequestWithContext(ctx, i.msg.Reply(), []byte("+WPI")); err != nil {
		return err
	}
	i.beat.Store(int64(sent))
	return nil
}

// Fresh reports whether the server still counts the worker as alive.
func (i *Item) Fresh() bool { return time.Since(began)-time.Duration(i.beat.Load()) < i.q.Lease*2/3 }

// Done removes the task from the queue. If the acknowledgment is lost, another worker checks the journal.
func (i *Item) Done(ctx context.Context) error {
	ctx, cancel := i.q.request(ctx)
	defer cancel()
	return i.msg.DoubleAck(ctx)
}

// Return gives the task back to the queue, for any worker, after a delay.
func (i *Item) Return(delay time.Duration) error {
	var err error
	if delay > 0 {
		err = i.msg.NakWithDelay(delay)
	} else {
		err = i.msg.Nak()
	}
	return errors.Join(err, i.q.nc.FlushTimeout(requestTime))
}

// PutFile stores a file.
func (q *Queue) PutFile(ctx context.Context, name string, content []byte) error {
	err := q.patiently(ctx, fileTime+time.Duration(len(content)/slowest)*time.Second, func(ctx context.Context) error {
		_, err := q.files.PutBytes(ctx, name, content)
		return err
	})
	if err != nil {
		return fmt.Errorf("store %s: %w%s", name, err, hint(err))
	}
	return nil
}

// fileTime bounds the transfer of a file, and slowest is the minimum rate in bytes per second.
const (
	fileTime = 2 * requestTime
	slowest  = 1 << 20
)

// File returns a stored file; fs.ErrNotExist if it isn't there.
func (q *Queue) File(ctx context.Context, name string) ([]byte, error) {
	var b []byte
	err := q.patiently(ctx, patience, func(ctx context.Context) (err error) {
		b, err = q.files.GetBytes(ctx, name)
		return err
	})
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return b, err
}

// Add adds to a counter and returns its value. It waits for a server that can't be reached. The server recognizes a repeated
// request, unless another worker added in between and the server was killed: then it may count twice.
func (q *Queue) Add(ctx context.Context, name string, n int64) (int64, error) {
	m := nats.NewMsg("count." + name)
	m.Header.Set("Nats-Incr", fmt.Sprintf("%+d", n))
	m.Header.Set(jetstream.MsgIDHeader, random.Text())
	for {
		ack, err := q.add(ctx, m)
		switch {
		case err == nil && !ack.Duplicate:
			return strconv.ParseInt(ack.Value, 10, 64)
		case err == nil: // it was counted, and the answer was lost
			m.Header.Set("Nats-Incr", "+0")
			m.Header.Set(jetstream.MsgIDHeader, random.Text())
			continue
		case !transient(err):
			return 0, err
		case !pause(ctx, retryTime):
			return 0, errors.Join(ctx.Err(), err)
		}
	}
}

func (q *Queue) add(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	ctx, cancel := q.request(ctx)
	defer cancel()
	return q.js.PublishMsg(ctx, m)
}

// Hold makes all workers wait with requests of a key until a time.
func (q *Queue) Hold(ctx context.Context, key string, until time.Time) error {
	_, err := q.holds.PutString(ctx, key, strconv.FormatInt(until.UnixMilli(), 10))
	return err
}

// Held returns until when requests of a key must wait; the zero time: they needn't.
func (q *Queue) Held(ctx context.Context, key string) (time.Time, error) {
	ctx, cancel := q.request(ctx)
	defer cancel()
	e, err := q.holds.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	ms, err := strconv.ParseInt(string(e.Value()), 10, 64)
	return time.UnixMilli(ms), err
}

// Empty reports whether no task waits and no worker has one.
func (q *Queue) Empty(ctx context.Context) (bool, error) {
	info, err := q.tasks.Info(ctx)
	return err == nil && info.State.Msgs == 0, err
}
