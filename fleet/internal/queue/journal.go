package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/journal"
)

// Types of entries beside those of package journal.
const (
	TypeOwner journal.Type = "owner" // a worker took the task
	TypeDone  journal.Type = "done"  // the result
	TypeAgain journal.Type = "again" // the task starts again; entries before it don't count
)

// ErrLost is returned to a worker that lost its task.
var ErrLost = errors.New("the task belongs to another worker now")

// Headers of a message.
const (
	nonceHeader    = "Adze-Nonce"
	snapshotHeader = "Adze-Snapshot"
	ownerHeader    = "Adze-Owner" // random name of the log that appended
)

// Error codes of JetStream.
const (
	wrongLastSequence = 10071
	busySubject       = 10164 // another message for the subject is being written
	noLeader          = 10008 // of a cluster that is starting, or lost a node
	noPeers           = 10005
	noResources       = 10023 // the storage is full
	notReady          = 10009 // of a stream
	noStorage         = 10047
	maxBytes          = 10077 // the code of other limits of a stream too
)

// Owner is the data of an owner entry.
type Owner struct {
	Worker  string `json:"worker"`
	Version string `json:"version"`
}

// Log is a task's journal. Each append expects the sequence number of the last message, so it fails if another worker has
// appended. It is for one goroutine.
type Log struct {
	Entries  []journal.Entry // entries that existed when it was opened
	Snapshot string          // file with the changes so far; ""
	After    int64           // Seq of the entry that the snapshot belongs to
	Seq      int64           // of the last entry

	q       *Queue
	subject string
	owner   string // random
	at      uint64
}

func subject(run, token string) string { return "journal." + run + "." + token }

// OpenLog reads a task's journal. It waits for a server that can't be reached.
func (q *Queue) OpenLog(ctx context.Context, run, token string) (*Log, error) {
	for {
		l := &Log{q: q, subject: subject(run, token), owner: random.Text()}
		err := l.read(ctx)
		if err == nil || ctx.Err() != nil {
			return l, errors.Join(err, ctx.Err())
		}
		if !pause(ctx, retryTime) {
			return nil, ctx.Err()
		}
	}
}

// retryTime is the pause before a request is retried.
const retryTime = 100 * time.Millisecond

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// read reads all entries, one request each: a server allows few consumers.
func (l *Log) read(ctx context.Context) error {
	last, err := l.q.last(ctx, l.subject)
	if err != nil || last == nil {
		return err
	}
	for next := uint64(1); next <= last.Sequence; {
		c, cancel := l.q.request(ctx)
		m, err := l.q.journal.GetMsg(c, next, jetstream.WithGetMsgSubject(l.subject))
		cancel()
		if err != nil {
			return err
		}
		var e journal.Entry
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return fmt.Errorf("message %d of %s: %w", m.Sequence, l.subject, err)
		}
		if e.Type == TypeAgain {
			l.Entries, l.Snapshot, l.After = nil, "", 0
		}
		l.Entries, l.Seq, l.at, next = append(l.Entries, e), e.Seq, m.Sequence, m.Sequence+1
		if s := m.Header.Get(snapshotHeader); s != "" {
			l.Snapshot, l.After = s, e.Seq
		}
	}
	return nil
}

// last returns the last message of a subject, from the leader of the stream, or nil.
func (q *Queue) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := q.request(ctx)
	defer cancel()
	m, err := q.journal.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// Write appends an entry of this package.
func (l *Log) Write(ctx context.Context, kind journal.Type, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	seq := l.Seq + 1
	if kind == TypeAgain {
		seq = 1
	}
	return l.Append(ctx, journal.Entry{V: journal.Version, Seq: seq, At: l.q.Now().UTC().Round(0), Type: kind, Data: raw}, "")
}

