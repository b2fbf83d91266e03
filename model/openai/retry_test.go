package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The tests of this file measure time on a false clock, over connections in memory.

func inBubble(t *testing.T, s script, o openai.Options) *openai.Model {
	t.Helper()
	l := &pipes{c: make(chan net.Conn), done: make(chan struct{})}
	h := openaitest.New(s)
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	tr := &http.Transport{DialContext: l.dial}
	o.Client = &http.Client{Transport: tr}
	o.BaseURL, o.Model = "http://memory/v1", "m"
	m, err := openai.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); srv.Close(); m.Close() })
	return m
}

type pipes struct {
	c    chan net.Conn
	done chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.c <- b:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.c:
		return c, nil
	case <-p.done:
		return nil, io.EOF
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func TestSilence(t *testing.T) {
	slow := func(d time.Duration) answer {
		return answer{Text: "abc", Faults: faults{Split: 1, Pause: modeltest.Duration(d)}}
	}
	tests := []struct {
		name string
		a    answer
		o    openai.Options
		want string
		took time.Duration
	}{
		{"before the first byte", slow(time.Hour), openai.Options{}, "the server sent nothing for 5m0s", 300 * time.Second},
		{"between bytes", slow(70 * time.Second), openai.Options{}, "the server sent nothing for 1m0s", 130 * time.Second},
		{"as set", slow(3 * time.Second), openai.Options{FirstByte: 2 * time.Second}, "the server sent nothing for 2s", 2 * time.Second},
		{"slow but steady", slow(59 * time.Second), openai.Options{}, "", 59 * 6 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := inBubble(t, script{Answers: []answer{tt.a}}, tt.o)
				start := time.Now()
				_, err := play(t.Context(), m, request("hi"))
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, model.ErrTimeout) || err.Error() != tt.want) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// A slow consumer of the events doesn't count as silence of the server.
func TestSlowReaderIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inBubble(t, script{Answers: []answer{{Text: "abc", Faults: faults{Split: 1}}}}, openai.Options{})
		for _, err := range m.Stream(t.Context(), request("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name   string
		header map[string]string
		least  time.Duration
		limit  time.Duration
	}{
		{"seconds", map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{"minutes", map[string]string{"Retry-After": "120"}, 2 * time.Minute, 2 * time.Minute},
		{"a fraction", map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"milliseconds", map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{"a date", map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:20 GMT"}, 20 * time.Second, 20 * time.Second},
		{"a date by a clock that is wrong", map[string]string{"Retry-After": "Tue, 01 Jan 2030 00:02:00 GMT", "Date": "Tue, 01 Jan 2030 00:00:00 GMT"}, 2 * time.Minute, 2 * time.Minute},
		{"a date gone by", map[string]string{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 250 * time.Millisecond, 500 * time.Millisecond},
		{"nonsense", map[string]string{"Retry-After": "soon"}, 250 * time.Millisecond, 500 * time.Millisecond},
		{"nothing", nil, 250 * time.Millisecond, 500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock begins with the year 2000
				m := inBubble(t, script{Answers: []answer{{Status: 429, Header: tt.header}, {Text: "a"}}}, openai.Options{})
				start := time.Now()
				if _, err := play(t.Context(), m, request("hi")); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < tt.least || took > tt.limit {
					t.Errorf("waited %v, want %v to %v", took, tt.least, tt.limit)
				}
			})
		})
	}
}

// storm answers n requests with a, and all others with text.
func storm(n int, a answer) script {
	s := script{}
	for range n {
		s.Answers = append(s.Answers, a)
	}
	s.Answers = append(s.Answers, answer{Text: "there"})
	return s
}

// A rate limit of minutes is waited out, longer each time, and each wait is reported.
func TestRateLimitIsWaitedOut(t *testing.T) {
	for name, a := range map[string]answer{
		"429":                {Status: 429},
		"503":                {Status: 503},
		"529":                {Status: 529, Raw: `{"error":{"type":"overloaded_error","message":"Overloaded"}}`},
		"in the stream":      {Raw: `data: {"error":{"message":"slow down","code":429}}` + "\n\n"},
		"busy in the stream": {Raw: `data: {"error":{"message":"Overloaded","type":"overloaded_error"}}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := inBubble(t, storm(12, a), openai.Options{})
				start := time.Now()
				var waits []time.Duration
				var text model.Text
				for e, err := range m.Stream(t.Context(), request("hi")) {
					if err != nil {
						t.Fatal(err)
					}
					switch e := e.(type) {
					case model.Retry:
						waits = append(waits, e.Wait)
						if e.Attempt != len(waits) || !strings.HasSuffix(e.String(), fmt.Sprintf(" (attempt %d)", len(waits)+1)) {
							t.Errorf("attempt %d is reported as %q", len(waits), e)
						}
					case model.Text:
						text += e
					}
				}
				if text != "there" || len(waits) != 12 {
					t.Fatalf("said %q after %d waits", text, len(waits))
				}
				for i, w := range waits {
					d := min(500*time.Millisecond<<i, time.Minute)
					if w < d/2 || w > d {
						t.Errorf("wait %d is %v, want %v to %v", i+1, w, d/2, d)
					}
				}
				if took := time.Since(start); took < 3*time.Minute {
					t.Errorf("took only %v", took)
				}
			})
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name         string
		a            answer
		kind         model.Kind
		least, limit time.Duration
		want         string // in the error's text
	}{
		{"rate limit", answer{Status: 429}, model.ErrRateLimit, 9 * time.Minute, 10 * time.Minute, "Too Many Requests\nGave up after "},
		{"overloaded", answer{Status: 503}, model.ErrServer, 9 * time.Minute, 10 * time.Minute, "Run again later, or use another model."},
		{"server error", answer{Status: 500}, model.ErrServer, 15 * time.Second, 32 * time.Second, "Internal Server Error"},
		{"Retry-After each time", answer{Status: 429, Header: map[string]string{"Retry-After": "120"}}, model.ErrRateLimit, 10 * time.Minute, 10 * time.Minute, "Gave up after 6 attempts in 10m0s"},
		{"Retry-After of an hour", answer{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, model.ErrRateLimit, 0, 0, "The server asks to wait 1h0m0s, longer than the limit of 10m0s."},
		{"Retry-After without bound", answer{Status: 503, Header: map[string]string{"Retry-After": "1e300"}}, model.ErrServer, 0, 0, "longer than the limit of 10m0s"},
		{"Retry-After a date next year", answer{Status: 429, Header: map[string]string{"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}}, model.ErrRateLimit, 0, 0, "longer than the limit of 10m0s"},
		{"no money", answer{Status: 429, Raw: `{"error":{"message":"pay","code":"insufficient_quota"}}`}, model.ErrQuota, 0, 0, "pay"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := inBubble(t, script{Repeat: true, Answers: []answer{tt.a}}, openai.Options{})
				start := time.Now()
				_, err := play(t.Context(), m, request("hi"))
				var known *model.Error
				if !errors.As(err, &known) || known.Kind != tt.kind || known.Status != tt.a.Status || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took < tt.least || took > tt.limit {
					t.Errorf("gave up after %v", took)
				}
			})
		})
	}
}

// The list of models is requested at startup, so its timeout is short.
func TestOpenDoesNotWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{c: make(chan net.Conn), done: make(chan struct{})}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })}
		go func() { _ = srv.Serve(l) }()
		defer srv.Close()
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
		start := time.Now()
		_, err := openai.Open(t.Context(), openai.Options{BaseURL: "http://memory/v1", Client: client})
		if took := time.Since(start); !errors.Is(err, model.ErrServer) || took > 30*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		client.CloseIdleConnections()
	})
}

func TestCancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inBubble(t, script{Repeat: true, Answers: []answer{{Status: 503, Header: map[string]string{"Retry-After": "120"}}}}, openai.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := play(ctx, m, request("hi"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}
