// Package queue stores the tasks, journals, counters and files of a fleet in NATS JetStream.
//
//	q, err := queue.Connect(ctx, queue.Options{URL: "tls://queue:4222", Creds: "worker.creds"})
//	…
//	defer q.Close()
//	item, err := q.Take(ctx)
//
// A task is a message until a worker has written its result to its journal. It runs no tasks.
package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names in JetStream. A server with several tenants has an account for each.
const (
	tasksStream    = "TASKS"
	journalStream  = "JOURNAL"
	countersStream = "COUNTERS"
	runsBucket     = "runs"
	holdsBucket    = "holds"
	filesBucket    = "files"
	consumerName   = "workers"
)

// Format is the version of all stored data. Workers and commands of another version don't touch it.
const Format = 1

// DefaultLease is how long a silent worker keeps a task.
const DefaultLease = 15 * time.Second

// Options configure a connection.
type Options struct {
	URL   string
	Creds string // file with credentials; "": none
	CA    string // file with certificates to trust in place of the system's; "": none
	Token string // "": none
	Name  string // of this connection
	// Monitors are URLs of the servers' monitoring ports, separated by commas; "": whether writes are synced isn't checked.
	Monitors string
	// Lease is how long a silent worker keeps a task; 0: the queue's setting, or DefaultLease.
	Lease time.Duration
	// Clock is the time on this machine; nil: time.Now.
	Clock func() time.Time
	// Tell gets a line when the connection is lost or restored, and when the server accepts no entries; may be nil.
	Tell func(string)
	// Problem returns the last error of an embedded server; nil: it isn't one.
	Problem func() string
}

// Queue is a connection to the server. It is safe for concurrent use.
type Queue struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	journal  jetstream.Stream
	tasks    jetstream.Stream
	workers  jetstream.Consumer
	runs     jetstream.KeyValue
	holds    jetstream.KeyValue
	files    jetstream.ObjectStore
	replicas int
	link     *link
	denied   atomic.Pointer[denial] // the last one
	problem  func() string          // the last error of an embedded server; nil if no server is embedded
	dead     atomic.Pointer[string] // see Dead
	stop     context.Context        // see Until; nil: never
	tell     func(string)

	Lease     time.Duration
	Unchecked []string // servers that may not sync every write

	nodes  map[string]bool // names of the servers that have data
	clock  func() time.Time
	offset time.Duration // the server's clock minus ours
}

// requestTime bounds a request to the server before it is checked or retried.
const requestTime = 5 * time.Second

// Connect connects to a server, checks that it is suitable, and creates what is missing.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	if plain(o.URL) {
		return nil, fmt.Errorf("connect to %s: no plain TCP to other machines\nUse tls://HOST:PORT.", o.URL)
	}
	opts := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.Timeout(10 * time.Second), nats.PingInterval(10 * time.Second), nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(), // a server that restarts may not know its users yet
	}
	if !encrypted(o.URL) {
		opts = append(opts, nats.IgnoreDiscoveredServers()) // they may be on other machines
	}
	tell := o.Tell
	if tell == nil {
		tell = func(string) {}
	}
	q := &Queue{Lease: o.Lease, link: newLink(), tell: tell, problem: o.Problem, nodes: map[string]bool{}, clock: o.Clock}
	if q.clock == nil {
		q.clock = time.Now
	}
	opts = append(opts,
		nats.DisconnectErrHandler(func(nc *nats.Conn, _ error) {
			q.link.lost()
			if !nc.IsClosed() {
				tell(fmt.Sprintf("the queue at %s can't be reached; tasks wait for it", o.URL))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				q.denied.Store(&denial{err, time.Now()})
				q.link.lost() // the denied request gets no answer
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { tell(fmt.Sprintf("the queue at %s is back", o.URL)) }))
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w%s", o.URL, err, hint(err))
	}
	q.nc = nc
	if err := q.open(ctx, o); err != nil {
		nc.Close()
		return nil, fmt.Errorf("use the queue at %s: %w", o.URL, err)
	}
	return q, nil
}

// hint returns the next step after a request failed.
func hint(err error) string {
	switch code(err) {
	case noResources, noStorage, maxBytes:
		return "\nThe server's storage is full: remove data, or raise max_file_store."
	}
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return "\nCheck the file of --creds. The token of 'adze fleet server' is in ADZE_FLEET_TOKEN."
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "\nName the file with the certificate of its authority with --ca."
	case errors.Is(err, nats.ErrNoServers):
		return "\nIs the server running? Start one with 'adze fleet server' or 'nats-server -c nats.conf'."
	}
	return ""
}

// tooOld reports whether a version is before 2.12, the first with counters.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(strings.TrimPrefix(major, "v"))
	b, errB := strconv.Atoi(minor)
	return errA != nil || errB != nil || a < 2 || a == 2 && b < 12
}

