package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

func TestFailures(t *testing.T) {
	text := `data: {"choices":[{"delta":{"content":"half"}}]}` + "\n\n"
	errObj := func(code, message string) string {
		return `{"error":{"message":"` + message + `","type":"x","code":"` + code + `"}}`
	}
	tests := []struct {
		name string
		a    answer
		kind model.Kind
		said string // handed out before
		want string // in the error's text
	}{
		{"401", answer{Status: 401, Raw: errObj("invalid_api_key", "bad key")}, model.ErrCredentials, "", "status 401: bad key; check the API key"},
		{"403 without a word", answer{Status: 403}, model.ErrCredentials, "", "status 403: Forbidden"},
		{"404", answer{Status: 404, Raw: errObj("model_not_found", "no such model")}, model.ErrRejected, "", "no such model; check the base URL"},
		{"400, a page", answer{Status: 400, Raw: "<html>\n<b>Bad</b>"}, model.ErrRejected, "", "status 400: <html> <b>Bad</b>"},
		{"400, too long", answer{Status: 400, Raw: errObj("context_length_exceeded", "This model's maximum context length is 8192 tokens")}, model.ErrContextLength, "", "8192"},
		{"400, too long in llama.cpp's words", answer{Status: 400, Raw: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`}, model.ErrContextLength, "", "context size"},
		{"422, in FastAPI's words", answer{Status: 422, Raw: `{"detail":[{"msg":"field required"}]}`}, model.ErrRejected, "", "field required"},
		{"quota", answer{Status: 429, Raw: errObj("insufficient_quota", "pay first")}, model.ErrRateLimit, "", "pay first"},
		{"rate limit with a long wait", answer{Status: 429, Header: map[string]string{"Retry-After": "3600"}, Raw: errObj("rate_limit_exceeded", "slow down")}, model.ErrRateLimit, "", "slow down (asks to wait 1h0m0s)"},
		{"malformed JSON", answer{Raw: "data: {\"choices\":[{]}\n\ndata: [DONE]\n\n"}, model.ErrWire, "", `a chunk that is not understood: invalid character ']' looking for beginning of object key string: {"choices":[{]}`},
		{"malformed JSON after text", answer{Raw: text + "data: {oops\n\ndata: [DONE]\n\n"}, model.ErrWire, "half", "oops"},
		{"garbage", answer{Raw: "\x00\x01\x02 garbage"}, model.ErrCut, "", "without a finish_reason or [DONE]"},
		{"a web page", answer{Raw: " <html>"}, model.ErrWire, "", "a web page; check the base URL"},
		{"JSON that is no answer", answer{Raw: `{"hello":1}`}, model.ErrWire, "", "no choices"},
		{"JSON that is cut", answer{Raw: `{"choices":[`}, model.ErrWire, "", "not JSON"},
		{"an error in the stream after text", answer{Raw: text + "data: " + errObj("overloaded", "too busy") + "\n\n"}, model.ErrServer, "half", "broke off its answer: too busy"},
		{"an error as a plain string", answer{Raw: `data: {"error":"out of memory"}` + "\n\n", Faults: faults{}}, model.ErrServer, "", "out of memory"},
		{"cut after text", answer{Text: "half and half", Faults: faults{Split: 4, Cut: 450}}, model.ErrCut, "half", "broke off after a part of it had arrived"},
		{"ended after text", answer{Text: "half and half", Faults: faults{Split: 4, End: 450}}, model.ErrCut, "half", "broke off"},
		{"ended in good order, but without an end", answer{Raw: text}, model.ErrCut, "half", "without a finish_reason or [DONE] after a part of it had arrived"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := open(t, script{Repeat: true, Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			for n := 1; n <= 4; n++ { // the notices of retries are not what this is about
				got = strings.TrimPrefix(got, "retry "+string(rune('0'+n))+"\n")
			}
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(got, tt.said) {
				t.Errorf("said %q, then %v", got, err)
			}
			if tt.said == "" && got != "" {
				t.Errorf("said %q", got)
			}
		})
	}
}

// A call that was handed out may have run: the request is never sent again, whatever happens next.
func TestNoRetryOnceSomethingWasSaid(t *testing.T) {
	calls := []call{{ID: "a", Name: "f", Args: json.RawMessage(`{}`)}, {ID: "b", Name: "f", Args: json.RawMessage(`{"x":"long enough to be cut"}`)}}
	for _, a := range []answer{
		{Text: "abc", Faults: faults{Split: 1, Cut: 400}},
		{Calls: calls, Faults: faults{Split: 2, Cut: 1200}},
	} {
		m, srv := open(t, script{Answers: []answer{a, {Text: "again"}}})
		got, err := play(t.Context(), m, request("hi"))
		if !errors.Is(err, model.ErrCut) || got == "" || strings.Contains(got, "again") || strings.Contains(got, "retry") {
			t.Errorf("got %q, %v", got, err)
		}
		if n := len(srv.Requests()); n != 1 {
			t.Errorf("%d requests were sent", n)
		}
		_, _ = play(t.Context(), m, request("hi")) // the script wants to be played to its end
	}
}

func TestRetriesUntilItWorks(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{
		{Status: 429, Raw: `{"error":{"message":"slow down"}}`, Header: map[string]string{"Retry-After": "0"}},
		{Status: 500},
		{Text: "never seen", Faults: faults{Cut: 5}},
		{Raw: `data: {"error":{"message":"overloaded","code":529}}` + "\n\n"},
		{Text: "there"},
	}})
	got, err := play(t.Context(), m, request("hi"))
	if want := "retry 1\nretry 2\nretry 3\nretry 4\nthere\nend stop"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, r := range srv.Requests() {
		if r.Body != srv.Requests()[0].Body {
			t.Error("a retry sent another body")
		}
	}
}

func TestUnreachableNamesTheURL(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://me:secret@" + l.Addr().String() + "/v1"
	l.Close()
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: base, Model: "m", Key: "hush", Retry: openai.Retry{First: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := play(t.Context(), m, request("hi"))
	if !errors.Is(err, model.ErrUnreachable) || !strings.Contains(err.Error(), l.Addr().String()+"/v1/chat/completions") || got != "retry 1\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error tells secrets: %v", err)
	}
}

func TestLearnsWhatAServerDoesNotTake(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{
		{Status: 400, Raw: `{"error":{"message":"unknown field stream_options"}}`},
		{Status: 400, Raw: `{"error":{"message":"'max_tokens' is not supported; use 'max_completion_tokens'"}}`},
		{Text: "a"}, {Text: "b"},
	}})
	r := request("hi")
	r.MaxTokens = 7
	for _, want := range []string{"a\nend stop", "b\nend stop"} {
		if got, err := play(t.Context(), m, r); got != want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for _, r := range srv.Requests()[2:] {
		if strings.Contains(r.Body, "stream_options") || !strings.Contains(r.Body, `"max_completion_tokens":7`) {
			t.Errorf("sent %s", r.Body)
		}
	}
}

// The tests below measure time on a false clock, over connections in memory.

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
		return answer{Text: "abc", Faults: faults{Split: 1, Pause: openaitest.Duration(d)}}
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

// Whoever reads the events may take an hour over one: that is not the server's silence.
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
		most   time.Duration
	}{
		{"seconds", map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{"a fraction", map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"milliseconds", map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{"a date", map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:20 GMT"}, 20 * time.Second, 20 * time.Second},
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
				if took := time.Since(start); took < tt.least || took > tt.most {
					t.Errorf("waited %v, want %v to %v", took, tt.least, tt.most)
				}
			})
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inBubble(t, script{Repeat: true, Answers: []answer{{Status: 503}}}, openai.Options{})
		start := time.Now()
		got, err := play(t.Context(), m, request("hi"))
		if !errors.Is(err, model.ErrServer) || got != "retry 1\nretry 2\nretry 3\nretry 4\n" {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(start); took < 3750*time.Millisecond || took > 7500*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
	})
}

func TestCancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inBubble(t, script{Repeat: true, Answers: []answer{{Status: 503, Header: map[string]string{"Retry-After": "20"}}}}, openai.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := play(ctx, m, request("hi"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}
