package discover

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	missing := Server{Command: "no-such-server-of-ours"}
	silent, headers := self(t, "silent"), self(t, "headers")
	silent.StartTimeout, headers.StartTimeout = 1000, 1000
	d := open(t, map[string]Server{
		"silent": silent, "exit": self(t, "exit"), "garbage": self(t, "garbage-forever"), "missing": missing,
		"hangup": self(t, "hangup"), "headers": headers,
		"nowhere": {HTTPURL: "http://127.0.0.1:1/mcp"}, "nothing": {}, "file": {URL: "file:///etc/passwd"}, "good": self(t, "plain"),
	}, Options{Start: time.Hour})
	err := d.Wait(t.Context())
	for _, want := range []string{
		"silent: no response within 1 s", "exit: the server exited with code 1; stderr: cannot go on", "garbage: it printed ",
		"missing: command \"no-such-server-of-ours\" not found in PATH", "nowhere: ", "refused",
		"hangup: the server closed its output", "headers: no response within 1 s",
		"nothing: invalid configuration: no command", `file: invalid configuration: url: "file:///etc/passwd" is not an http`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if o := d.call(t.Context(), "good__echo", `{"text":"x"}`); o.Result.Text() != "echo x" {
		t.Error(o.Result.Text())
	}
	for _, st := range d.List() {
		if (st.State == Failed) != (st.Alias != "good") || st.State == Failed && st.Err == nil {
			t.Errorf("%s: %s %v", st.Alias, st.State, st.Err)
		}
		if err := d.WaitFor(t.Context(), st.Alias); (err == nil) != (st.Alias == "good") { // it failed before
			t.Errorf("%s: %v", st.Alias, err)
		}
	}
	lines, _ := d.Logs("exit")
	if !strings.Contains(strings.Join(lines, "\n"), "stderr: cannot go on") {
		t.Errorf("%q", lines)
	}
}

// The error of a start shows the output of a server that uses another protocol.
func TestOutputOfAStart(t *testing.T) {
	t.Parallel()
	longer(t, func(limit time.Duration) error {
		conf := self(t, "headers")
		conf.StartTimeout = limit.Milliseconds()
		d := open(t, map[string]Server{"fake": conf}, Options{})
		err := d.Wait(t.Context())
		want := fmt.Sprintf(`no response within %s; it printed "Content-Length: 40", which is not a message (MCP expects one JSON object per line)`, humanize.Wait(limit))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			return fmt.Errorf("%v, want %s", err, want)
		}
		return nil
	})
}

