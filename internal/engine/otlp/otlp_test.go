package otlp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func env(pairs ...string) func(string) string {
	vars := map[string]string{}
	for _, kv := range pairs {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

func exporter(t *testing.T, pairs ...string) *Exporter {
	t.Helper()
	x, err := New(env(pairs...)("OTEL_EXPORTER_OTLP_ENDPOINT"), env(pairs...), "test", "1")
	if err != nil || x == nil {
		t.Fatal(x, err)
	}
	return x
}

func span(name string) *Span {
	return Begin(ID(16, "t"), ID(8, name), "", name, time.Now()).End(time.Now())
}

// The variables of OpenTelemetry say where spans go. A collector that fails is reported.
func TestSend(t *testing.T) {
	t.Parallel()
	var header http.Header
	path, status := "", 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, path = r.Header, r.URL.Path
		w.WriteHeader(status)
	}))
	defer s.Close()
	vars := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20x, X-Team=a"}
	if err := exporter(t, vars...).Send(t.Context(), []*Span{span("a")}); err != nil {
		t.Fatal(err)
	}
	if path != "/v1/traces" || header.Get("Authorization") != "Bearer x" || header.Get("X-Team") != "a" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", path, header)
	}
	status = 503
	if err := exporter(t, vars...).Send(t.Context(), []*Span{span("a")}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("%s %v", path, err)
	}
	if err := (*Exporter)(nil).Send(t.Context(), []*Span{span("a")}); err != nil {
		t.Error(err)
	}
}

// The collector's credentials go to no other server.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("redirected") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if err := exporter(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL).Send(t.Context(), []*Span{span("a")}); err == nil {
		t.Error("a redirect is a success")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	const at = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, tt := range []struct {
		vars []string
		want string // of the error; "none": there is no exporter
	}{
		{[]string{}, "none"},
		{[]string{at, "OTEL_SDK_DISABLED=TRUE", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "none"},
		{[]string{at}, ""},
		{[]string{at, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, ""},
		{[]string{at, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, `OTEL_EXPORTER_OTLP_PROTOCOL is "http/protobuf", and Adze only has http/json`},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}, "not a URL"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=unix:///run/x"}, "not a URL"},
	} {
		x, err := New(env(tt.vars...)("OTEL_EXPORTER_OTLP_ENDPOINT"), env(tt.vars...), "test", "1")
		switch {
		case tt.want == "none" && (x != nil || err != nil), tt.want == "" && (x == nil || err != nil):
			t.Errorf("%v: %v, %v", tt.vars, x, err)
		case tt.want != "none" && tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%v: %v", tt.vars, err)
		}
	}
}

// warnings are those of a queue.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, err.Error())
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "; ")
}

// still returns a queue that sends only when the test calls send, without a limit of time.
func still(x *Exporter, warn func(error)) *Queue {
	return &Queue{x: x, warn: warn, ctx: context.Background(), metrics: map[string]*metric{}}
}

// What a collector doesn't take is kept and sent again, up to a limit. All failures together are one warning.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	var tried atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if tried.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got.Add(int64(strings.Count(string(raw), `"name":"big"`)))
	}))
	defer s.Close()
	var warned warnings
	q := still(exporter(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL), warned.add)
	big := span("big")
	big.Add("text", strings.Repeat("x", 100<<10))
	for range 60 {
		q.Add(big)
	}
	q.send()
	q.Add(big)
	if q.bytes > maxWaiting || len(q.spans) != maxWaiting/(100<<10) {
		t.Errorf("%d spans of %d bytes wait", len(q.spans), q.bytes)
	}
	kept := int64(len(q.spans))
	q.send()
	if got.Load() != kept {
		t.Errorf("%d spans arrived, not %d", got.Load(), kept)
	}
	if w := warned.String(); !strings.Contains(w, "503") || strings.Contains(w, "; ") {
		t.Errorf("warnings: %s", w)
	}
}

// A request that the collector rejects isn't sent again.
func TestRejected(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer s.Close()
	var warned warnings
	q := still(exporter(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL), warned.add)
	q.Add(span("a"))
	q.send()
	q.send()
	if requests.Load() != 1 || !strings.Contains(warned.String(), "400") {
		t.Errorf("%d requests, %s", requests.Load(), &warned)
	}
}

// The series of a metric are bounded: servers choose names of tools.
func TestBoundedMetrics(t *testing.T) {
	t.Parallel()
	q := still(exporter(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"), func(error) {})
	for i := range 3 * maxMetrics {
		q.Record("calls", "{call}", nil, 1, "name", i)
	}
	if n := len(q.metrics); n != maxMetrics {
		t.Errorf("%d metrics", n)
	}
}

// Close sends the rest. A collector that doesn't answer is one warning: it sees that the request is canceled.
func TestClose(t *testing.T) {
	t.Parallel()
	canceled := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		canceled <- struct{}{}
	}))
	defer s.Close()
	var warned warnings
	q := NewQueue(exporter(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL), warned.add)
	q.Add(span("a"))
	q.Close()
	<-canceled
	if got := warned.String(); got != "the collector didn't answer within 1s" {
		t.Errorf("warnings: %s", got)
	}
}

// A nil Queue drops everything.
func TestNilQueue(t *testing.T) {
	t.Parallel()
	var q *Queue
	q.Add(span("a"))
	q.Record("n", "1", []float64{1}, 1)
	q.Close()
}
