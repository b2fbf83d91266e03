package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// counters are those of one process, with a clock that moves when a test says so.
type counters struct {
	mu     sync.Mutex
	values map[string]int64
	holds  map[string]time.Time
	offset atomic.Int64
}

func (c *counters) Add(_ context.Context, name string, n int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[name] += n
	return c.values[name], nil
}

func (c *counters) Hold(_ context.Context, key string, until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[key] = until
	return nil
}

func (c *counters) Held(_ context.Context, key string) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds[key], nil
}

func (c *counters) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *counters) value(name string) int64 {
	n, _ := c.Add(context.Background(), name, 0)
	return n
}

type upstream struct {
	*httptest.Server
	handle  atomic.Pointer[http.HandlerFunc]
	count   atomic.Int64
	headers chan http.Header
}

func start(t *testing.T, l Limits) (*Gateway, *counters, *upstream) {
	t.Helper()
	c := &counters{values: map[string]int64{}, holds: map[string]time.Time{}}
	g, err := Listen(c, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	u := &upstream{headers: make(chan http.Header, 1000)}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.count.Add(1)
		u.headers <- r.Header
		if h := u.handle.Load(); h != nil {
			(*h)(w, r)
			return
		}
		fmt.Fprint(w, "data: {\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(u.Close)
	return g, c, u
}

func guestOf(u *upstream, limit float64) Guest {
	return Guest{Run: "r", Token: "t", Owns: func(context.Context) error { return nil },
		MaxCost: func(context.Context) (float64, error) { return limit, nil },
		Upstream: models.Upstream{API: "openai", Priced: true, Price: settings.Price{Input: 10, Output: 100},
			Options: api.Options{BaseURL: u.URL + "/v1", Key: "real-key", Headers: map[string]string{"X-Team": "a"}}}}
}

func post(t *testing.T, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// The server gets the key, the task never has it; another token gets nothing. The cost is what the server reports.
// An error with any characters is JSON.
func TestRefusalIsJSON(t *testing.T) {
	w := httptest.NewRecorder()
	refuse(w, http.StatusForbidden, "a\x00b\x7f \"c\" \u2028")
	var e struct{ Error struct{ Message string } }
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error.Message != "a\x00b\x7f \"c\" \u2028" {
		t.Errorf("%v: %s", err, w.Body)
	}
}

func TestForward(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	url, err := g.Admit("token-1", guestOf(u, 5))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post(t, url, "token-1", `{"max_tokens":500}`); status != 200 || !strings.Contains(text, "[DONE]") {
		t.Fatal(status, text)
	}
	h := <-u.headers
	if h.Get("Authorization") != "Bearer real-key" || h.Get("X-Team") != "a" {
		t.Errorf("headers %v", h)
	}
	if status, _ := post(t, url, "token-2", `{}`); status != 401 {
		t.Errorf("an unknown token: %d", status)
	}
	if got := c.value(LimitCounter("r")); got != 20_000 || c.value(TaskCounter("r", "t")) != 20_000 {
		t.Errorf("cost %d", got)
	}
	g.Stop("token-1")
	if status, _ := post(t, url, "token-1", `{}`); status != 403 || g.Dismiss("token-1") != Stopped {
		t.Errorf("a stopped task: %d", status)
	}
	if status, _ := post(t, url, "token-1", `{}`); status != 401 {
		t.Errorf("a dismissed task: %d", status)
	}
}

// The cost limit is never passed, however many requests are sent at a time.
func TestCap(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	url, err := g.Admit("k", guestOf(u, 0.5)) // a request costs 0.02, and reserves 0.05 for output
	if err != nil {
		t.Fatal(err)
	}
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if status, _ := post(t, url, "k", `{"max_tokens":500}`); status == 200 {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	for status := 200; status == 200; {
		if status, _ = post(t, url, "k", `{"max_tokens":500}`); status == 200 {
			passed.Add(1)
		}
	}
	if cost := c.value(LimitCounter("r")); cost > 500_000 || cost != passed.Load()*20_000 || passed.Load() < 20 {
		t.Errorf("%d requests for %d", passed.Load(), cost)
	}
	if r := g.Dismiss("k"); r != RunCap {
		t.Errorf("reason %q", r)
	}
}

// A request above the limit waits for a running one, which reserved more than it costs. It used to stop the run, although
// little was spent.
func TestCapWaits(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	answer := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		fmt.Fprint(w, "data: {\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100}}\n\ndata: [DONE]\n\n")
	})
	u.handle.Store(&slow)
	v := guestOf(u, 0)
	var looks atomic.Int64
	v.MaxCost = func(context.Context) (float64, error) {
		if looks.Add(1) == 3 { // the second request has waited
			close(answer)
		}
		return 0.08, nil // one reservation of 0.05, or one cost of 0.02 and one reservation
	}
	url, err := g.Admit("k", v)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if status, text := post(t, url, "k", `{"max_tokens":500}`); status != 200 {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	wg.Wait()
	if spent, sum := c.value(SpentCounter("r")), c.value(LimitCounter("r")); spent != 40_000 || sum != 40_000 || g.Totals().Requests != 2 {
		t.Errorf("%d spent, %d counted, %+v", spent, sum, g.Totals())
	}
}

// What a killed worker reserved is never settled: requests don't wait for it forever.
func TestCapOfKilledWorker(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	g.stuck = 0
	if _, err := c.Add(t.Context(), LimitCounter("r"), 480_000); err != nil {
		t.Fatal(err)
	}
	url, err := g.Admit("k", guestOf(u, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, url, "k", `{"max_tokens":500}`); status != 403 || g.Dismiss("k") != RunCap || u.count.Load() > 0 || g.Totals().Requests > 0 {
		t.Errorf("%d, %d requests", status, u.count.Load())
	}
	if url, err = g.Admit("k", guestOf(u, 0.6)); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, url, "k", `{"max_tokens":500}`); status != 200 {
		t.Errorf("with a higher limit: %d", status)
	}
}

// A cut-off answer without usage costs what was reserved. A task has its own limit, and a worker that lost the task spends
// nothing.
func TestBills(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[]}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	u.handle.Store(&cut)
	v := guestOf(u, 0)
	v.TaskCost = 0.06
	url, err := g.Admit("k", v)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = post(t, url, "k", `{"max_tokens":500}`)
	if got := c.value(TaskCounter("r", "t")); got < 50_000 || got > 51_000 {
		t.Errorf("cost of an answer that was cut off: %d", got)
	}
	if status, _ := post(t, url, "k", `{"max_tokens":500}`); status != 403 || g.Dismiss("k") != TaskCap {
		t.Errorf("the task's limit: %d", status)
	}
	before := u.count.Load()
	v.Owns = func(context.Context) error { return errors.New("lost") }
	if url, err = g.Admit("z", v); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, url, "z", `{}`); status != 403 || g.Dismiss("z") != NotOwn || u.count.Load() != before {
		t.Errorf("a zombie: %d, %d requests", status, u.count.Load()-before)
	}
}

// A 429 with Retry-After holds all gateways of the key, and the request is sent again.
func TestHold(t *testing.T) {
	t.Parallel()
	g, c, u := start(t, Limits{})
	other, err := Listen(c, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var busy atomic.Bool
	busy.Store(true)
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy.Swap(false) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}
	})
	u.handle.Store(&ok)
	done := make(chan int, 2)
	for i, gate := range []*Gateway{g, other} {
		token := fmt.Sprint("k", i)
		url, err := gate.Admit(token, guestOf(u, 0))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 { // the first one has got its 429
			waittest.Until(t, "the guest is held", func() bool { return len(c.held()) > 0 })
		}
		go func() {
			status, _ := post(t, url, token, `{}`)
			done <- status
		}()
	}
	if n := u.count.Load(); n != 1 {
		t.Errorf("%d requests while the key is held", n)
	}
	if until := c.held(); len(until) != 1 || until[0].Before(time.Now().Add(9*time.Minute)) {
		t.Errorf("held until %v", until)
	}
}

