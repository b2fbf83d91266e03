package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// workers are gateways of processes that share a queue: each has its own connection.
func workers(t *testing.T, n int, l Limits) ([]*queue.Queue, []*Gateway) {
	t.Helper()
	e, err := queue.Serve(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	var queues []*queue.Queue
	var gates []*Gateway
	for range n {
		q, err := queue.Connect(t.Context(), e.Options())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		g, err := Listen(q, l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		queues, gates = append(queues, q), append(gates, g)
	}
	return queues, gates
}

// all sends requests through each gateway at the same time, and counts the answers by status.
func all(t *testing.T, gates []*Gateway, v Guest, each int) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[int]int{}
	for i, g := range gates {
		token := fmt.Sprint("guest-", i)
		url, err := g.Admit(token, v)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range each {
				status, _ := post(t, url, token, `{"max_tokens":500}`)
				mu.Lock()
				out[status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// Workers in their own processes, with one queue, never pass the cost limit together.
func TestSharedCap(t *testing.T) {
	t.Parallel()
	n := soak.Count(20, 100)
	queues, gates := workers(t, n, Limits{})
	_, _, u := start(t, Limits{})
	u.headers = make(chan http.Header, n*20)
	got := all(t, gates, guestOf(u, 0.5), 10) // a request costs 0.02, and reserves more than 0.05
	cost, err := queues[0].Add(t.Context(), LimitCounter("r"), 0)
	if err != nil || cost > 500_000 || cost != int64(got[200])*20_000 || got[200] < 5 || got[200]+got[403] != n*10 {
		t.Errorf("answers %v for %d: %v", got, cost, err)
	}
}

// 100 workers send no more requests in a minute than the limit allows.
func TestSharedRate(t *testing.T) {
	t.Parallel()
	const limit = 30
	queues, gates := workers(t, 100, Limits{Requests: limit})
	_, _, u := start(t, Limits{})
	v := guestOf(u, 0)
	first := queues[0].Now().Unix() / 60
	for i, g := range gates {
		token := fmt.Sprint("guest-", i)
		url, err := g.Admit(token, v)
		if err != nil {
			t.Fatal(err)
		}
		go post(t, url, token, `{}`) // those that wait end with the test
	}
	asked := func() (sum, minutes int64) {
		for m := first; m <= queues[0].Now().Unix()/60; m++ {
			n, err := queues[0].Add(t.Context(), fmt.Sprintf("requests.%s.%d", gates[0].guest("guest-0").key, m), 0)
			if err != nil {
				t.Fatal(err)
			}
			sum, minutes = sum+n, minutes+1
		}
		return sum, minutes
	}
	waittest.Until(t, "100 workers have asked and the limit is reached", func() bool {
		sum, minutes := asked()
		sent := u.count.Load()
		if sent > limit*minutes {
			t.Fatalf("%d requests in %d minutes", sent, minutes)
		}
		return sum >= 100 && sent >= limit
	})
}

// One 429 with Retry-After holds all workers of the key, and then all continue.
func TestSharedHold(t *testing.T) {
	t.Parallel()
	queues, gates := workers(t, soak.Count(20, 100), Limits{})
	_, _, u := start(t, Limits{})
	var until atomic.Int64
	var early atomic.Int64
	var busy atomic.Bool
	busy.Store(true)
	handle := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy.Swap(false) {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if queues[0].Now().UnixMilli() < until.Load() {
			early.Add(1)
		}
	})
	u.handle.Store(&handle)
	url, err := gates[0].Admit("first", guestOf(u, 0))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		status, _ := post(t, url, "first", `{}`)
		answered <- status
	}()
	key := gates[0].guest("first").key
	waittest.Until(t, "the workers are held", func() bool {
		at, err := queues[1].Held(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if !at.IsZero() {
			until.Store(at.Add(-skew(queues)).UnixMilli() - 1)
		}
		return !at.IsZero()
	})
	got := all(t, gates, guestOf(u, 0), 1)
	if early.Load() > 0 || got[200] != len(gates) || <-answered != 200 {
		t.Errorf("%d requests while the key is held; answers %v", early.Load(), got)
	}
}

// skew returns how far the clocks of connections are apart: by the time that a request took.
func skew(queues []*queue.Queue) time.Duration {
	var limit time.Duration
	for _, q := range queues {
		limit = max(limit, time.Until(q.Now()).Abs())
	}
	return 2 * limit
}

// Workers whose clocks are two hours apart share the minutes of the rate, and the time until which a key is held.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	e, err := queue.Serve(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, _, u := start(t, Limits{})
	first := time.Now().Unix() / 60
	var queues [2]*queue.Queue
	var key string
	for i, ahead := range []time.Duration{-time.Hour, time.Hour} {
		o := e.Options()
		o.Clock = func() time.Time { return time.Now().Add(ahead) }
		q, err := queue.Connect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		g, err := Listen(q, Limits{Requests: 5})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		url, err := g.Admit("guest", guestOf(u, 0))
		if err != nil {
			t.Fatal(err)
		}
		if status, text := post(t, url, "guest", `{}`); status != 200 {
			t.Fatal(status, text)
		}
		queues[i], key = q, g.guest("guest").key
	}
	var sum int64
	for minute := first; minute <= time.Now().Unix()/60; minute++ {
		n, err := queues[0].Add(t.Context(), fmt.Sprintf("requests.%s.%d", key, minute), 0)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != 2 {
		t.Errorf("%d of 2 requests are counted in minutes of the server", sum)
	}
	if err := queues[0].Hold(t.Context(), key, queues[0].Now().Add(30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	until, err := queues[1].Held(t.Context(), key)
	if wait := until.Sub(queues[1].Now()); err != nil || wait > 31*time.Minute || wait < 20*time.Minute {
		t.Errorf("the other worker waits %v: %v", wait, err)
	}
}

// A worker that lost its task spends nothing: the queue knows its owner.
func TestZombieSpendsNothing(t *testing.T) {
	t.Parallel()
	queues, gates := workers(t, 2, Limits{})
	_, _, u := start(t, Limits{})
	ctx := t.Context()
	send := func(i int) (int, string) {
		log, err := queues[i].OpenLog(ctx, "r", "t")
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Write(ctx, queue.TypeOwner, queue.Owner{Worker: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		v := guestOf(u, 5)
		v.Owns = log.Owns
		url, err := gates[i].Admit(fmt.Sprint("w", i), v)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := post(t, url, fmt.Sprint("w", i), `{}`)
		return status, url
	}
	status, zombie := send(0)
	if next, _ := send(1); status != 200 || next != 200 {
		t.Fatal(status, next)
	}
	before, spent := u.count.Load(), 40_000
	if status, text := post(t, zombie, "w0", `{}`); status != 403 || !strings.Contains(text, string(NotOwn)) || gates[0].Dismiss("w0") != NotOwn {
		t.Errorf("the zombie's request: %d %s", status, text)
	}
	if cost, err := queues[0].Add(ctx, LimitCounter("r"), 0); err != nil || u.count.Load() != before || cost != int64(spent) {
		t.Errorf("%d requests, cost %d: %v", u.count.Load()-before, cost, err)
	}
}
