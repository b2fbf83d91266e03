package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/tool"
)

func TestFormIsFilledInByTyping(t *testing.T) {
	form := json.RawMessage(`{"type":"object","required":["size","sure"],"properties":{
		"size":{"type":"string","title":"Size","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large","description":"for two"}]},
		"extras":{"type":"array","title":"Extras","items":{"anyOf":[{"const":"milk","title":"Milk"},{"const":"sugar","title":"Sugar"}]}},
		"sure":{"type":"boolean","title":"Sure?"},
		"count":{"type":"integer","default":1},
		"note":{"type":"string","title":"Note"}}}`)
	var screen bytes.Buffer
	term := terminalOf(Streams{
		Stdin:  strings.NewReader("9\n2\n1,2\nmaybe\ny\n\nno onions\n"),
		Stderr: &screen, Getenv: func(string) string { return "" },
	}, nil)
	d, err := term.ask(t.Context(), tool.Request{Invocation: tool.Invocation{Description: "order", Form: form, MustAsk: true}}, tool.Decision{})
	if err != nil || d.Verdict != tool.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
	if want := `{"count":1,"extras":["milk","sugar"],"note":"no onions","size":"l","sure":true}`; string(d.Answer) != want {
		t.Errorf("got %s, want %s", d.Answer, want)
	}
	for _, want := range []string{"2 Large (for two)", "field 2 of 5: Extras", "number, required: ", "< goes back: ", "Enter a number from 1 to 2", "Enter y or n"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen.String())
		}
	}
}

// A choice with a free-text answer was asked twice, and "what to change in the plan" after the plan was approved.
func TestFormTakesWordsInPlaceOfAChoice(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{
		"db":{"type":"string","title":"DB","default":"lite","oneOf":[{"const":"pg","title":"Postgres"},{"const":"lite","title":"SQLite"}]},
		"db_other":{"type":"string","title":"Other","description":"Type your own answer"},
		"with":{"type":"array","title":"With","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}},
		"with_other":{"type":"string"}}}`)
	for typed, want := range map[string]string{
		"1\n1,2\n":             `{"db":"pg","with":["a","b"]}`,
		"\n2\n":                `{"db":"lite","with":["b"]}`,
		"\n\n1\n":              `{"db":"lite","with":["a"]}`, // nothing answers nothing, if there is no default
		"mine, 2 of them\n2\n": `{"db_other":"mine, 2 of them","with":["b"]}`,
		"3\n2\n2, 1, and c\n":  `{"db":"lite","with":["b","a"],"with_other":"and c"}`,
		"1,2\n1 but new\nc\n":  `{"db_other":"1 but new","with_other":"c"}`,
	} {
		var screen bytes.Buffer
		term := terminalOf(Streams{Stdin: strings.NewReader(typed), Stderr: &screen, Getenv: func(string) string { return "" }}, nil)
		d, err := term.ask(t.Context(), tool.Request{Invocation: tool.Invocation{Form: form, MustAsk: true}}, tool.Decision{})
		if err != nil || string(d.Answer) != want {
			t.Errorf("%q: got %s, %v, want %s", typed, d.Answer, err, want)
		}
		if !strings.Contains(screen.String(), "number, or type your own answer, or nothing for 2: ") {
			t.Errorf("the screen: %s", screen.String())
		}
	}
}

// A user with another answer types it in place of a choice: there is no second question.
func TestFormWithAnAnswerOfOnesOwn(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{
		"q1":{"type":"string","oneOf":[{"const":"Red","title":"Red"},{"const":"Blue","title":"Blue"}]},"q1_other":{"type":"string","title":"Other"},
		"q2":{"type":"array","items":{"anyOf":[{"const":"a","title":"a"},{"const":"b","title":"b"}]}},"q2_other":{"type":"string","title":"Other"}}}`)
	for typed, want := range map[string]string{
		"2\n1,2\n":          `{"q1":"Blue","q2":["a","b"]}`,
		"Green\n3\nc, d\n":  `{"q1_other":"Green","q2_other":"c, d"}`,
		"\n2\n3\n1\n":       `{"q1":"Blue","q2":["a"]}`,
		"3\n1\n7 of them\n": `{"q1":"Red","q2_other":"7 of them"}`,
	} {
		var screen bytes.Buffer
		term := terminalOf(Streams{Stdin: strings.NewReader(typed), Stderr: &screen, Getenv: func(string) string { return "" }}, nil)
		d, err := term.ask(t.Context(), tool.Request{Invocation: tool.Invocation{Form: form, MustAsk: true}}, tool.Decision{})
		if err != nil || string(d.Answer) != want || !strings.Contains(screen.String(), "number, or type your own answer: ") {
			t.Errorf("%q: got %s, %v, want %s\n%s", typed, d.Answer, err, want, screen.String())
		}
	}
}