// Retry-After as a date is read on the server's clock.
func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	date := time.Now().Add(-5 * time.Hour)
	r := &http.Response{StatusCode: 429, Header: http.Header{"Date": {date.UTC().Format(http.TimeFormat)}, "Retry-After": {date.Add(time.Minute).UTC().Format(http.TimeFormat)}}}
	if wait, busy := busyFor(r); !busy || wait != time.Minute {
		t.Errorf("%v %v", wait, busy)
	}
	r.Header.Set("Retry-After", "soon")
	if _, busy := busyFor(r); busy {
		t.Error("an invalid date holds the key")
	}
}

func (c *counters) held() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []time.Time
	for _, at := range c.holds {
		all = append(all, at)
	}
	return all
}

// No minute has more requests than the limit, over all gateways.
func TestRate(t *testing.T) {
	t.Parallel()
	_, c, u := start(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var granted atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		g := &Gateway{counters: c, limits: Limits{Requests: 7}}
		b := g.bill(&guest{Guest: guestOf(u, 0), key: "k"}, []byte("{}"))
		wg.Go(func() {
			if b.awaitRate(ctx) == nil {
				granted.Add(1)
			}
			_ = i
		})
	}
	waittest.Until(t, "all have asked", func() bool {
		sum := int64(0)
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, n := range c.values {
			if strings.HasPrefix(name, "requests.k.") {
				sum += n
			}
		}
		return sum >= 100
	})
	cancel()
	wg.Wait()
	minutes := int64(0)
	for name := range c.values {
		if strings.HasPrefix(name, "requests.k.") {
			minutes++
		}
	}
	if granted.Load() > 7*minutes || granted.Load() < 7 {
		t.Errorf("%d requests in %d minutes", granted.Load(), minutes)
	}
}

