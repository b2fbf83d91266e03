package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// fakeModel answers with its functions, one for each turn, and repeats the last one.
type fakeModel struct {
	turns    []func(ctx context.Context, say func(...model.Event)) error
	requests []model.Request
}

func (*fakeModel) Name() string { return "fake" }

func (f *fakeModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		n := min(len(f.requests), len(f.turns)-1)
		f.requests = append(f.requests, r)
		err := f.turns[n](ctx, func(es ...model.Event) {
			for _, e := range es {
				yield(e, nil)
			}
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

func says(es ...model.Event) func(context.Context, func(...model.Event)) error {
	return func(_ context.Context, say func(...model.Event)) error {
		say(es...)
		return nil
	}
}

func stop(text string) func(context.Context, func(...model.Event)) error {
	return says(model.Text(text), model.End{Reason: model.Stop})
}

func call(id, name, args string) model.Call {
	return model.Call{Call: tool.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

var (
	callsEnd = model.End{Reason: model.Calls}
	cutEnd   = model.End{Reason: model.Length}
)

// bench is a set of fake tools: look and search read, change edits, wait waits for its context, boom panics, odd is denied.
type bench struct {
	mu      sync.Mutex
	ran     []string
	looked  chan string // one for each look that ran
	waiting chan string
	barrier chan struct{} // where set, a look waits until two are there
}

type thing struct {
	Name string `json:"name" description:"which"`
}

func (b *bench) tool(name string, kind tool.Kind, access tool.Access, run func(context.Context, string) (string, error)) tool.Tool {
	return tool.Define(tool.Def[thing]{Name: name, Description: "A toy.", Kind: kind,
		Prepare: func(_ context.Context, a thing) (*tool.Invocation, error) {
			access := access
			if access.Verb == tool.Writes || access.Verb == tool.Reads {
				access.Target = "/" + a.Name
			}
			return &tool.Invocation{Description: name + " " + a.Name, Access: []tool.Access{access},
				Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					b.mu.Lock()
					b.ran = append(b.ran, name+" "+a.Name)
					b.mu.Unlock()
					s, err := run(ctx, a.Name)
					return tool.TextResult(s), err
				}}, nil
		}})
}

func (b *bench) executor() *tool.Executor {
	b.looked, b.waiting = make(chan string, 10_000), make(chan string, 100)
	return &tool.Executor{
		Policy: func(r tool.Request) tool.Decision {
			if r.Declaration.Name == "odd" {
				return tool.Decision{Reason: "odd things are not done here"}
			}
			return tool.Decision{Verdict: tool.Allow}
		},
		Registry: tool.NewRegistry(
			b.tool("look", tool.Read, tool.Access{Verb: tool.Reads}, func(ctx context.Context, s string) (string, error) {
				b.looked <- s
				if b.barrier != nil {
					select {
					case b.barrier <- struct{}{}:
					case <-b.barrier:
					case <-ctx.Done():
					case <-time.After(time.Minute):
						return "", errors.New("no other call came")
					}
				}
				return "saw " + s, nil
			}),
			b.tool("change", tool.Edit, tool.Access{Verb: tool.Writes}, func(_ context.Context, s string) (string, error) { return "changed " + s, nil }),
			b.tool("wait", tool.Read, tool.Nothing, func(ctx context.Context, s string) (string, error) {
				b.waiting <- s
				<-ctx.Done()
				return "", ctx.Err()
			}),
			b.tool("boom", tool.Read, tool.Nothing, func(context.Context, string) (string, error) { panic("boom") }),
			b.tool("odd", tool.Execute, tool.Access{Verb: tool.Execs, Target: "odd"}, nil),
		),
	}
}

// show formats a conversation, one line for each part.
func show(ms []model.Message) string {
	var b strings.Builder
	for _, m := range ms {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case model.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, p)
			case model.Thought:
				fmt.Fprintf(&b, "%s thinks: %s\n", m.Role, string(p))
			case model.Sealed:
				fmt.Fprintf(&b, "%s sealed: %s\n", m.Role, p.JSON)
			case model.Call:
				fmt.Fprintf(&b, "%s calls %s %s %s\n", m.Role, p.ID, p.Name, p.Args)
			case model.Response:
				word := "gives"
				if p.IsError {
					word = "fails"
				}
				fmt.Fprintf(&b, "%s %s %s: %s\n", p.ID, p.Name, word, p.Text())
			}
		}
	}
	return b.String()
}

// checkHistory checks that there is exactly one response for each call, in order, right after it, and that IDs are unique.
func checkHistory(t *testing.T, ms []model.Message) {
	t.Helper()
	seen := map[string]bool{}
	for i, m := range ms {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		if i+1 == len(ms) || ms[i+1].Role != model.Tool || len(ms[i+1].Parts) != len(calls) {
			t.Fatalf("message %d has %d calls and is not followed by as many responses:\n%s", i, len(calls), show(ms))
		}
		for n, c := range calls {
			r, ok := ms[i+1].Parts[n].(model.Response)
			if !ok || r.ID != c.ID || r.Name != c.Name || len(r.Content) == 0 {
				t.Errorf("call %s %s is answered by %+v", c.ID, c.Name, ms[i+1].Parts[n])
			}
			if seen[c.ID] || c.ID == "" {
				t.Errorf("the id %q occurs twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
}

func run(t *testing.T, b *bench, o agent.Options, turns ...func(context.Context, func(...model.Event)) error) (*agent.Agent, *fakeModel, agent.Answer, error) {
	t.Helper()
	m := &fakeModel{turns: turns}
	o.Model, o.Executor = m, b.executor()
	a := agent.New(o)
	answer, err := a.Run(t.Context(), model.Text("go"))
	checkHistory(t, a.History())
	return a, m, answer, err
}
