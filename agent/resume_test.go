package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/google/go-cmp/cmp"
)

var errBroken = model.Errorf(model.ErrCut, "the answer broke off")

func breaks(es ...model.Event) func(context.Context, func(...model.Event)) error {
	return func(_ context.Context, say func(...model.Event)) error {
		say(es...)
		return errBroken
	}
}

const resumed = "user: The connection broke and cut off your answer above. Only what you see of it arrived: the text, and the calls, " +
	"each with its result. Continue exactly where the answer stopped. Don't repeat text or calls that arrived.\n"

// The received part of a broken answer is kept, its calls run, including edits, and the model is asked to continue.
func TestBrokenAnswerIsContinued(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns []func(context.Context, func(...model.Event)) error
		want  string // the history after the prompt
		text  string
		ran   []string
	}{
		{"after calls", []func(context.Context, func(...model.Event)) error{
			breaks(model.Text("I look."), call("1", "look", `{"name":"a"}`), call("2", "change", `{"name":"b"}`)), stop("done"),
		}, "assistant: I look.\nassistant calls 1 look {\"name\":\"a\"}\nassistant calls 2 change {\"name\":\"b\"}\n" +
			"1 look gives: saw a\n2 change gives: changed b\n" + resumed + "assistant: done\n", "done", []string{"change b", "look a"}},
		{"after text", []func(context.Context, func(...model.Event)) error{
			breaks(model.Text("The answer ")), breaks(model.Text("is 4")), stop("2."),
		}, "assistant: The answer \n" + resumed + "assistant: is 4\n" + resumed + "assistant: 2.\n", "The answer is 42.", nil},
		{"the model repeats itself", []func(context.Context, func(...model.Event)) error{
			breaks(model.Text("The answer is 4")), stop("The answer is 42."),
		}, "assistant: The answer is 4\n" + resumed + "assistant: The answer is 42.\n", "The answer is 42.", nil},
		{"in a thought", []func(context.Context, func(...model.Event)) error{
			breaks(model.Thought("hm")), stop("done"),
		}, "assistant: done\n", "done", nil},
		{"in a thought after text", []func(context.Context, func(...model.Event)) error{
			breaks(model.Text("a")), breaks(model.Thought("hm")), stop("b"),
		}, "assistant: a\n" + resumed + "assistant: b\n", "ab", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			a, _, answer, err := run(t, &b, agent.Options{}, tt.turns...)
			if d := cmp.Diff(tt.want, show(a.History()[1:])); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
			slices.Sort(b.ran)
			if answer.Text != tt.text || !slices.Equal(tt.ran, b.ran) {
				t.Errorf("answer %q, ran %q", answer.Text, b.ran)
			}
		})
	}
}

// It is continued three times per prompt; then the run fails.
func TestBrokenAnswersEnd(t *testing.T) {
	var b bench
	var events []string
	forever := breaks(call("", "look", `{"name":"x"}`), call("", "change", `{"name":"y"}`))
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{forever}}
	a := agent.New(agent.Options{Model: m, Executor: b.executor(), Limits: agent.Limits{Turns: 10}, Observe: func(e agent.Event) {
		if r, ok := e.(agent.Resumed); ok {
			events = append(events, fmt.Sprintf("turn %d: %d of %d: %v", r.Turn, r.Times, r.Most, r.Err))
		}
	}})
	for prompt := range 2 {
		_, err := a.Run(t.Context(), model.Text("go"))
		if !errors.Is(err, model.ErrCut) || len(m.requests) != 4*(prompt+1) {
			t.Errorf("%v after %d requests", err, len(m.requests))
		}
	}
	checkHistory(t, a.History())
	want := []string{
		"turn 1: 1 of 3: the answer broke off", "turn 2: 2 of 3: the answer broke off", "turn 3: 3 of 3: the answer broke off",
		"turn 5: 1 of 3: the answer broke off", "turn 6: 2 of 3: the answer broke off", "turn 7: 3 of 3: the answer broke off",
	}
	if d := cmp.Diff(want, events); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// The edit of the last answer of each prompt was not run: the run is over, and its result would be lost.
	if n := strings.Count(strings.Join(b.ran, "\n"), "change y"); n != 6 {
		t.Errorf("%d edits ran", n)
	}
}

// A failure before anything arrived is retried by the model, not by the agent.
func TestFailedRequestIsNotContinued(t *testing.T) {
	var b bench
	for _, kind := range []model.Kind{model.ErrCut, model.ErrServer, model.ErrRateLimit, model.ErrCredentials} {
		_, m, _, err := run(t, &b, agent.Options{}, func(context.Context, func(...model.Event)) error { return model.Errorf(kind, "no") })
		if !errors.Is(err, kind) || len(m.requests) != 1 {
			t.Errorf("%v after %d requests", err, len(m.requests))
		}
	}
}

