// Package gateway forwards the model requests of tasks. It listens on loopback, adds the key, counts the cost of requests,
// and enforces the limits that all workers share.
//
//	g, err := gateway.Listen(limits)
//	…
//	url := g.Admit(token, gateway.Guest{Upstream: up, …})
//
// Requests of any of Adze's model APIs pass unchanged, apart from the key.
package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/model"
)

// Counters are shared by all workers.
type Counters interface {
	Add(ctx context.Context, name string, n int64) (int64, error)
	Hold(ctx context.Context, key string, until time.Time) error
	Held(ctx context.Context, key string) (time.Time, error)
	Now() time.Time
}

// Limits apply to each key, over all workers. 0 means no limit.
type Limits struct {
	Requests int64 // per minute
	Tokens   int64 // per minute
}

// Guest is a task that sends requests.
type Guest struct {
	Run, Token string // names of the counters
	Upstream   models.Upstream
	MaxCost    func(context.Context) (float64, error) // of the run; 0: no limit
	TaskCost   float64                                // limit of the task; 0: none
	// Owns returns an error if the worker no longer has the task.
	Owns func(context.Context) error
}

// Reason is why a request was rejected.
type Reason string

// Reasons.
const (
	RunCap  Reason = "the run's cost limit is reached"
	TaskCap Reason = "the task's cost limit is reached"
	Stopped Reason = "the worker stops"
	NotOwn  Reason = "the task belongs to another worker"
	NoQueue Reason = "the queue can't be reached"
)

// Gateway forwards requests.
type Gateway struct {
	limits   Limits
	counters Counters
	server   *http.Server
	address  string
	client   *http.Client
	stuck    time.Duration // stuckTime

	mu     sync.Mutex
	guests map[string]*guest
	totals Totals
}

// Totals are the usage of a gateway's requests so far.
type Totals struct {
	Requests int64
	Input    int64 // tokens
	Output   int64
	Cost     float64 // US dollars
}

// Totals returns the usage so far.
func (g *Gateway) Totals() Totals {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.totals
}

// count adds a request that has ended, with its cost in millionths of a US dollar.
func (g *Gateway) count(used model.Usage, cost int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &g.totals
	t.Requests, t.Input, t.Output, t.Cost = t.Requests+1, t.Input+int64(used.Input), t.Output+int64(used.Output), t.Cost+float64(cost)/1e6
}

type guest struct {
	Guest
	key string // hash of the API key: the name of its counters

	mu      sync.Mutex
	refused Reason
	stopped bool
}

// Listen starts a gateway on a free port of loopback.
func Listen(c Counters, l Limits) (*Gateway, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	g := &Gateway{
		limits: l, counters: c, address: listener.Addr().String(), guests: map[string]*guest{}, stuck: stuckTime,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

// Close ends all requests.
func (g *Gateway) Close() error {
	err := g.server.Close()
	g.client.CloseIdleConnections()
	return err
}

// Admit lets a task send requests with a token, and returns the base URL for them.
func (g *Gateway) Admit(token string, v Guest) (string, error) {
	up, err := url.Parse(v.Upstream.Options.BaseURL)
	if err != nil || up.Host == "" {
		return "", fmt.Errorf("invalid URL of the model server: %s", v.Upstream.Options.URLName)
	}
	sum := sha256.Sum256([]byte(v.Upstream.Options.BaseURL + "\n" + v.Upstream.Options.Key))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guests[token] = &guest{Guest: v, key: hex.EncodeToString(sum[:8])}
	return "http://" + g.address + up.Path, nil
}

// Stop rejects further requests of a task.
func (g *Gateway) Stop(token string) {
	if v := g.guest(token); v != nil {
		v.mu.Lock()
		v.stopped = true
		v.mu.Unlock()
	}
}

// Dismiss removes a task, and returns why its last requests were rejected; "": they weren't.
func (g *Gateway) Dismiss(token string) Reason {
	v := g.guest(token)
	if v == nil {
		return ""
	}
	g.mu.Lock()
	delete(g.guests, token)
	g.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.refused
}

func (g *Gateway) guest(token string) *guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.guests[token]
}

// keyHeaders are the headers with keys, of all APIs.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}

// find finds the task of a request, by the token in place of a key.
func (g *Gateway) find(r *http.Request) (*guest, string) {
	for _, h := range keyHeaders {
		token := strings.TrimPrefix(r.Header.Get(h), "Bearer ")
		if v := g.guest(token); v != nil && token != "" {
			return v, token
		}
	}
	return nil, ""
}

// maxBody is the largest request.
const maxBody = 256 << 20

// ServeHTTP forwards a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, token := g.find(r)
	if v == nil {
		refuse(w, http.StatusUnauthorized, "unknown token")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	ctx := r.Context()
	if reason := v.may(ctx); reason != "" {
		g.deny(w, v, reason)
		return
	}
	if r.Method != http.MethodPost { // a list of models costs nothing
		_ = g.forward(w, r, v, token, body, nil)
		return
	}
	b := g.bill(v, body)
	if err := b.reserve(ctx); err != nil {
		var reason reasonError
		if errors.As(err, &reason) {
			g.deny(w, v, reason.Reason)
			return
		}
		v.refuse(NoQueue)
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%s: %v", NoQueue, err))
		return
	}
	defer b.settle()
	v.reached()
	if reason := v.may(ctx); reason != "" { // reserving may have taken minutes
		g.deny(w, v, reason)
		return
	}
	b.sent = true
	if err := g.forward(w, r, v, token, body, b); err != nil && ctx.Err() == nil {
		refuse(w, http.StatusBadGateway, "the model server can't be reached: "+err.Error())
	}
}

// may returns why the task may send no request; "": it may.
func (v *guest) may(ctx context.Context) Reason {
	if v.isStopped() {
		return Stopped
	}
	switch err := v.Owns(ctx); {
	case err == nil:
		return ""
	case ctx.Err() != nil: // it waited for the queue
		return NoQueue
	}
	return NotOwn
}

func (v *guest) isStopped() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stopped
}

