package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// desk is a server of a modern version over HTTP, and what ran there.
type desk struct {
	t    *testing.T
	url  string
	runs atomic.Int64
}

func newDesk(t *testing.T, answerTime time.Duration) *desk {
	d := &desk{t: t}
	ran := func(_ context.Context, _ *tool.Live, s string) (tool.Result, error) {
		d.runs.Add(1)
		return tool.TextResult("wrote " + s), nil
	}
	twice := func(ctx context.Context, l *tool.Live, s string) (tool.Result, error) {
		for _, what := range []string{"first", "second"} {
			q := tool.Invocation{Description: what, Access: []tool.Access{{Verb: tool.Writes, Target: "/" + what}}}
			if _, err := l.Ask(ctx, q); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.TextResult("asked twice"), nil
	}
	writes := tool.Access{Verb: tool.Writes, Target: "/x"}
	s := New(Options{Session: func(c Client) (*tool.Executor, func(), error) {
		x, done, err := testSession(c)
		x.Registry = tool.NewRegistry(define("write", tool.Edit, writes, ran), define("remove", tool.Edit, writes, ran),
			define("twice", tool.Other, tool.Nothing, twice))
		return x, done, err
	}})
	s.answerTime = answerTime
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(s.Handler(ctx))
	d.url = server.URL
	t.Cleanup(func() {
		cancel()
		server.Close()
	})
	return d
}

// client is a client of the current protocol that answers nothing by itself.
func (d *desk) client(name string, canAsk bool) *mcp.ClientSession {
	d.t.Helper()
	opt := &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, Capabilities: &mcp.ClientCapabilities{}}
	if canAsk {
		opt.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("a request by the server")
		}
	}
	transport := &http.Transport{}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, opt).Connect(d.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: d.url, HTTPClient: &http.Client{Transport: transport}}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		cs.Close()
		transport.CloseIdleConnections()
	})
	if v := cs.InitializeResult().ProtocolVersion; v != modernVersion {
		d.t.Fatalf("version %s", v)
	}
	return cs
}

func writing(text string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "write", Arguments: map[string]any{"text": text}}
}

// with returns the call with an answer to its question.
func with(p *mcp.CallToolParams, state, action string) *mcp.CallToolParams {
	again := *p
	again.RequestState = state
	again.InputResponses = mcp.InputResponseMap{answerKey: &mcp.ElicitResult{Action: action}}
	return &again
}

// asks makes a call that must end with a question, and returns its state.
func (d *desk) asks(cs *mcp.ClientSession, p *mcp.CallToolParams) (state string) {
	d.t.Helper()
	res, err := cs.CallTool(d.t.Context(), p)
	if err != nil {
		d.t.Fatal(err)
	}
	q, ok := res.InputRequests[answerKey].(*mcp.ElicitParams)
	if !res.NeedsInput() || !ok || res.RequestState == "" {
		d.t.Fatalf("no question: %+v", res)
	}
	if p.Name == "write" && !strings.HasPrefix(q.Message, "Write x\nNeeds approval: it writes") {
		d.t.Error(q.Message)
	}
	if strings.Contains(fmt.Sprint(q.RequestedSchema), "remember") {
		d.t.Errorf("a rule for the session is offered to clients that share it: %v", q.RequestedSchema)
	}
	return res.RequestState
}

// refused makes a call whose state must be rejected.
func (d *desk) refused(cs *mcp.ClientSession, p *mcp.CallToolParams, want string) {
	d.t.Helper()
	res, err := cs.CallTool(d.t.Context(), p)
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams || !strings.Contains(rpc.Message, want) {
		d.t.Errorf("want %q, got %+v %v", want, res, err)
	}
}

func (d *desk) ran(want int64) {
	d.t.Helper()
	if n := d.runs.Load(); n != want {
		d.t.Errorf("%d runs, want %d", n, want)
	}
}

