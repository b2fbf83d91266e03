package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/journal"
)

// open starts an embedded server and connects to it.
func (b *bench) open(ctx context.Context, name string) (*queue.Queue, func(), error) {
	dir, err := b.sub(name)
	if err != nil {
		return nil, nil, err
	}
	e, err := queue.Serve(dir, "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	q, err := queue.Connect(ctx, e.Options())
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return q, func() {
		q.Close()
		_ = e.Close()
	}, nil
}

// entry returns an entry of typical size.
func entry(seq int64) journal.Entry {
	text := strings.Repeat("x", 300)
	return journal.Entry{V: journal.Version, Seq: seq, At: time.Now(), Type: journal.TypeMode, Data: json.RawMessage(`{"mode":"` + text + `"}`)}
}

// start measures the time from nothing to the first acknowledged entry.
func (b *bench) start(ctx context.Context) error {
	var all []time.Duration
	for i := range 5 {
		began := time.Now()
		q, stop, err := b.open(ctx, fmt.Sprint("start", i))
		if err != nil {
			return err
		}
		err = b.write(ctx, q, "t", 1)
		all = append(all, time.Since(began))
		stop()
		if err != nil {
			return err
		}
	}
	b.row("embedded start to first append", fmt.Sprint(median(all).Round(time.Millisecond)), "under 100 ms")
	return nil
}

// write appends entries to a session.
func (b *bench) write(ctx context.Context, q *queue.Queue, session string, n int) error {
	l, err := q.OpenLog(ctx, "r", session)
	if err != nil {
		return err
	}
	for i := range n {
		if err := l.Append(ctx, entry(int64(i+1)), ""); err != nil {
			return err
		}
	}
	return nil
}

// parallel appends entries to many sessions, some at a time.
func (b *bench) parallel(ctx context.Context, q *queue.Queue, at, sessions, each int) (time.Duration, error) {
	began := time.Now()
	next := make(chan int)
	failed := make(chan error, at)
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for i := range next {
				if err := b.write(ctx, q, fmt.Sprint("s", i), each); err != nil {
					failed <- err
					for range next { // let the others finish
					}
				}
			}
		})
	}
	for i := range sessions {
		next <- i
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return time.Since(began), nil
	}
}

func (b *bench) appends(ctx context.Context) error {
	q, stop, err := b.open(ctx, "append")
	if err != nil {
		return err
	}
	defer stop()
	l, err := q.OpenLog(ctx, "r", "one")
	if err != nil {
		return err
	}
	var all []time.Duration
	for i := range 1000 {
		began := time.Now()
		if err := l.Append(ctx, entry(int64(i+1)), ""); err != nil {
			return err
		}
		all = append(all, time.Since(began))
	}
	b.row("append, synced, one session, p50", fmt.Sprint(median(all).Round(10*time.Microsecond)), "under 1 ms")
	took, err := b.parallel(ctx, q, 64, 64, 50)
	if err != nil {
		return err
	}
	b.row("append, synced, 64 sessions", perSecond(64*50, took), "at least 300/s")
	return nil
}

// cluster measures appends to three servers, all of which are in this process.
func (b *bench) cluster(ctx context.Context) error {
	urls, stop, err := b.three()
	if err != nil {
		return err
	}
	defer stop()
	q, err := queue.Connect(ctx, queue.Options{URL: urls})
	if err != nil {
		return err
	}
	defer q.Close()
	if err := b.write(ctx, q, "first", 10); err != nil { // then all have a leader
		return err
	}
	took, err := b.parallel(ctx, q, 64, 64, 100)
	if err != nil {
		return err
	}
	b.row("append, synced, three replicas, 64 sessions", perSecond(64*100, took), "at least 1,500/s")
	content := make([]byte, 5<<20)
	put, get, err := store(ctx, q, content)
	if err != nil {
		return err
	}
	b.row("5 MB to the store of three replicas, and back", fmt.Sprint(put.Round(time.Millisecond), ", ", get.Round(time.Millisecond)), "under 200 ms, 100 ms")
	return nil
}

func freePorts() (ports [3]int, err error) {
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, err
		}
		defer l.Close() // keep it until all ports are chosen
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// three starts a cluster, and returns the URLs of its servers.
func (b *bench) three() (urls string, stop func(), err error) {
	ports, err := freePorts()
	if err != nil {
		return "", nil, err
	}
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	var servers []*server.Server
	stop = func() {
		for _, s := range servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	var all []string
	for i := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Routes: routes,
			JetStream: true, StoreDir: filepath.Join(b.dir, fmt.Sprint("node", i)), SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: ports[i]},
		})
		if err != nil {
			stop()
			return "", nil, err
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.Start()
	}
	for _, s := range servers {
		if !s.ReadyForConnections(time.Minute) {
			stop()
			return "", nil, errors.New("a server is not ready")
		}
		all = append(all, s.ClientURL())
	}
	return strings.Join(all, ","), stop, nil
}