// refuse records why a request was rejected.
func (v *guest) refuse(reason Reason) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refused = reason
}

// reached records that the queue can be reached again.
func (v *guest) reached() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refused == NoQueue {
		v.refused = ""
	}
}

func (g *Gateway) deny(w http.ResponseWriter, v *guest, reason Reason) {
	v.refuse(reason)
	refuse(w, http.StatusForbidden, string(reason))
}

// refuse sends an error in a format that all of Adze's adapters read.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	quoted, _ := json.Marshal(text) // strconv.Quote writes \x00, which isn't JSON
	fmt.Fprintf(w, `{"type":"error","error":{"type":"gateway","message":%s}}`, quoted)
}

// forward sends a request to the model server and its answer to the task. If the server is busy, it waits as long as the
// server asks, and so do all workers.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, v *guest, token string, body []byte, b *bill) error {
	for {
		if err := g.awaitHold(r.Context(), v.key); err != nil {
			return err
		}
		answer, err := g.send(r, v, token, body)
		if err != nil {
			return err
		}
		if wait, busy := busyFor(answer); busy {
			answer.Body.Close()
			if err := g.counters.Hold(r.Context(), v.key, g.counters.Now().Add(wait)); err != nil {
				return err
			}
			continue
		}
		return copyAnswer(w, answer, b)
	}
}

func (g *Gateway) send(r *http.Request, v *guest, token string, body []byte) (*http.Response, error) {
	up, err := url.Parse(v.Upstream.Options.BaseURL)
	if err != nil {
		return nil, err
	}
	to := *r.URL
	to.Scheme, to.Host, to.User = up.Scheme, up.Host, up.User
	if up.RawQuery != "" {
		to.RawQuery = strings.Trim(up.RawQuery+"&"+to.RawQuery, "&")
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	for _, h := range []string{"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Accept-Encoding"} {
		out.Header.Del(h)
	}
	for _, h := range keyHeaders {
		value := out.Header.Get(h)
		switch {
		case !strings.Contains(value, token):
		case v.Upstream.Options.Token != nil:
			out.Header.Del(h)
			bearer, err := v.Upstream.Options.Token(r.Context())
			if err != nil {
				return nil, err
			}
			out.Header.Set("Authorization", "Bearer "+bearer)
		case v.Upstream.Options.KeyHeader != "":
			out.Header.Del(h)
			out.Header.Set(v.Upstream.Options.KeyHeader, v.Upstream.Options.Key)
		case v.Upstream.Options.Key == "":
			out.Header.Del(h)
		default:
			out.Header.Set(h, strings.Replace(value, token, v.Upstream.Options.Key, 1))
		}
	}
	for name, value := range v.Upstream.Options.Headers {
		out.Header.Set(name, value)
	}
	return g.client.Do(out)
}

// longestWait is the longest accepted Retry-After.
const longestWait = 10 * time.Minute

// busyFor reports whether the server is busy, and for how long.
func busyFor(r *http.Response) (time.Duration, bool) {
	if r.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	text := r.Header.Get("Retry-After")
	if text == "" {
		return 0, false // waiting may not help: the task decides
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return min(time.Duration(s*float64(time.Second)), longestWait), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(r.Header.Get("Date")) // the server's clock may differ
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), longestWait), true
}

// awaitHold waits until requests of a key may be sent.
func (g *Gateway) awaitHold(ctx context.Context, key string) error {
	for {
		until, err := g.counters.Held(ctx, key)
		wait := until.Sub(g.counters.Now())
		if err != nil { // the queue can't be reached
			wait = retryTime
		}
		if wait <= 0 {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// copyAnswer forwards an answer as it arrives.
func copyAnswer(w http.ResponseWriter, answer *http.Response, b *bill) error {
	defer answer.Body.Close()
	for name, values := range answer.Header {
		if name != "Content-Length" && name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	if b != nil && answer.StatusCode == http.StatusOK {
		b.answered = true
	}
	w.WriteHeader(answer.StatusCode)
	control := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			b.read(buffer[:n])
			if _, err := w.Write(buffer[:n]); err != nil {
				return nil // the task has ended
			}
			_ = control.Flush()
		}
		if err != nil {
			if err != io.EOF {
				panic(http.ErrAbortHandler) // the answer was cut off, so cut off ours
			}
			return nil
		}
	}
}