// Over HTTP the SDK parses responses. An unreadable one is reported as unreadable, and the connection stays open.
func TestUnreadableAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"hologram"}]}`,
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m fakeMessage
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if results[m.Method] == "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[m.Method])
	}))
	defer web.Close()
	d := open(t, map[string]Server{"web": {HTTPURL: web.URL}}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := d.call(t.Context(), "web__odd", `{}`)
	if o.Error == nil || !strings.Contains(o.Error.Message, "odd on web: the call ran, but its response can't be read: ") {
		t.Errorf("%+v", o.Error)
	}
	if st := d.List()[0]; st.Starts != 1 || st.State != Ready {
		t.Errorf("%+v", st)
	}
}

func TestCrashInTheMiddle(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	o := d.call(t.Context(), "fake__crash", `{}`)
	if o.Error == nil || o.Error.Type != FailedMCP || !strings.Contains(o.Error.Message, "code 3; stderr: fatal: out of luck). The call may still have taken effect") {
		t.Errorf("%+v", o.Error)
	}
	if o := d.call(t.Context(), "fake__echo", `{"text":"again"}`); o.Result.Text() != "echo again" {
		t.Errorf("after the crash: %+v", o)
	}
	// A read-only call is retried.
	mark := filepath.Join(t.TempDir(), "mark")
	if o := d.call(t.Context(), "fake__crash_read", fmt.Sprintf(`{"text":%q}`, mark)); o.Result.Text() != "second try" {
		t.Errorf("%+v", o)
	}
	if st := d.List()[0]; st.Starts < 3 || st.State != Ready {
		t.Errorf("%+v", st)
	}
}

// A server that keeps crashing restarts after increasing delays.
func TestBackoff(t *testing.T) {
	t.Parallel()
	want := []time.Duration{0, 0, 250 * time.Millisecond, 500 * time.Millisecond, time.Second}
	for i, w := range want {
		if got := backoff(i); got != w {
			t.Errorf("after %d failures %s, want %s", i, got, w)
		}
	}
	if got := backoff(1000); got != maxBackoff {
		t.Error(got)
	}
	d := open(t, map[string]Server{"exit": self(t, "exit")}, Options{})
	d.Wait(t.Context())
	l := d.links["exit"]
	l.mu.Lock()
	l.failures, l.notBefore = 9, time.Now().Add(time.Minute)
	l.mu.Unlock()
	if _, err := l.acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "failed 9 times in a row, next attempt in 1m0s") {
		t.Error(err)
	}
}

func TestCallThatNeverEnds(t *testing.T) {
	t.Parallel()
	longer(t, func(limit time.Duration) error {
		o := ready(t, "plain", Options{Call: limit}).call(t.Context(), "fake__hang", `{}`)
		if o.Error == nil || o.Error.Type != tool.ExecutionTimeout {
			t.Errorf("%+v", o.Error)
		} else if !strings.Contains(o.Error.Message, "may still have taken effect") {
			return errors.New(o.Error.Message) // not yet sent
		}
		return nil
	})
}

func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	step := filepath.Join(t.TempDir(), "step")
	next := func(i int) {
		if err := os.WriteFile(step+strconv.Itoa(i), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	var shown []tool.Display
	d.x.Observe = func(ev tool.Event) {
		if ev.Stage == tool.Showing {
			shown = append(shown, ev.Display)
			next(len(shown))
		}
	}
	next(0)
	if o := d.call(t.Context(), "fake__progress", fmt.Sprintf(`{"text":%q}`, step)); o.Result.Text() != "done" {
		t.Errorf("%+v", o.Error)
	}
	want := []tool.Display{Progress{1, 5, "step"}, Progress{2, 5, "step"}, Progress{3, 5, "step"}, Progress{4, 5, "step"}, Progress{5, 5, "step"}}
	if n := len(shown); n < 4 || n > 5 || !slices.Equal(shown, want[:n]) { // the last one can arrive with the result
		t.Errorf("%+v", shown)
	}
}

// fresh returns the desk with a new executor: an executor's fields can only be set before its first call.
func (d *desk) fresh() *desk {
	x := &tool.Executor{Registry: d.Registry, Policy: d.x.Policy, Ask: d.x.Ask, Observe: d.x.Observe}
	return &desk{d.Servers, d.Registry, x}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	logged := func(text string) func() bool {
		return func() bool {
			lines, _ := d.Logs("fake")
			return strings.Contains(strings.Join(lines, "\n"), text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Outcome)
	go func() { done <- d.call(ctx, "fake__hang", `{}`) }()
	waittest.Until(t, "the server has the call", logged("stderr: hanging"))
	cancel()
	if o := <-done; o.Status != tool.StatusCancelled {
		t.Errorf("%s", o.Status)
	}
	waittest.Until(t, "the server gets the cancellation", logged("info: cancelled"))
}

func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	if o := d.call(t.Context(), "fake__twice", `{}`); o.Result.Text() != "first" {
		t.Errorf("%+v", o)
	}
	if o := d.call(t.Context(), "fake__flood", `{}`); !strings.HasPrefix(o.Result.Text(), "flooded") {
		t.Errorf("%+v", o)
	}
	if o := d.call(t.Context(), "fake__echo", `{"text":"still"}`); !strings.HasPrefix(o.Result.Text(), "echo still") {
		t.Errorf("%+v", o)
	}
	if o := d.call(t.Context(), "fake__structured", `{}`); !strings.HasPrefix(o.Result.Text(), `{"n": 1}`) || strings.Contains(o.Result.Text(), `{"n":1}`) {
		t.Errorf("%+v", o.Result)
	}
	if st := d.List()[0]; st.Starts != 1 {
		t.Errorf("it was started %d times", st.Starts)
	}
}

// A server that prints endless output after its start is stopped with an error, and its log stays small.
func TestChatterAfterTheStart(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	d := open(t, map[string]Server{"fake": self(t, "chatter"), "good": self(t, "plain")}, Options{State: state})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server is stopped", func() bool {
		if o := d.call(t.Context(), "good__echo", `{"text":"x"}`); o.Status != tool.StatusSuccess { // other servers work
			t.Fatal(o)
		}
		return d.List()[0].Err != nil
	})
	const message = `it printed \d+ lines in a row that are not MCP messages, starting with "y+… [^"]*", and was stopped`
	if err := d.List()[0].Err; err == nil || !regexp.MustCompile(message).MatchString(err.Error()) {
		t.Error(err)
	}
	d.Servers.Close()
	if lines, err := LogFile(state, "fake"); err != nil || len(lines) > 900 {
		t.Errorf("%d lines in the log, %v", len(lines), err)
	}
}