// An approval that comes with a later request counts for the call that was shown, once, and for a time.
func TestApprovalsInLaterRequests(t *testing.T) {
	const changed, another, gone = "not a state of this server", "for another call or client", "was answered or has expired"
	accept := func(d *desk, cs *mcp.ClientSession, state string, want int64) {
		d.t.Helper()
		res, err := cs.CallTool(d.t.Context(), with(writing("x"), state, "accept"))
		if err != nil || res.IsError || res.NeedsInput() {
			d.t.Errorf("%+v %v", res, err)
		}
		d.ran(want)
	}
	for _, c := range []struct {
		name   string
		attack func(d *desk, cs *mcp.ClientSession, state string)
		used   bool // the attack leaves nothing to approve
	}{
		{"none", func(*desk, *mcp.ClientSession, string) {}, false},
		{"other arguments", func(d *desk, cs *mcp.ClientSession, state string) {
			d.refused(cs, with(writing("y"), state, "accept"), another)
		}, false},
		{"another tool", func(d *desk, cs *mcp.ClientSession, state string) {
			p := writing("x")
			p.Name = "remove"
			d.refused(cs, with(p, state, "accept"), another)
		}, false},
		{"another client", func(d *desk, _ *mcp.ClientSession, state string) {
			d.refused(d.client("two", true), with(writing("x"), state, "accept"), another)
		}, false},
		{"another server", func(d *desk, _ *mcp.ClientSession, state string) {
			other := newDesk(d.t, time.Hour)
			other.refused(other.client("one", true), with(writing("x"), state, "accept"), changed)
			other.ran(0)
		}, false},
		{"a longer state", func(d *desk, cs *mcp.ClientSession, state string) {
			d.refused(cs, with(writing("x"), state+"-TAMPERED", "accept"), changed)
		}, false},
		{"a later end", func(d *desk, cs *mcp.ClientSession, state string) {
			parts := strings.Split(state, ".")
			parts[1] += "0"
			d.refused(cs, with(writing("x"), strings.Join(parts, "."), "accept"), changed)
		}, false},
		{"no signature", func(d *desk, cs *mcp.ClientSession, state string) {
			d.refused(cs, with(writing("x"), state[:strings.LastIndexByte(state, '.')], "accept"), changed)
			d.refused(cs, with(writing("x"), "x", "accept"), changed)
			d.refused(cs, with(writing("x"), ".", "accept"), changed)
		}, false},
		{"no state", func(d *desk, cs *mcp.ClientSession, _ string) {
			d.asks(cs, with(writing("x"), "", "accept"))
		}, false},
		{"the answer to another question", func(d *desk, cs *mcp.ClientSession, state string) {
			p := with(writing("x"), state, "accept")
			p.InputResponses = mcp.InputResponseMap{"other": p.InputResponses[answerKey]}
			again := d.asks(cs, p)
			d.refused(cs, with(writing("x"), state, "accept"), gone)
			d.ran(0)
			accept(d, cs, again, 1)
		}, true},
		{"a second use", func(d *desk, cs *mcp.ClientSession, state string) {
			accept(d, cs, state, 1)
			d.refused(cs, with(writing("x"), state, "accept"), gone)
			d.ran(1)
		}, true},
		{"a use after a denial", func(d *desk, cs *mcp.ClientSession, state string) {
			res, err := cs.CallTool(d.t.Context(), with(writing("x"), state, "decline"))
			if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "the MCP client declined") {
				d.t.Errorf("%+v %v", res, err)
			}
			d.refused(cs, with(writing("x"), state, "accept"), gone)
			d.ran(0)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, time.Hour)
			cs := d.client("one", true)
			state := d.asks(cs, writing("x"))
			c.attack(d, cs, state)
			if !c.used {
				d.ran(0)
				accept(d, cs, state, 1)
			}
		})
	}
	t.Run("too late", func(t *testing.T) {
		d := newDesk(t, -time.Second)
		cs := d.client("one", true)
		d.refused(cs, with(writing("x"), d.asks(cs, writing("x")), "accept"), gone)
		d.ran(0)
	})
}

// A call that asks several times asks in one request after the other; progress and results belong to the last.
func TestSeveralQuestionsOfACall(t *testing.T) {
	d := newDesk(t, time.Hour)
	cs := d.client("one", true)
	p := &mcp.CallToolParams{Name: "twice"}
	first := d.asks(cs, p)
	second := d.asks(cs, with(p, first, "accept"))
	d.refused(cs, with(p, first, "accept"), "was answered")
	res, err := cs.CallTool(t.Context(), with(p, second, "accept"))
	if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "asked twice" {
		t.Errorf("%+v %v", res, err)
	}
}