// What is typed is held to what the form wants, until the input ends.
func TestFormIsChecked(t *testing.T) {
	for _, c := range []struct{ field, typed, want, said string }{
		{`"format":"email"`, "3\nme@example.com\n", `"me@example.com"`, "an email address"},
		{`"format":"uri"`, "here\nhttps://example.com\n", `"https://example.com"`, "a URL, e.g."},
		{`"format":"date"`, "Ada\n2020-02-30\n2020-02-28\n", `"2020-02-28"`, "a date, e.g."},
		{`"format":"date-time"`, "now\n2020-02-28T10:00:00Z\n", `"2020-02-28T10:00:00Z"`, "a date and time"},
		{`"minLength":2,"maxLength":3`, "x\nwxyz\nxyz\n", `"xyz"`, "at most 3"},
		{`"default":"abc"`, "\n", `"abc"`, `answer, or nothing for "abc": `},
		{`"minLength":1000000000`, "a\na\na\na\na\na\n", "", "at least 1e+09"},
	} {
		var screen bytes.Buffer
		term := terminalOf(Streams{Stdin: strings.NewReader(c.typed), Stderr: &screen, Getenv: func(string) string { return "" }}, nil)
		form := json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":{"type":"string",` + c.field + `}}}`)
		d, err := term.ask(t.Context(), tool.Request{Invocation: tool.Invocation{Form: form}}, tool.Decision{})
		want := `{"x":` + c.want + `}`
		if c.want == "" {
			want = ""
		}
		if string(d.Answer) != want || (err != nil) != (c.want == "") || !strings.Contains(screen.String(), c.said) {
			t.Errorf("%s: %s, %v\n%s", c.field, d.Answer, err, screen.String())
		}
	}
}

// A front end that goes away in the middle has said nothing.
func TestFormWithoutAnAnswer(t *testing.T) {
	term := terminalOf(Streams{Stdin: strings.NewReader(""), Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}, nil)
	form := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)
	if d, err := term.ask(t.Context(), tool.Request{Invocation: tool.Invocation{Form: form}}, tool.Decision{}); err == nil || d.Verdict == tool.Allow {
		t.Errorf("%+v, %v", d, err)
	}
}

// A "y" to a plan was taken for what to change in it.
func TestPlanTakesYesAndNo(t *testing.T) {
	for typed, want := range map[string]string{
		"y":                    `success: The user approved the plan. Plan mode is off; implement it now. (default)`,
		"YES":                  `success: The user approved the plan. Plan mode is off; implement it now. (default)`,
		"2":                    `success: The user approved the plan. Plan mode is off; implement it now. Edits inside the workspace are auto-approved. (auto-edit)`,
		"n":                    `denied: no reason given; ask them (plan)`,
		"no: first the tests":  `denied: first the tests (plan)`,
		"name the files first": `denied: name the files first (plan)`,
	} {
		mode := "plan"
		tools, err := builtin.New(builtin.Options{Dir: t.TempDir(), State: t.TempDir(), HasUser: true, Session: true, Mode: func() string { return mode }, SetMode: func(m string) error { mode = m; return nil }})
		if err != nil {
			t.Fatal(err)
		}
		var screen bytes.Buffer
		x := &tool.Executor{
			Registry: tool.NewRegistry(tools.Tools()...),
			Ask:      terminalOf(Streams{Stdin: strings.NewReader(typed + "\n"), Stderr: &screen, Getenv: func(string) string { return "" }}, nil).ask,
		}
		b := x.Batch(t.Context())
		b.Add(tool.Call{Name: "exit_plan_mode", Args: json.RawMessage(`{"plan":"Do it."}`)})
		o := b.Wait()[0]
		got := string(o.Status) + ": " + o.Result.Text() + " (" + mode + ")"
		if _, reason, ok := strings.Cut(got, "the plan needs a change: "); ok {
			reason, _, _ = strings.Cut(reason, ". Plan mode stays on")
			got = string(o.Status) + ": " + reason + " (" + mode + ")"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", typed, got, want)
		}
		if hint := "number, y for 1, or what to change in the plan: "; !strings.Contains(screen.String(), hint) {
			t.Errorf("the screen lacks %q:\n%s", hint, screen.String())
		}
		tools.Close()
	}
}
