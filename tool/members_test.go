package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// page is a tool in the documented form that records its calls.
type page struct {
	tool.BaseTool
	calls   *[]string
	invalid error
	confirm tool.Display
	broken  error
}

func (p page) note(s string, params map[string]any) {
	raw, _ := json.Marshal(params)
	*p.calls = append(*p.calls, s+" "+string(raw))
}

func (p page) ValidateToolParams(params map[string]any) error {
	p.note("validate", params)
	return p.invalid
}

func (p page) GetDescription(params map[string]any) string {
	p.note("describe", params)
	return "turn the page"
}

func (p page) ShouldConfirmExecute(_ context.Context, params map[string]any) (tool.Display, error) {
	p.note("confirm", params)
	return p.confirm, p.broken
}

func (p page) Execute(_ context.Context, params map[string]any, update func(tool.Display)) (tool.Result, error) {
	p.note("execute", params)
	update(tool.Markdown("turning"))
	return tool.TextResult("turned"), nil
}

func pageTool(kind tool.Kind, change func(*page)) (tool.Tool, *[]string) {
	calls := &[]string{}
	p := page{calls: calls, BaseTool: tool.BaseTool{Decl: tool.Declaration{
		Name: "page", Description: "Turns.", Kind: kind,
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	}}}
	if change != nil {
		change(&p)
	}
	return tool.FromMembers(p), calls
}

func TestMembersAreCalledInTheDocumentedOrder(t *testing.T) {
	f, calls := pageTool(tool.Other, nil)
	x := newWorld(nil).executor(f)
	r := &recorder{}
	x.Observe = r.observe
	b := x.Batch(t.Context())
	b.Add(tool.Call{Name: "page", Args: json.RawMessage(`{"n":"2"}`)})
	b.Add(tool.Call{Name: "page", Args: json.RawMessage(`{"m":2}`)})
	wantSame(t, "outcomes", []string{
		"success: turned\nNote: n was the string \"2\"; read as 2",
		"error: page: 2 invalid parameters:\n- n: is required (an integer)\n- m: unknown parameter (expected n)",
	}, says(b.Wait()))
	wantSame(t, "calls", []string{`validate {"n":2}`, `describe {"n":2}`, `confirm {"n":2}`, `execute {"n":2}`}, *calls)
	wantSame(t, "shown", true, strings.Contains(strings.Join(r.seen(), "\n"), "showing page turning"))
}

// The access of such a tool is unknown: a nil from ShouldConfirmExecute passes neither plan mode nor a deny rule.
func TestMembersAreJudgedAsAnything(t *testing.T) {
	broken := func(p *page) { p.broken = errors.New("cannot tell") }
	asks := func(p *page) { p.confirm = tool.Markdown("sure?") }
	for name, tt := range map[string]struct {
		kind   tool.Kind
		change func(*page)
		judged []tool.Access
		want   string
	}{
		"other":               {tool.Other, nil, []tool.Access{tool.Anything}, "denied: Permission denied: turn the page: plan mode. Continue without it, or tell the user what you need."},
		"other that asks":     {tool.Other, asks, []tool.Access{tool.Anything}, "denied: Permission denied: turn the page: plan mode. Continue without it, or tell the user what you need."},
		"edit":                {tool.Edit, nil, []tool.Access{tool.Anything}, "denied: Permission denied: turn the page: plan mode. Continue without it, or tell the user what you need."},
		"fetch":               {tool.Fetch, nil, []tool.Access{tool.Anything}, "denied: Permission denied: turn the page: plan mode. Continue without it, or tell the user what you need."},
		"read":                {tool.Read, nil, []tool.Access{tool.Nothing}, "success: turned"},
		"read that asks":      {tool.Read, asks, []tool.Access{{Verb: tool.Reads, Target: "*"}}, "success: turned"},
		"think":               {tool.Think, nil, []tool.Access{tool.Nothing}, "success: turned"},
		"read that is broken": {tool.Read, broken, []tool.Access{tool.Nothing}, "error: cannot tell"},
		"not valid":           {tool.Read, func(p *page) { p.invalid = errors.New("odd pages only") }, nil, "error: page: odd pages only"},
		"not valid by name":   {tool.Read, func(p *page) { p.invalid = tool.BadParam("n", "must be odd") }, nil, "error: page: n: must be odd"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(nil)
			w.setMode("plan")
			f, _ := pageTool(tt.kind, tt.change)
			x := w.executor(f)
			var judged []tool.Access
			x.Policy = func(r tool.Request) tool.Decision {
				judged = r.Access
				return w.policy(r)
			}
			b := x.Batch(t.Context())
			b.Add(tool.Call{Name: "page", Args: json.RawMessage(`{"n":1}`)})
			wantSame(t, "outcome", []string{tt.want}, says(b.Wait()))
			wantSame(t, "judged as", tt.judged, judged)
		})
	}
}