// A rule that is approved with another call used to answer a question that waits, and the call ran, or continued, although
// its client had not continued it.
func TestWaitingCallsDoNotRun(t *testing.T) {
	var runs, allowed, ended atomic.Int64
	writes := tool.Access{Verb: tool.Writes, Target: "/x"}
	run := func(context.Context, *tool.Live, string) (tool.Result, error) {
		runs.Add(1)
		return tool.TextResult("written"), nil
	}
	asks := func(ctx context.Context, l *tool.Live, text string) (tool.Result, error) {
		if _, err := l.Ask(ctx, tool.Invocation{Description: "more", Access: []tool.Access{writes}}); err != nil {
			return tool.Result{}, err
		}
		return run(ctx, l, text)
	}
	s := New(Options{Session: func(c Client) (*tool.Executor, func(), error) {
		x, _, err := testSession(c)
		x.Registry = tool.NewRegistry(define("write", tool.Edit, writes, run), define("more", tool.Other, tool.Nothing, asks))
		policy := x.Policy
		x.Policy = func(r tool.Request) tool.Decision {
			if allowed.Load() > 0 {
				return tool.Decision{Verdict: tool.Allow}
			}
			return policy(r)
		}
		x.Ask = func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
			d, err := c.Ask(ctx, r, why)
			if d.Remember != "" {
				allowed.Add(1)
			}
			return d, err
		}
		x.Observe = func(ev tool.Event) {
			if ev.Stage == tool.Done {
				ended.Add(1)
			}
		}
		return x, nil, err
	}})
	cs, leave := clientOf(t, "", s, &mcp.ClientOptions{
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, errors.New("asked") },
	})
	defer leave()
	calls := []*mcp.CallToolParams{writing("x"), writing("y"), {Name: "more"}}
	for i, p := range calls {
		res, err := cs.CallTool(t.Context(), p)
		if err != nil || !res.NeedsInput() {
			t.Fatalf("%+v %v", res, err)
		}
		calls[i] = with(p, res.RequestState, "accept")
		calls[i].InputResponses[answerKey].(*mcp.ElicitResult).Content = map[string]any{"remember": "Edit(/x)"}
	}
	for i, p := range calls {
		res, err := cs.CallTool(t.Context(), p)
		if err != nil || res.IsError || res.NeedsInput() {
			t.Errorf("%+v %v", res, err)
		}
		if i == 0 { // it changed what the second wants to write
			waittest.Until(t, "the second call is judged again", func() bool { return ended.Load() == 2 })
		}
		if n := runs.Load(); n != int64(i+1) {
			t.Errorf("%d runs after %d calls", n, i+1)
		}
	}
}

// The capabilities are those of the request: another client of the same server can ask.
func TestCapabilitiesOfTheRequest(t *testing.T) {
	d := newDesk(t, time.Hour)
	d.asks(d.client("one", true), writing("x"))
	res, err := d.client("two", false).CallTool(t.Context(), writing("x"))
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "this MCP client can't show approval requests") {
		t.Errorf("%+v %v", res, err)
	}
}

// Clients need not repeat a call that asked: only so many wait.
func TestOpenQuestionsAreBounded(t *testing.T) {
	d := newDesk(t, time.Hour)
	cs := d.client("one", true)
	first := d.asks(cs, writing("x"))
	for range maxOpen - 1 {
		d.asks(cs, writing("x"))
	}
	res, err := cs.CallTool(t.Context(), writing("x"))
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "100 approval requests wait") {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := cs.CallTool(t.Context(), with(writing("x"), first, "accept")); err != nil {
		t.Error(err)
	}
	d.asks(cs, writing("x"))
	d.ran(1)
}

// On stdio the process is the session, and a question may offer a rule. The SDK's client answers by itself.
func TestModernStdio(t *testing.T) {
	asked := 0
	cs, leave := clientOf(t, "", New(Options{Session: testSession, Instructions: "what it does"}), &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			if !strings.Contains(fmt.Sprint(r.Params.RequestedSchema), "Edit(/x)") {
				t.Errorf("%v", r.Params.RequestedSchema)
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	if r := cs.InitializeResult(); r.ProtocolVersion != modernVersion || r.Instructions != "what it does" {
		t.Errorf("%+v", r)
	}
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || list.CacheScope != "private" || list.TTLMs <= 0 {
		t.Errorf("%+v %v", list, err)
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit"})
	if err != nil || res.IsError || asked != 1 {
		t.Errorf("%+v %v, asked %d times", res, err, asked)
	}
	if _, err := cs.ListPrompts(t.Context(), nil); err == nil {
		t.Error("there are prompts")
	}
	leave()
}