func (q *Queue) open(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if v := q.nc.ConnectedServerVersion(); tooOld(v) {
		return fmt.Errorf("the server is nats-server %s, which is too old\nInstall 2.12 or newer.", v)
	}
	var err error
	if q.js, err = jetstream.New(q.nc, jetstream.WithDefaultTimeout(requestTime)); err != nil {
		return err
	}
	err = q.patiently(ctx, requestTime, func(ctx context.Context) error {
		_, err := q.js.AccountInfo(ctx)
		return err
	})
	if err != nil {
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			return fmt.Errorf("%w\nAdd jetstream { sync_interval: always } to its configuration.", err)
		}
		return err
	}
	q.replicas = 1
	if q.nc.ConnectedClusterName() != "" {
		q.replicas = 3
	}
	for {
		err := q.patiently(ctx, 2*requestTime, q.streams)
		if err == nil {
			return q.checkSync(ctx, o)
		}
		if !missing(err) || !pause(ctx, retryTime) {
			return err
		}
	}
}

// missing reports whether a node of a cluster doesn't know yet what another process just created.
func missing(err error) bool {
	for _, e := range []error{jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrBucketNotFound, jetstream.ErrStreamNameAlreadyInUse} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// starting reports whether a cluster isn't ready yet.
func starting(err error) bool {
	switch code(err) {
	case noLeader, noPeers, notReady:
		return true
	}
	return false
}

// streams opens the streams and buckets of the queue, and creates those that are missing.
func (q *Queue) streams(ctx context.Context) (err error) {
	q.tasks, err = q.stream(ctx, jetstream.StreamConfig{
		Name: tasksStream, Subjects: []string{"tasks.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err != nil {
		return err
	}
	if q.journal, err = q.stream(ctx, jetstream.StreamConfig{Name: journalStream, Subjects: []string{"journal.>"}}); err != nil {
		return err
	}
	if _, err = q.stream(ctx, jetstream.StreamConfig{Name: countersStream, Subjects: []string{"count.>"}, AllowMsgCounter: true, MaxMsgsPerSubject: 1}); err != nil {
		return err
	}
	if q.runs, err = q.bucket(ctx, runsBucket); err != nil {
		return err
	}
	if q.holds, err = q.bucket(ctx, holdsBucket); err != nil {
		return err
	}
	_, err = q.stream(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + filesBucket, Subjects: []string{"$O." + filesBucket + ".C.>", "$O." + filesBucket + ".M.>"}, Discard: jetstream.DiscardNew, AllowRollup: true,
	})
	if err != nil {
		return err
	}
	if q.files, err = q.js.ObjectStore(ctx, filesBucket); err != nil {
		return fmt.Errorf("open the files: %w", err)
	}
	return q.consumer(ctx)
}

func (q *Queue) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Replicas = q.replicas
	s, err := q.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s, err = q.js.CreateStream(ctx, c); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = q.js.Stream(ctx, c.Name) // another process created it first
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the stream %s: %w", c.Name, err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the stream %s: %w", c.Name, err)
	}
	if c.Name == journalStream && !info.TimeStamp.IsZero() {
		q.offset = info.TimeStamp.Sub(q.clock())
	}
	q.addNodes(info.Cluster)
	return s, checkStream(info.Config)
}

// bucket opens a bucket of keys. Like all streams here, it has no direct access: in a cluster that would read from nodes
// that may not have the last value yet.
func (q *Queue) bucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	_, err := q.stream(ctx, jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true,
	})
	if err != nil {
		return nil, err
	}
	kv, err := q.js.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", name, err)
	}
	return kv, nil
}

// consumer opens the consumer that all workers share.
func (q *Queue) consumer(ctx context.Context) error {
	c, err := q.tasks.Consumer(ctx, consumerName)
	if missing := errors.Is(err, jetstream.ErrConsumerNotFound); missing || err == nil && q.Lease != 0 && c.CachedInfo().Config.AckWait != q.Lease {
		if q.Lease == 0 {
			q.Lease = DefaultLease
		}
		c, err = q.tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.Lease, MaxAckPending: 100_000, MaxDeliver: -1, MaxWaiting: 10_000,
		})
	}
	if err != nil {
		return fmt.Errorf("open the consumer: %w", err)
	}
	q.workers, q.Lease = c, c.CachedInfo().Config.AckWait
	return nil
}

// Release puts the tasks of all workers back into the queue, without waiting for the lease. The journals stop workers that
// still run one of them.
func (q *Queue) Release(ctx context.Context) error {
	if info, err := q.workers.Info(ctx); err != nil || info.NumAckPending == 0 {
		return err
	}
	if err := q.tasks.DeleteConsumer(ctx, consumerName); err != nil {
		return fmt.Errorf("release the tasks of killed workers: %w", err)
	}
	return q.consumer(ctx)
}

// Idle reports whether no worker has a task or waits for one.
func (q *Queue) Idle(ctx context.Context) (bool, error) {
	info, err := q.workers.Info(ctx)
	return err == nil && info.NumAckPending == 0 && info.NumWaiting == 0, err
}

// Now returns the time on the server's clock.
func (q *Queue) Now() time.Time { return q.Time(q.clock()) }

// Time converts a time of this machine's clock to the server's clock.
func (q *Queue) Time(at time.Time) time.Time { return at.Add(q.offset) }

// Connected reports whether the server can be reached.
func (q *Queue) Connected() bool { return q.nc.IsConnected() }

// Close closes the connection.
func (q *Queue) Close() { q.nc.Close() }
