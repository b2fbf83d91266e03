package anthropic_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

func failed(status int, kind, message string) answer {
	return answer{Status: status, Raw: fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)}
}

// badEvent is an event that was damaged on the way.
const badEvent = "data: {\"type\":\n\ndata: {}\n\n"

func TestFailures(t *testing.T) {
	done := answer{Text: "done"}
	for _, tt := range []struct {
		name    string
		answers []answer
		kind    model.Kind // "": the answer comes after all
		want    string     // in the error, or the beginning of the answer
	}{
		{"wrong key", []answer{failed(401, "authentication_error", "invalid x-api-key")}, model.ErrCredentials, "/messages: status 401: invalid x-api-key\nCheck the API key in ANTHROPIC_API_KEY."},
		{"a key in the error", []answer{failed(401, "authentication_error", "bad key "+key)}, model.ErrCredentials, "[hidden]"},
		{"no permission", []answer{failed(403, "permission_error", "no access")}, model.ErrCredentials, "no access"},
		{"no credit", []answer{failed(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")}, model.ErrQuota, "Retrying doesn't help"},
		{"a monthly limit", []answer{failed(429, "rate_limit_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01.")}, model.ErrQuota, "usage limits"},
		{"billing", []answer{failed(402, "billing_error", "payment required")}, model.ErrQuota, "payment"},
		{"unknown model", []answer{failed(404, "not_found_error", "model: claude-x")}, model.ErrUnknownModel, "Did you mean claude-xy?"},
		{"too long", []answer{failed(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")}, model.ErrContextLength, "context window"},
		{"too long with the answer", []answer{failed(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000")}, model.ErrContextLength, "context window"},
		{"too large", []answer{failed(413, "request_too_large", "Request exceeds the maximum size")}, model.ErrContextLength, "maximum size"},
		{"a web page", []answer{{Status: 403, Raw: "<html><title>Blocked</title>"}}, model.ErrRejected, `a web page ("Blocked"), possibly from a proxy`},
		{"busy", []answer{{Status: 429, Header: map[string]string{"Retry-After-Ms": "3"}, Raw: failed(429, "rate_limit_error", "slow down").Raw}, done}, "", "[rate limited, retrying"},
		{"overloaded", []answer{failed(529, "overloaded_error", "Overloaded"), done}, "", "[server error 529, retrying"},
		{"a server error", []answer{failed(500, "api_error", "Internal server error"), done}, "", "[server error 500, retrying"},
		{"overloaded in the stream", []answer{{Error: "overloaded_error"}, done}, "", "[server error 503, retrying"},
		{"a stream that stops at once", []answer{{Text: "a", Faults: faults{Cut: 5}}, done}, "", "[answer cut off, retrying"},
		{"an empty answer", []answer{{Raw: " "}, done}, "", "["},
		{"malformed JSON once", []answer{{Raw: badEvent}, done}, "", "[answer not understood, retrying"},
		{"malformed JSON again", []answer{{Raw: badEvent}, {Raw: badEvent}}, model.ErrWire, "can't read an event"},
		{"two answers in one stream", []answer{{Raw: events(starts, starts, begin(0, useF))}, done}, "", "[answer cut off, retrying"},
		{"a block that isn't one", []answer{{Raw: events(starts, begin(0, `7`))}}, model.ErrWire, "can't read an event"},
		{"arguments of no call", []answer{{Raw: events(starts, piece(0, args("{")))}}, model.ErrWire, "didn't begin"},
		{"an error without a type", []answer{{Raw: "data: {\"error\":{\"message\":\"no such thing\",\"code\":400}}\n\n"}}, model.ErrRejected, "no such thing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, srv := open(t, script{Models: []string{"claude-xy"}, Answers: tt.answers})
			got, err := play(t.Context(), m, request("hi"))
			if tt.kind == "" {
				if err != nil || !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "]done\n") {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) || strings.Contains(fmt.Sprintf("%v %+v", err, err), key) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if tt.kind == model.ErrCredentials && !strings.Contains(err.Error(), srv.URL) {
				t.Errorf("%v doesn't name the endpoint", err)
			}
		})
	}
}

// After the first piece of an answer, an error ends it: nothing is sent again, and no call comes twice.
func TestFailuresInTheMiddle(t *testing.T) {
	full := answer{Thought: "t", Signature: "s", Text: "Half", Calls: []call{{ID: "a", Name: "f"}}}
	said := "(t)\nsealed anthropic claude-x " + `{"signature":"s","thinking":"t","type":"thinking"}` + "\nHalf\na f {}"
	with := func(kind string) answer { a := full; a.Error = kind; return a }
	cut := full
	cut.Raw = strings.TrimSuffix(stream(t, full), events(over))
	cut.Raw = cut.Raw[:strings.Index(cut.Raw, "event: message_delta")]
	for _, tt := range []struct {
		name string
		a    answer
		kind model.Kind
	}{
		{"overloaded", with("overloaded_error"), model.ErrServer},
		{"rate limit", with("rate_limit_error"), model.ErrRateLimit},
		{"server error", with("api_error"), model.ErrServer},
		{"rejected", with("invalid_request_error"), model.ErrRejected},
		{"the stream ends", cut, model.ErrCut},
		{"not JSON", answer{Raw: cut.Raw + "data: {\n\ndata: {}\n\n"}, model.ErrWire},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, srv := open(t, script{Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			if got != said || !errors.Is(err, tt.kind) || len(srv.Requests()) != 1 {
				t.Errorf("%q, %v after %d requests", got, err, len(srv.Requests()))
			}
		})
	}
}

// A refusal without an answer is an error with the server's reason; its tokens are counted.
func TestRefusal(t *testing.T) {
	const details = `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not\n this."}},"usage":{"output_tokens":7}}`
	for name, tt := range map[string]struct{ end, want string }{
		"with details": {details, "the server refused to answer (category cyber): Not this.\nRephrase the prompt, or use another model."},
		"without":      {ends("refusal"), "the server refused to answer\nRephrase the prompt, or use another model."},
	} {
		m, srv := open(t, script{Answers: []answer{{Raw: events(starts, tt.end, over)}}})
		got, err := play(t.Context(), m, request("hi"))
		if got != "\nusage 5 7 0 0 0" || !errors.Is(err, model.ErrRejected) || err.Error() != tt.want || len(srv.Requests()) != 1 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What is incomplete when the stream breaks is not emitted, except for text.
func TestSalvage(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		want   string
	}{
		"half a character": {[]string{starts, begin(0, noText), piece(0, text(`a\ud83d`))}, "a\ufffd"},
		"an open call":     {[]string{starts, begin(0, noText), piece(0, text("a")), stop(0), begin(1, useF), piece(1, args("{}"))}, "a"},
		"a held call":      {[]string{starts, begin(0, noText), piece(0, text("a")), stop(0), begin(1, useF), piece(1, args("{")), stop(1)}, "a"},
		"open thinking":    {[]string{starts, begin(0, noThink), piece(0, `{"type":"thinking_delta","thinking":"t"}`)}, "(t)"},
	} {
		m, _ := open(t, script{Answers: []answer{{Raw: events(tt.events...)}}})
		if got, err := play(t.Context(), m, request("hi")); got != tt.want || !errors.Is(err, model.ErrCut) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestNoKey(t *testing.T) {
	srv, err := anthropictest.Start(script{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m := connect(t, srv.URL, func(o *anthropic.Options) { o.Key = "" })
	if _, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrCredentials) || !strings.HasSuffix(err.Error(), "\nThe server requires an API key. Set ANTHROPIC_API_KEY.") {
		t.Errorf("got %v", err)
	}
}

// A proxy that answers everything with a page.
func TestWebPage(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>login</html>")) }))
	defer srv.Close()
	if _, err := play(t.Context(), connect(t, srv.URL), request("hi")); !errors.Is(err, model.ErrWire) || !strings.Contains(err.Error(), "web page") {
		t.Errorf("got %v", err)
	}
}

// A server that goes silent in the middle of an answer. On a slow machine that may be before the text was read.
func TestSilence(t *testing.T) {
	silent := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(events(starts, begin(0, noText), piece(0, text("Half")))))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(silent)
	m := connect(t, srv.URL, func(o *anthropic.Options) { o.NextByte = 50 * time.Millisecond })
	if got, err := play(t.Context(), m, request("hi")); !strings.HasPrefix("Half", got) || !errors.Is(err, model.ErrTimeout) {
		t.Errorf("%q, %v", got, err)
	}
}
