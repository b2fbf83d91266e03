package responses_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/responses"
	"github.com/adze-dev/adze/model/responses/responsestest"
)

// Failures before the answer: their kind, their text, and how often the request is sent.
func TestFailures(t *testing.T) {
	object := func(message, kind, param, code string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":"` + param + `","code":"` + code + `"}}`
	}
	ok := answer{Text: "a"}
	for name, c := range map[string]struct {
		answers []answer
		effort  string
		kind    model.Kind // "": it succeeds in the end
		want    string
	}{
		"effort in the text": {[]answer{{Status: 400, Raw: object("Unsupported value: 'reasoning.effort' does not support 'max' with this model.", "invalid_request_error", "reasoning.effort", "unsupported_value")}},
			"max", model.ErrRejected, `The model doesn't accept effort "max". Use another value for --effort, or none.`},
		"effort only as the parameter": {[]answer{{Status: 400, Raw: object("Unsupported value: 'max' is not supported with the 'gpt-5.5' model.", "invalid_request_error", "reasoning.effort", "unsupported_value")}},
			"max", model.ErrRejected, `The model doesn't accept effort "max".`},
		"rate limit":    {[]answer{{Status: 429, Raw: object("Rate limit reached.", "tokens", "", "rate_limit_exceeded"), Header: map[string]string{"Retry-After-Ms": "1"}}, ok}, "", "", "text a"},
		"quota":         {[]answer{{Status: 429, Raw: object("You exceeded your current quota.", "insufficient_quota", "", "insufficient_quota")}}, "", model.ErrQuota, "Retrying doesn't help"},
		"server error":  {[]answer{{Status: 500, Raw: "oops"}, {Status: 503, Raw: "<html><title>busy</title></html>"}, ok}, "", "", "text a"},
		"too long":      {[]answer{{Status: 400, Raw: object("Your input exceeds the context window of this model.", "invalid_request_error", "input", "context_length_exceeded")}}, "", model.ErrContextLength, "context window"},
		"a page":        {[]answer{{Raw: "<html><title>Login</title></html>"}}, "", model.ErrWire, "web page"},
		"not JSON once": {[]answer{{Raw: "data: {oops\n\n" + frames(completed)}, ok}, "", "", "text a"},
		"not JSON":      {[]answer{{Raw: "data: {oops\n\n" + frames(completed)}, {Raw: "data: {oops\n\n"}}, "", model.ErrWire, "can't read an event"},
		"not an item":   {[]answer{{Raw: frames(`{"type":"response.output_item.done","item":[]}`, completed)}}, "", model.ErrWire, "can't read an item"},
		"not an answer": {[]answer{{Raw: `{"a":1}`}}, "", model.ErrWire, "no output"},
		"no name":       {[]answer{{Raw: frames(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c"}}`, completed)}}, "", model.ErrWire, "without a name"},

		"an error event":            {[]answer{{Raw: frames(`{"type":"error","code":"server_error","message":"Oops.","param":null}`)}, ok}, "", "", "text a"},
		"an error event, inside":    {[]answer{{Raw: frames(`{"type":"error","error":{"type":"server_error","code":"server_error","message":"Oops."}}`)}, ok}, "", "", "text a"},
		"an error without a type":   {[]answer{{Raw: frames(`{"error":{"message":"Oops."}}`)}, ok}, "", "", "text a"},
		"a failed response":         {[]answer{{Error: "server_error"}, ok}, "", "", "text a"},
		"a failed response, alone":  {[]answer{{Raw: `{"status":"failed","error":{"code":"server_error","message":"Oops."},"output":[]}`}, ok}, "", "", "text a"},
		"a canceled response":       {[]answer{{Raw: frames(`{"type":"response.cancelled","response":{"status":"cancelled"}}`)}, ok}, "", "", "text a"},
		"a rate limit in an event":  {[]answer{{Error: "rate_limit_exceeded"}, ok}, "", "", "text a"},
		"a quota in an event":       {[]answer{{Error: "insufficient_quota"}}, "", model.ErrQuota, "insufficient_quota"},
		"too long in an event":      {[]answer{{Error: "context_length_exceeded"}}, "", model.ErrContextLength, "context window"},
		"a bad prompt in an event":  {[]answer{{Error: "invalid_prompt"}}, "", model.ErrRejected, "invalid_prompt"},
		"a bad image in an event":   {[]answer{{Error: "image_too_small"}}, "", model.ErrRejected, "image_too_small"},
		"reasoning, then an error":  {[]answer{{Encrypted: "gA", Error: "server_error"}, ok}, "", "", "text a"},
		"a call, then cut":          {[]answer{{Raw: frames(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}}`, `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}`)}, ok}, "", "", "text a"},
		"reasoning, then cut":       {[]answer{{Encrypted: "gA", Text: "a", Faults: faults{Cut: 1400}}, ok}, "", "", "text a"},
		"nothing at all":            {[]answer{{Raw: " \n"}, ok}, "", "", "text a"},
		"an empty stream":           {[]answer{{Raw: ": hi\n\n"}, ok}, "", "", "text a"},
		"[DONE] in place of an end": {[]answer{{Raw: frames("[DONE]")}, ok}, "", "", "text a"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := open(t, script{Answers: c.answers})
			r := request("hi")
			r.Effort = c.effort
			got, err := play(t.Context(), m, r)
			if c.kind == "" && (err != nil || !strings.Contains(got, "retry ") || !strings.Contains(got, c.want)) {
				t.Errorf("%v: %s", err, got)
			}
			if c.kind != "" && (!errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key)) {
				t.Errorf("%s: %v\nwant %s %s", got, err, c.kind, c.want)
			}
		})
	}
}

// A stream that breaks off anywhere is an error after the first event, or sent again before it. No call comes twice, and
// none that isn't complete.
func TestCutAnywhere(t *testing.T) {
	a := answer{Thought: "hm", Encrypted: "gA", Text: "Grüße", Calls: []call{{ID: "c1", Name: "f", Args: []byte(`{"a":1}`)}, {ID: "c2", Name: "f", Args: []byte(`{"b":2}`)}}}
	whole := responsestest.Serve(t, script{Answers: []answer{a}})
	resp, err := http.Post(whole.URL+"/responses", "application/json", strings.NewReader(`{"model":"gpt-5.5","input":"hi","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var length int
	for buf := make([]byte, 1<<10); err == nil; {
		var n int
		n, err = resp.Body.Read(buf)
		length += n
	}
	const step = 31
	want := "thought hm\n" + `sealed {"encrypted_content":"gA","summary":[{"type":"summary_text","text":"hm"}],"type":"reasoning"}` +
		"\ntext Grüße\nc1 f {\"a\":1}\nc2 f {\"b\":2}\nusage 0 0 0 0\nend calls"
	for at := 1; at < length-1; at += step { // the last byte ends a blank line
		for _, f := range []faults{{Cut: at}, {End: at}} {
			cut := a
			cut.Faults = f
			s, err := responsestest.Start(script{Key: key, Answers: []answer{cut, a}})
			if err != nil {
				t.Fatal(err)
			}
			m := connect(t, s.URL)
			got, err := play(t.Context(), m, request("hi"))
			m.Close()
			s.Close()
			if err != nil && !errors.Is(err, model.ErrCut) {
				t.Fatalf("%+v: %v", f, err)
			}
			if strings.HasPrefix(got, "retry ") {
				_, got, _ = strings.Cut(got, "\n")
			}
			if err == nil && got != want || err != nil && !strings.HasPrefix(want, got) && !strings.HasPrefix(want, strings.TrimSuffix(got, "\n")) {
				t.Fatalf("%+v: %v\n%s", f, err, got)
			}
		}
	}
}

// The connection breaks after a call: the call is emitted once, with the error, and nothing is sent again.
func TestCutAfterACall(t *testing.T) {
	const (
		added = `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}`
		whole = `{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"a\":1}"}`
		delta = `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":"}`
		done  = `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}}`
		text  = `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`
		fails = `{"type":"error","error":{"type":"server_error","message":"Oops."}}`
	)
	for name, c := range map[string]struct {
		raw  string
		kind model.Kind
		want string
	}{
		"done":              {frames(text, added, done), model.ErrCut, "text a\nc f {\"a\":1}"},
		"whole":             {frames(text, added, whole), model.ErrCut, "text a\nc f {\"a\":1}"},
		"half":              {frames(text, added, delta), model.ErrCut, "text a"},
		"done, then error":  {frames(text, added, done, fails), model.ErrServer, "text a\nc f {\"a\":1}"},
		"half, then error":  {frames(text, added, delta, fails), model.ErrServer, "text a"},
		"half a character":  {frames(`{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}`), model.ErrCut, "text a\ufffd"},
		"done, then failed": {frames(text, added, done, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops."}}}`), model.ErrServer, "text a\nc f {\"a\":1}"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{{Raw: c.raw}}})
			got, err := play(t.Context(), m, request("hi"))
			if !errors.Is(err, c.kind) || got != c.want {
				t.Errorf("%v: %s\nwant %s", err, got, c.want)
			}
		})
	}
}

// A wrong key is reported with its variable and the endpoint, and the key isn't in the text even if the server repeats it.
func TestWrongKey(t *testing.T) {
	for name, body := range map[string]string{
		"repeated": `{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","code":"invalid_api_key"}}`,
		"plain":    "no",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(body))
		}))
		m := connect(t, srv.URL+"/v1")
		_, err := play(t.Context(), m, request("hi"))
		m.Close()
		srv.Close()
		if !errors.Is(err, model.ErrCredentials) || strings.Contains(err.Error(), key) ||
			!strings.Contains(err.Error(), srv.URL+"/v1/responses") || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// slowBody is a stream with a pause before its end.
type slowBody struct {
	io.Reader
	pause time.Duration
	rest  io.Reader
	err   func() error // of the request's context
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.rest != nil {
		time.Sleep(b.pause) // not synchronization: the clock of a synctest bubble
		b.Reader, b.rest = b.rest, nil
		if err := b.err(); err != nil {
			return 0, err
		}
		return b.Reader.Read(p)
	}
	return n, err
}

func (b *slowBody) Close() error { return nil }

// RoundTrip makes it the answer to a request.
func (b *slowBody) RoundTrip(r *http.Request) (*http.Response, error) {
	b.err = r.Context().Err
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: b, Request: r}, nil
}

// Nothing comes while a model thinks, so a server may be silent for minutes.
func TestSilenceWhileThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &slowBody{
			Reader: strings.NewReader(frames(`{"type":"response.created"}`)), pause: 299 * time.Second,
			rest: strings.NewReader(frames(`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`, completed)),
		}
		m, err := responses.Open(t.Context(), responses.Options{Model: "m", Client: &http.Client{Transport: body}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := play(t.Context(), m, request("hi")); err != nil || got != "text a\nend stop" {
			t.Errorf("%v: %s", err, got)
		}
	})
}

// A server that goes silent is given up after the time set for it.
func TestSilence(t *testing.T) {
	quit := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(frames(`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`)))
		_ = http.NewResponseController(w).Flush()
		<-quit
	}))
	defer srv.Close()
	defer close(quit)
	m, err := responses.Open(t.Context(), responses.Options{BaseURL: srv.URL, Model: "m", NextByte: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrTimeout) || got != "text a" {
		t.Errorf("%v: %s", err, got)
	}
}

