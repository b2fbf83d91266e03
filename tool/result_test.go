package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
)

// todoList is a display that marshals itself: a type of some tool, unknown when it is read back.
type todoList struct{}

func (todoList) Markdown() string { return "- [ ] todo" }
func (todoList) MarshalJSON() ([]byte, error) {
	return []byte(`{"type":"todo_list","todos":[{"id":"1"}]}`), nil
}

func TestResultJSON(t *testing.T) {
	stat := &tool.DiffStat{ModelAddedLines: 1, ModelRemovedLines: 2, ModelAddedChars: 3, ModelRemovedChars: 4, UserAddedLines: 5, UserRemovedLines: 6, UserAddedChars: 7, UserRemovedChars: 8}
	for name, tt := range map[string]struct {
		result tool.Result
		json   string
		back   *tool.Result // nil: the same
	}{
		"a text":     {tool.TextResult("a <b> & \"c\""), `{"llmContent":"a <b> & \"c\""}`, nil},
		"nothing":    {tool.Result{}, `{"llmContent":""}`, nil},
		"two texts":  {tool.Result{Content: []tool.Part{tool.Text("a"), tool.Text("")}}, `{"llmContent":["a",""]}`, nil},
		"an image":   {tool.Result{Content: []tool.Part{tool.Media{MIMEType: "image/png", Data: []byte{1, 2, 255}}}}, `{"llmContent":[{"inlineData":{"mimeType":"image/png","data":"AQL/"}}]}`, nil},
		"both":       {tool.Result{Content: []tool.Part{tool.Text("a"), tool.Media{MIMEType: "audio/wav", Data: []byte{}}}}, `{"llmContent":["a",{"inlineData":{"mimeType":"audio/wav","data":""}}]}`, nil},
		"a markdown": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.Markdown("*a*")}, `{"llmContent":"a","returnDisplay":"*a*"}`, nil},
		"a literal": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.Literal("*a*")}, "{\"llmContent\":\"a\",\"returnDisplay\":\"```\\n*a*\\n```\"}",
			&tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.Markdown("```\n*a*\n```")}},
		"a diff": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.FileDiff{Diff: "+x", File: "f", Path: "/d/f", Original: new("o"), New: "x", Stat: stat, Warnings: []string{"w"}}},
			`{"llmContent":"a","returnDisplay":{"fileDiff":"+x","fileName":"f","filePath":"/d/f","originalContent":"o","newContent":"x","diffStat":{"model_added_lines":1,"model_removed_lines":2,"model_added_chars":3,"model_removed_chars":4,"user_added_lines":5,"user_removed_lines":6,"user_added_chars":7,"user_removed_chars":8},"warnings":["w"]}}`, nil},
		"a new file": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.FileDiff{Diff: "+x", File: "f", New: "x"}},
			`{"llmContent":"a","returnDisplay":{"fileDiff":"+x","fileName":"f","originalContent":null,"newContent":"x"}}`, nil},
		"a plan": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.Plan{Message: "m", Text: "1. x", Rejected: true}},
			`{"llmContent":"a","returnDisplay":{"type":"plan_summary","message":"m","plan":"1. x","rejected":true}}`, nil},
		"one that nobody knows": {tool.Result{Content: []tool.Part{tool.Text("a")}, Display: todoList{}}, `{"llmContent":"a","returnDisplay":{"type":"todo_list","todos":[{"id":"1"}]}}`,
			&tool.Result{Content: []tool.Part{tool.Text("a")}, Display: tool.Opaque{JSON: json.RawMessage(`{"type":"todo_list","todos":[{"id":"1"}]}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := tt.result.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, "JSON", tt.json, string(raw))
			var back tool.Result
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			want := tt.result
			if tt.back != nil {
				want = *tt.back
			}
			wantSame(t, "read back", want, back)
			again, err := back.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, "written again", tt.json, string(again))
		})
	}
}

func TestResultFromElsewhere(t *testing.T) {
	for in, want := range map[string]tool.Result{
		`{"llmContent":{"text":"a"}}`:              tool.TextResult("a"),
		`{"llmContent":[{"text":"a"},"b"]}`:        {Content: []tool.Part{tool.Text("a"), tool.Text("b")}},
		`{"llmContent":null,"returnDisplay":null}`: {},
		`{}`:                                     {},
		`{"llmContent":"a","returnDisplay":[1]}`: {Content: []tool.Part{tool.Text("a")}, Display: tool.Opaque{JSON: json.RawMessage(`[1]`)}},
		`{"llmContent":"a","returnDisplay":{"fileDiff":1}}`: {Content: []tool.Part{tool.Text("a")}, Display: tool.Opaque{JSON: json.RawMessage(`{"fileDiff":1}`)}},
	} {
		var got tool.Result
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		wantSame(t, in, want, got)
	}
	for _, in := range []string{`{"llmContent":3}`, `{"llmContent":[{"inlineData":{"mimeType":"x","data":"%"}}]}`, `[]`} {
		var got tool.Result
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s was read as %v", in, got)
		}
	}
}

func TestOutcomeJSON(t *testing.T) {
	w := newWorld(map[string]string{"a": "<0>"})
	read := w.read()
	x := &tool.Executor{Registry: tool.NewRegistry(read, w.write()), Policy: func(r tool.Request) tool.Decision {
		if r.Call.Name == "write" {
			return tool.Decision{Reason: "rule"}
		}
		return tool.Decision{Verdict: tool.Allow}
	}}
	b := x.Batch(t.Context())
	for id, line := range []string{"read a", "read b", "write a 1", "frob"} {
		c := call(line)
		c.ID = string(rune('a' + id))
		b.Add(c)
	}
	out := b.Wait()
	raw, err := out[0].JSON(json.RawMessage("7"))
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "under its caller's id", `{"id":7,"name":"read","status":"success","llmContent":"<<0>>","returnDisplay":""}`, string(raw))
	var lines []string
	for _, o := range out {
		raw, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
	}
	if d := cmp.Diff([]string{
		`{"id":"a","name":"read","status":"success","llmContent":"<<0>>","returnDisplay":""}`,
		`{"id":"b","name":"read","status":"error","llmContent":"read b: no such file","returnDisplay":"read b: no such file","error":{"type":"file_not_found","message":"read b: no such file"}}`,
		`{"id":"c","name":"write","status":"denied","llmContent":"Permission denied: write a: rule. Continue without it, or tell the user what you need.","returnDisplay":"permission denied: write a\nRule.","error":{"type":"execution_denied","message":"permission denied: write a\nRule."}}`,
		`{"id":"d","name":"frob","status":"error","llmContent":"unknown tool \"frob\"\nAvailable tools: read, write","returnDisplay":"unknown tool \"frob\"\nAvailable tools: read, write","error":{"type":"tool_not_registered","message":"unknown tool \"frob\"\nAvailable tools: read, write"}}`,
	}, lines); d != "" {
		t.Error(d)
	}
}
