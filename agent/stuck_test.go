package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// A model that repeats calls with the same results gets a note after three turns without new results. After six the user
// gets a report, and an unattended run ends. Tools that poll don't count, and neither do calls with new results or edits.
func TestStuck(t *testing.T) {
	same := func(int) []string { return []string{"look a"} }
	for _, tt := range []struct {
		name       string
		calls      func(turn int) []string
		unattended bool
		noted      int // first turn whose result has the note; 0: none
		told       int // turn of the first event; 0: none
		err        bool
	}{
		{"same call", same, true, 4, 7, true},
		{"same call with a user", same, false, 4, 7, false},
		{"A-B-A-B", func(n int) []string { return []string{"look " + string(rune('a'+n%2))} }, true, 5, 8, true},
		{"A-B-C", func(n int) []string { return []string{"look " + string(rune('a'+n%3))} }, true, 6, 9, true},
		{"several calls", func(int) []string { return []string{"look a", "look b"} }, true, 4, 7, true},
		{"one of them is new", func(n int) []string { return []string{"look a", fmt.Sprintf("look %d", n)} }, true, 0, 0, false},
		{"edits in between", func(n int) []string {
			if n%2 == 0 {
				return []string{fmt.Sprintf("change %d", n)}
			}
			return []string{"look a"}
		}, true, 0, 0, false},
		{"same call, new results", func(int) []string { return []string{"count a"} }, true, 0, 0, false},
		{"the result without its duration is the same", func(int) []string { return []string{"timed a"} }, true, 4, 7, true},
		{"media of the same size, new bytes", func(int) []string { return []string{"film a"} }, true, 0, 0, false},
		{"polling", func(int) []string { return []string{"poll a"} }, true, 0, 0, false},
		{"polling in between", func(n int) []string {
			if n%2 == 0 {
				return []string{"poll a"}
			}
			return []string{"look a"}
		}, true, 7, 13, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			x := b.executor()
			stuckTools(t, &b, x)
			m := &fakeModel{}
			for n := 1; n <= 15; n++ {
				var es []model.Event
				for i, c := range tt.calls(n) {
					name, arg, _ := strings.Cut(c, " ")
					args := `{"name":"` + arg + `"}`
					if n%2 == 0 {
						args = "{ \"name\" : \"" + arg + "\" }" // the same
					}
					es = append(es, call(fmt.Sprintf("%d-%d", n, i), name, args))
				}
				m.turns = append(m.turns, says(append(es, callsEnd)...))
			}
			m.turns = append(m.turns, stop("done"))
			told := 0
			a := agent.New(agent.Options{Model: m, Executor: x, Unattended: tt.unattended, Observe: func(e agent.Event) {
				if s, ok := e.(agent.Stuck); ok && told == 0 {
					told = s.Turn
				}
			}})
			_, err := a.Run(t.Context(), model.Text("go"))
			if errors.Is(err, agent.ErrStuck) != tt.err || err != nil && !tt.err {
				t.Errorf("ended with %v", err)
			}
			if told != tt.told {
				t.Errorf("the user was told in turn %d, want %d", told, tt.told)
			}
			noted := 0
			for i, msg := range a.History() {
				if msg.Role == model.Tool && noted == 0 && strings.Contains(show([]model.Message{msg}), "turns only repeated calls") {
					noted = i / 2
				}
			}
			if noted != tt.noted {
				t.Errorf("the model was told in turn %d, want %d", noted, tt.noted)
			}
			checkHistory(t, a.History())
		})
	}
}

// stuckTools adds count, whose results differ, timed, whose results differ in irrelevant parts, and poll.
func stuckTools(t *testing.T, b *bench, x *tool.Executor) {
	t.Helper()
	n := 0
	counted := func(context.Context, string) (string, error) { n++; return fmt.Sprint(n), nil }
	timed := tool.Define(tool.Def[thing]{Name: "timed", Description: "A toy.", Kind: tool.Execute,
		Prepare: func(context.Context, thing) (*tool.Invocation, error) {
			return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
				n++
				r := tool.TextResult(fmt.Sprintf("out, %d ms", n))
				r.Compare = "out"
				return r, tool.Errorf(tool.ExecutionFailed, "exit code 1")
			}}, nil
		}})
	film := tool.Define(tool.Def[thing]{Name: "film", Description: "A toy.", Kind: tool.Read,
		Prepare: func(context.Context, thing) (*tool.Invocation, error) {
			return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
				n++
				return tool.Result{Content: []tool.Part{tool.Media{MIMEType: "image/png", Data: []byte{byte(n)}}}}, nil
			}}, nil
		}})
	poll := tool.Define(tool.Def[thing]{Name: "poll", Description: "A toy.", Kind: tool.Read, Polls: true,
		Prepare: func(context.Context, thing) (*tool.Invocation, error) {
			return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
				return tool.TextResult("nothing yet"), nil
			}}, nil
		}})
	var all []tool.Tool
	for _, d := range x.Registry.All() {
		found, err := x.Registry.Lookup(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found)
	}
	x.Registry = tool.NewRegistry(append(all, timed, film, poll, b.tool("count", tool.Read, tool.Nothing, counted))...)
}
