// Package openai speaks the chat completions wire of OpenAI and of the many servers that took it over: Ollama,
// llama.cpp, LM Studio, vLLM, OpenRouter, DashScope, DeepSeek and others.
//
//	m, err := openai.Open(ctx, openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//	…
//	defer m.Close()
//	for e, err := range m.Stream(ctx, model.Request{Messages: messages}) { … }
//
// Those servers deviate from each other in every field, so what they send is read with tolerance: pieces of calls
// without index or id, a whole answer where a stream was asked for, streams without their last words. What is not
// forgiven is an answer that breaks off: it is an error, never a shorter answer. The calls that were complete by then are
// handed out before the error. A request is sent again when it failed before any of its answer was handed out, never
// after.
package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/model"
)

// DefaultBaseURL is where OpenAI itself listens.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say where the server is and how to talk to it. The zero value talks to OpenAI, and needs a Key and a Model.
type Options struct {
	BaseURL   string // "" is DefaultBaseURL; "/chat/completions" is added to it
	Key       string // "" sends no Authorization
	Model     string // "": the first one of a BaseURL of one's own
	Images    Images // whether images are sent
	MaxTokens int    // of an answer, where the request says nothing
	Retry     Retry
	FirstByte time.Duration // of silence until the first byte; 0 is 300 s
	NextByte  time.Duration // of silence between two bytes; 0 is 60 s
	Client    *http.Client  // nil: one of its own, with the proxies of the environment
}

// Model is a model behind a server that speaks chat completions.
type Model struct {
	o      Options
	base   *url.URL
	client *http.Client

	mu      sync.Mutex
	quirks  quirks
	schemas map[string]schema // of tools from outside
}

// schema is a tool's schema and what is sent of it.
type schema struct{ original, lowered json.RawMessage }

var _ model.Model = (*Model)(nil)

// Open checks the options and, where they name no model, asks the server for its first one. Otherwise nothing is
// sent.
func Open(ctx context.Context, o Options) (*Model, error) {
	own := o.BaseURL != ""
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	o.Key = strings.TrimSpace(o.Key) // a line end from a file would make a header that cannot be sent
	base, err := url.Parse(strings.TrimRight(o.BaseURL, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, model.Errorf(model.ErrRejected, "invalid base URL %q (expected a URL such as http://127.0.0.1:11434/v1)", o.BaseURL)
	}
	o.FirstByte = cmp.Or(o.FirstByte, 300*time.Second)
	o.NextByte = cmp.Or(o.NextByte, 60*time.Second)
	o.Retry = o.Retry.orDefault()
	m := &Model{o: o, base: base, client: o.Client}
	if m.client == nil {
		m.client = newClient()
	}
	if o.Model != "" {
		return m, nil
	}
	if !own {
		return nil, model.Errorf(model.ErrRejected, "no model name set for %s\nSet OPENAI_MODEL.", o.BaseURL)
	}
	if m.o.Model, err = m.firstModel(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// newClient shares nothing with http.DefaultClient. Compression is off: proxies that compress a stream hold it back.
// The time to the response's header is bounded by patience, which knows why it ended a request.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        10,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
	}}
}

// Name is the model's name.
func (m *Model) Name() string { return m.o.Model }

// address is the server's, without credentials: thoughts go back only to where they came from.
func (m *Model) address() string {
	u := *m.base
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// Close lets go of idle connections.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Stream sends the conversation and yields the answer as it arrives.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		a := &answer{yield: yield, server: m.address()}
		again := retries{Retry: m.o.Retry}
		for {
			f := m.attempt(ctx, r, a)
			if f == nil || errors.Is(f.err, errStopped) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !a.spoken && m.learn(f) {
				continue
			}
			if a.spoken {
				yield(nil, f.err)
				return
			}
			wait, ok := again.next(f)
			if !ok {
				yield(nil, f.err)
				return
			}
			if !yield(model.Retry{Attempt: again.attempts, Wait: wait, Err: f.err}, nil) {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
			*a = answer{yield: yield, server: a.server}
		}
	}
}

// attempt sends the request once and reads the answer.
func (m *Model) attempt(ctx context.Context, r model.Request, a *answer) *failure {
	payload, err := m.encode(r)
	if err != nil {
		return &failure{err: err}
	}
	ctx, p := newPatience(ctx, m.o.FirstByte, m.o.NextByte)
	defer p.stop()
	resp, f := m.send(ctx, http.MethodPost, "/chat/completions", payload)
	if f != nil {
		return f
	}
	defer resp.Body.Close()
	in := bufio.NewReader(body{resp.Body, ctx, p})
	streamed, err := isStream(in)
	if err == nil {
		err = a.read(in, streamed)
	} else {
		err = a.broken(err)
	}
	if err != nil {
		return answerFailure(err)
	}
	return nil
}

// isStream looks at the first byte that is not white: JSON begins with a brace and a stream never does. What servers
// write into Content-Type says less.
func isStream(in *bufio.Reader) (bool, error) {
	for {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, errors.New("the answer is empty")
		}
		if err != nil {
			return false, err
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '<':
			return false, model.Errorf(model.ErrWire, "the server answered with a web page\nCheck the base URL (it usually ends in /v1).")
		}
		return c != '{', in.UnreadByte()
	}
}

// send sends one request and gives the response if it is 200 OK.
func (m *Model) send(ctx context.Context, method, path string, payload []byte) (*http.Response, *failure) {
	target := *m.base
	target.Path += path
	about := method + " " + target.Redacted()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(payload))
	if err != nil {
		return nil, &failure{err: model.Errorf(model.ErrRejected, "%s: %w", about, err)}
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if m.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.o.Key)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, dialFailure(about, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, statusFailure(about, resp, time.Now())
	}
	return resp, nil
}