// The usage of all of Adze's model APIs is read, wherever an answer is cut.
func TestUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`data: {"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n": "10 2 4 0",
		"event: x\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n" +
			"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n": "8 9 5 0",
		`data: {"response":{"usage":{"input_tokens":7,"output_tokens":8,"input_tokens_details":{"cached_tokens":1}}}}` + "\n": "7 8 1 0",
		`data: {"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":6}}` + "\n":               "4 11 0 0",
		`{"usage":{"prompt_tokens":10,"completion_tokens":2}}`:                                                                "10 2 0 0",
	} {
		for _, size := range []int{1, 7, 1000} {
			b := &bill{}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				b.read([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := fmt.Sprint(b.used.Input, b.used.Output, b.used.CacheRead, b.used.CacheCreation); got != want {
				t.Errorf("%s in parts of %d: %s, want %s", text, size, got, want)
			}
		}
	}
}

// No minute has more tokens than the limit, over all gateways: what a request used replaces what was reserved for it.
func TestTokenRate(t *testing.T) {
	t.Parallel()
	_, c, u := start(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const workers, limit = 50, 1000
	var asked, granted atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		g := &Gateway{counters: c, limits: Limits{Tokens: limit}}
		b := g.bill(&guest{Guest: guestOf(u, 0), key: "k"}, []byte(strings.Repeat("x", 399))) // 100 tokens
		b.reserved = true
		wg.Go(func() {
			asked.Add(1)
			if b.awaitRate(ctx) == nil {
				granted.Add(1)
				b.used = model.Usage{Input: 150, Output: 50} // it used more than that
				b.settle()
			}
		})
	}
	minutes := func() (n int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, sum := range c.values {
			if strings.HasPrefix(name, "tokens.k.") {
				n++
				if sum > 2*limit { // ten requests, each with twice the tokens
					t.Errorf("%s: %d tokens", name, sum)
				}
			}
		}
		return n
	}
	if !waittest.Holds(func() bool { return asked.Load() >= workers && granted.Load() >= 5 }) {
		t.Fatalf("%d of %d requests", granted.Load(), workers)
	}
	cancel()
	wg.Wait()
	if n := minutes(); granted.Load() > 10*n {
		t.Errorf("%d requests of 100 tokens in %d minutes", granted.Load(), n)
	}
}