// A consumer that stops reading cancels the request.
func TestCancel(t *testing.T) {
	m, _ := open(t, script{Answers: []answer{{Text: strings.Repeat("a", 100), Faults: faults{Split: 1, Pause: modeltest.Duration(time.Millisecond)}}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range m.Stream(ctx, request("hi")) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return
		}
		cancel()
	}
	t.Error("the stream ended without an error")
}

// A model's name may be omitted where the server has a list. Unknown names are reported with those that are near.
func TestNames(t *testing.T) {
	srv := responsestest.Serve(t, script{Models: []string{"gpt-5.5", "gpt-5.4"}, Answers: []answer{
		{Text: "a"}, {Status: 404, Raw: `{"error":{"message":"The model 'gpt-5.6' does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`}}})
	plain := strings.TrimSuffix(srv.URL, "/v1")
	for _, c := range []struct{ url, name, want string }{{plain, "", "gpt-5.5"}, {srv.URL, "gpt-5.6", "gpt-5.6"}} {
		m, err := responses.Open(t.Context(), responses.Options{BaseURL: c.url, Model: c.name})
		if err != nil || m.Name() != c.want {
			t.Fatalf("%v", err)
		}
		_, err = play(t.Context(), m, request("hi"))
		m.Close()
		if c.name != "" && (!errors.Is(err, model.ErrUnknownModel) || !strings.Contains(err.Error(), "gpt-5.5")) || c.name == "" && err != nil {
			t.Errorf("%q: %v", c.name, err)
		}
	}
	if _, err := responses.Open(t.Context(), responses.Options{Key: "k"}); err == nil || !strings.Contains(err.Error(), "OPENAI_MODEL") {
		t.Error(err)
	}
	if _, err := responses.Open(t.Context(), responses.Options{BaseURL: "nonsense"}); err == nil {
		t.Error("a base URL that is none")
	}
	empty := responsestest.Serve(t, script{Models: []string{}})
	if _, err := responses.Open(t.Context(), responses.Options{BaseURL: empty.URL}); err == nil || !strings.Contains(err.Error(), "lists no models") {
		t.Error(err)
	}
}