// Some servers send a call twice: with the same arguments, or with others.
func TestCallSentTwice(t *testing.T) {
	var b bench
	a, _, _, err := run(t, &b, agent.Options{}, says(
		call("c", "look", `{"name":"x"}`), call("c", "look", `{ "name": "x" }`), // one call
		call("c", "look", `{"name":"y"}`), call("c", "change", `{"name":"x"}`), // others
		call("", "look", `{"name":"z"}`), call("", "look", `{"name":"z"}`), // without an id each is its own
		callsEnd), stop("done"))
	want := `assistant calls c look {"name":"x"}
assistant calls t00001c01 look {"name":"y"}
assistant calls t00001c02 change {"name":"x"}
assistant calls t00001c03 look {"name":"z"}
assistant calls t00001c04 look {"name":"z"}
c look gives: saw x
t00001c01 look gives: saw y
t00001c02 change gives: changed x
t00001c03 look gives: saw z
t00001c04 look gives: saw z
assistant: done
`
	if d := cmp.Diff(want, show(a.History()[1:])); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if len(b.ran) != 5 {
		t.Errorf("ran %q", b.ran)
	}
}

// wired runs an agent against a scripted server.
func wired(t *testing.T, b *bench, answers ...openaitest.Answer) (*agent.Agent, *openaitest.Server, agent.Answer) {
	t.Helper()
	srv := openaitest.Serve(t, openaitest.Script{Answers: answers})
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: srv.URL, Model: "scripted"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a := agent.New(agent.Options{Model: m, Executor: b.executor()})
	answer, err := a.Run(t.Context(), model.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	checkHistory(t, a.History())
	return a, srv, answer
}

// The connection breaks in the third of three calls: two run, each once, the third does not, and the server gets a
// conversation in which every call has its answer, with the thought that it requires.
func TestBrokenStreamOverTheWire(t *testing.T) {
	var b bench
	wired(t, &b,
		openaitest.Answer{Thought: "hm", Text: "I work.", Calls: []openaitest.Call{
			{ID: "a", Name: "look", Args: json.RawMessage(`{"name":"first"}`)},
			{ID: "b", Name: "change", Args: json.RawMessage(`{"name":"second"}`)},
			{ID: "c", Name: "change", Args: json.RawMessage(`{"name":"third"}`)},
		}, Faults: openaitest.Faults{Split: 3, CutBefore: `"thi"`}},
		openaitest.Answer{
			Expect: []string{
				`"reasoning_content":"hm"`, `"content":"I work."`, `"tool_call_id":"a"`, `"content":"saw first"`,
				`"tool_call_id":"b"`, `"content":"changed second"`, `"role":"user","content":"The connection broke`,
			},
			Absent: []string{`"id":"c"`, `"tool_call_id":"c"`},
			Calls:  []openaitest.Call{{ID: "c", Name: "change", Args: json.RawMessage(`{"name":"third"}`)}},
		},
		openaitest.Answer{Expect: []string{`"content":"changed third"`}, Text: "done"},
	)
	slices.Sort(b.ran)
	if d := cmp.Diff([]string{"change second", "change third", "look first"}, b.ran); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A decorated name and trailing commas, byte by byte: the call runs, its result mentions both, and the
// server gets a name that it accepts and JSON that it can parse.
func TestRepairedCallOverTheWire(t *testing.T) {
	var b bench
	wired(t, &b,
		openaitest.Answer{Calls: []openaitest.Call{{ID: "functions.look:0", Name: "functions.look:0", Args: json.RawMessage(`"{\"name\":\"x,}\",}"`)}},
			Faults: openaitest.Faults{Split: 1}},
		openaitest.Answer{
			Expect: []string{
				`"function":{"name":"look","arguments":"{\"name\":\"x,}\"}"`, `saw x,}\nNote: the tool was called as \"functions.look:0\"; its name is look\n`,
				`Note: the argument object had trailing commas, which are not valid JSON. They were removed.`,
			},
			Absent: []string{`"name":"functions.`},
			Text:   "done",
		},
	)
	if !slices.Equal(b.ran, []string{"look x,}"}) {
		t.Errorf("ran %q", b.ran)
	}
}

// A call that was cut off used to go back to the server with half of its arguments, and servers that parse the history
// rejected every request after it.
func TestArgumentsInTheNextRequest(t *testing.T) {
	for sent, want := range map[string]string{
		`{"name":"x"}`:         `{"name":"x"}`,
		`{"name": "x", "n":1}`: `{"name": "x", "n":1}`,
		`{"name":"x",}`:        `{"name":"x"}`,
		`"{\"name\":\"x\"}"`:   `{"name":"x"}`,
		`{"name":"x`:           `{}`,
		`{"name":`:             `{}`,
		`{"name":"x"}{}`:       `{}`,
		`["x"]`:                `{}`,
		`null`:                 `{}`,
		`"x`:                   `{}`,
		``:                     `{}`,
	} {
		var b bench
		a, m, _, err := run(t, &b, agent.Options{}, says(call("1", "look", sent), cutEnd), stop("done"))
		if err != nil || len(m.requests) != 2 {
			t.Fatalf("%s: %v, %d requests", sent, err, len(m.requests))
		}
		if got := string(m.requests[1].Messages[1].Calls()[0].Args); got != want || string(a.History()[1].Calls()[0].Args) != want {
			t.Errorf("%s: the next request has %s, want %s", sent, got, want)
		}
	}
}