func TestHugeAnswer(t *testing.T) {
	conf := self(t, "plain")
	gate := filepath.Join(t.TempDir(), "gate")
	conf.Env["ADZE_FAKE_SIZE"], conf.Env["ADZE_FAKE_GATE"] = strconv.Itoa(soak.Count(32, 1024)), gate
	d := open(t, map[string]Server{"huge": conf, "good": self(t, "plain")}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	resetPeak()
	before := peakMB() // includes memory of earlier tests; cmd/adze measures the whole program
	done := make(chan tool.Outcome)
	go func() { done <- d.call(t.Context(), "huge__huge", `{}`) }()
	other := d.fresh()
	for range 10 { // another server's calls run while this answer is incomplete
		if o := other.call(t.Context(), "good__echo", `{"text":"x"}`); o.Status != tool.StatusSuccess {
			t.Fatal(o)
		}
	}
	openGate(t, gate)
	o := <-done
	if o.Error == nil || !strings.Contains(o.Error.Message, "MB (limit: 10 MB)") {
		t.Errorf("%+v", o.Error)
	}
	if peak := peakMB(); peak > 0 {
		t.Logf("peak RSS %d MB, %d before", peak, before)
		if peak > before+48 && !plainadze.RaceEnabled {
			t.Errorf("peak RSS %d MB, %d before", peak, before)
		}
	}
	if o := d.call(t.Context(), "huge__echo", `{"text":"x"}`); o.Result.Text() != "echo x" {
		t.Errorf("%+v", o)
	}
}

// resetPeak resets peakMB to the current resident memory.
func resetPeak() {
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMB returns the highest resident memory since resetPeak; 0 if unknown.
func peakMB() int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	kb := 0
	for scan := bufio.NewScanner(f); scan.Scan(); {
		fmt.Sscanf(scan.Text(), "VmHWM: %d kB", &kb)
	}
	return kb >> 10
}

// Close stops servers that ignore the end of their input, and processes they started.
func TestCloseEndsEverything(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("process groups are not killed on Windows")
	}
	d := open(t, map[string]Server{"stubborn": self(t, "stubborn"), "orphan": self(t, "orphan"), "good": self(t, "plain")}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	running := map[string]*stdio.Process{}
	for alias, l := range d.links {
		l.mu.Lock()
		running[alias] = l.session.proc
		l.mu.Unlock()
	}
	d.Servers.Close()
	for alias, p := range running {
		select {
		case <-p.Gone():
		default:
			t.Errorf("%s still runs", alias)
		}
	}
	if o := d.call(t.Context(), "good__echo", `{}`); o.Error == nil || !strings.Contains(o.Error.Message, ErrClosed.Error()) {
		t.Errorf("%+v", o)
	}
}

// Servers that start, crash and stop many times leave no file open.
func TestNoFileIsLeftOpen(t *testing.T) {
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("there is no /proc")
		}
		return len(fds)
	}
	round := func() {
		d := ready(t, "plain", Options{State: t.TempDir()})
		d.call(t.Context(), "fake__crash", `{}`)
		d.call(t.Context(), "fake__echo", `{}`)
		d.Servers.Close()
	}
	round()
	before := count()
	for range 3 {
		round()
	}
	waittest.Until(t, "all files are closed", func() bool { return count() <= before }) // pipes close after the process
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	o := d.call(t.Context(), "fake__ask", `{}`)
	if text := o.Result.Text(); !strings.Contains(text, `"action":"decline"`) || !strings.Contains(text, "non-interactive") {
		t.Errorf("headless: %s", text)
	}
	d.x.Ask = func(ctx context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		// as the server wrote it: fields used to be in alphabetical order
		if want := `{"type":"object","properties":{"size":{"type":"string"},"colour":{"type":"string"}},"required":["colour"]}`; string(r.Form) != want || r.Confirm.Markdown() != tool.Literal("which?").Markdown() {
			t.Errorf("asked %q with %s", r.Confirm, r.Form)
		}
		return tool.Decision{Verdict: tool.Allow, Answer: json.RawMessage(`{"colour":"blue"}`)}, nil
	}
	if o := d.fresh().call(t.Context(), "fake__ask", `{}`); !strings.Contains(o.Result.Text(), `"colour":"blue"`) || !strings.Contains(o.Result.Text(), `"accept"`) {
		t.Errorf("%+v", o)
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	asked := 0
	d := ready(t, "plain", Options{Sample: func(_ context.Context, s Sampling) (Sampled, error) {
		if s.System != "be short" || len(s.Messages) != 1 || s.Messages[0].Content != tool.Text("hi") || asked != 1 {
			t.Errorf("%+v, asked %d times", s, asked)
		}
		return Sampled{Text: "hello", Model: "m"}, nil
	}})
	d.x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		asked++
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	if o := d.call(t.Context(), "fake__sample", `{}`); !strings.Contains(o.Result.Text(), "hello") {
		t.Errorf("%+v", o)
	}
}

func TestNewProtocolOnly(t *testing.T) {
	t.Parallel()
	d := ready(t, "new-only", Options{})
	if o := d.call(t.Context(), "fake__echo", `{"text":"new"}`); o.Result.Text() != "echo new" {
		t.Errorf("%+v", o)
	}
}