func TestPreview(t *testing.T) {
	w := newWorld(map[string]string{"a": "0", "secret": "0"})
	x := w.executor()
	x.Policy = func(r tool.Request) tool.Decision {
		if r.Access[0].Target == "secret" {
			return tool.Decision{Reason: "rule"}
		}
		return askAbout(r)
	}
	for line, want := range map[string]struct {
		verdict tool.Verdict
		err     string
	}{
		"read a":          {tool.Allow, ""},
		"edit a 0 1":      {tool.Ask, ""},
		"edit secret 0 1": {tool.Deny, ""},
		"edit a 7 1":      {tool.Deny, "edit a: old occurs 0 times"},
		"edit secret 7 1": {tool.Deny, ""}, // as if it could be done
		"frob":            {tool.Deny, "unknown tool \"frob\"\nAvailable tools: edit, exec, exit_plan_mode, read, task, write"},
		"read":            {tool.Deny, "read : no such file"},
	} {
		r, d, err := x.Preview(t.Context(), call(line))
		text := ""
		if err != nil {
			text = err.Error()
		}
		wantSame(t, line, want.err, text)
		if err == nil && (d.Verdict != want.verdict || r.Run != nil) {
			t.Errorf("%s: %v, with Run: %t", line, d.Verdict, r.Run != nil)
		}
	}
	wantSame(t, "files", map[string]string{"a": "0", "secret": "0"}, w.snapshot())
	// A question shows content where it is about a file. One about a command used to be hidden too, although it only
	// repeats the call.
	for line, shown := range map[string]bool{"edit a 0 1": true, "edit secret 0 1": false, "exec cat secret": true} {
		if r, _, _ := x.Preview(t.Context(), call(line)); (r.Confirm != nil) != shown {
			t.Errorf("%s: the question is %v", line, r.Confirm)
		}
	}
}

// Such a tool rejects unknown parameters, unless its schema allows them.
func TestMembersAreStrict(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"text":{"type":"string"}}}`:                                                      `error: shout: txt: unknown parameter. Did you mean "text"?`,
		`{"properties":{"text":{"type":"string"}},"additionalProperties":true}`:                          "success: A!",
		`{"properties":{"text":{"type":"string"}},"patternProperties":{"^t":{}}}`:                        "success: A!",
		`{"properties":{"text":{"type":"string"}},"anyOf":[{"properties":{"txt":{}}}]}`:                  "success: A!",
		`{"properties":{"text":{"type":"string"}},"$defs":{},"additionalProperties":{"type":"integer"}}`: `error: shout: txt: expected an integer, got []`,
	} {
		m := tool.FromMembers(shout{tool.BaseTool{Decl: tool.Declaration{Name: "shout", Description: "x", Kind: tool.Think, Parameters: json.RawMessage(schema)}}})
		x := newWorld(nil).executor(m)
		b := x.Batch(t.Context())
		b.Add(tool.Call{Name: "shout", Args: json.RawMessage(`{"text":"a","txt":[]}`)})
		wantSame(t, schema, []string{strings.Replace(want, "got []", "got an array", 1)}, says(b.Wait()))
	}
}