// Append appends an entry, at most once, and returns when it is on disk. It returns ErrLost if another worker has appended,
// and waits for a server that can't be reached. snapshot names a file; "": none.
func (l *Log) Append(ctx context.Context, e journal.Entry, snapshot string) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	m := nats.NewMsg(l.subject)
	m.Data = raw
	nonce := random.Text()
	m.Header.Set(nonceHeader, nonce)
	m.Header.Set(ownerHeader, l.owner)
	if snapshot != "" {
		m.Header.Set(snapshotHeader, snapshot)
	}
	ctx, end := l.q.whileRunning(ctx)
	defer end()
	for began, told := time.Now(), false; ; {
		at, err := l.publish(ctx, m, nonce)
		switch {
		case err == nil:
			l.at, l.Seq = at, e.Seq
			return nil
		case errors.Is(err, ErrLost):
			return err
		case !told && ctx.Err() == nil && (!transient(err) || l.q.Connected() && time.Since(began) > requestTime):
			told = true
			l.q.refused(err)
		}
		if !pause(ctx, retryTime/2) {
			return ctx.Err()
		}
	}
}

// refused reports that the server doesn't store entries. One whose disk is full doesn't answer, also after there is room again,
// until it is started again.
func (q *Queue) refused(err error) {
	why := err.Error()
	switch {
	case q.problem != nil && q.problem() != "":
		why = q.problem()
		q.dead.Store(&why)
	case transient(err):
		why = fmt.Sprintf("it doesn't confirm them (%v). Is the disk of the server full?", err)
	}
	q.tell("the queue accepts no entries; tasks wait: " + why)
}

// Dead returns why an embedded server accepts no entries until it is started again; "": it does.
func (q *Queue) Dead() string {
	if why := q.dead.Load(); why != nil {
		return *why
	}
	return ""
}

// publish sends a message once. Without an acknowledgment, it checks whether the message is the last one: it can't be stored
// twice, because both copies expect the same message before them.
func (l *Log) publish(ctx context.Context, m *nats.Msg, nonce string) (uint64, error) {
	c, cancel := l.q.request(ctx)
	defer cancel()
	ack, err := l.q.js.PublishMsg(c, m, jetstream.WithExpectLastSequencePerSubject(l.at), jetstream.WithRetryAttempts(0))
	if err == nil {
		return ack.Sequence, nil
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return 0, fmt.Errorf("an entry is larger than the server accepts: %w: %w", err, ErrLost)
	}
	last, lookup := l.q.last(ctx, l.subject)
	switch {
	case lookup != nil:
		return 0, lookup
	case last != nil && last.Header.Get(nonceHeader) == nonce:
		return last.Sequence, nil
	case last != nil && last.Sequence != l.at, last == nil && l.at != 0:
		return 0, ErrLost
	}
	return 0, err // not stored: 10164, or the server couldn't be reached
}

// Owns returns ErrLost if another worker has taken the task since. It may be called while entries are appended, and waits for a
// server that can't be reached.
func (l *Log) Owns(ctx context.Context) error {
	ctx, end := l.q.whileRunning(ctx)
	defer end()
	for {
		last, err := l.q.last(ctx, l.subject)
		switch {
		case err == nil && (last == nil || last.Header.Get(ownerHeader) != l.owner):
			return ErrLost
		case err == nil:
			return nil
		case !pause(ctx, retryTime):
			return ctx.Err()
		}
	}
}

// Last returns the last entry of a task's journal, or nil.
func (q *Queue) Last(ctx context.Context, run, token string) (*journal.Entry, error) {
	var m *jetstream.RawStreamMsg
	err := q.patiently(ctx, requestTime, func(ctx context.Context) (err error) {
		m, err = q.last(ctx, subject(run, token))
		return err
	})
	if err != nil || m == nil {
		return nil, err
	}
	var e journal.Entry
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return nil, err
	}
	return &e, nil
}

// code returns the JetStream error code; 0: another error.
func code(err error) int {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return int(api.ErrorCode)
	}
	return 0
}
