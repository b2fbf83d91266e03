package tool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// todoList is a display that marshals itself, of a type that is unknown when it is read.
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

func someEffects() tool.Effects {
	return tool.Effects{
		Command: tool.Command{Line: "npm run format"}, Ending: "exit 0", Took: 2100 * time.Millisecond,
		Network: []string{"registry.example"}, Hosts: []tool.Host{{Name: "a.example", Failure: "denied by the user"}}, Temp: []string{"/tmp/x"}, Warnings: []string{"careful"},
		Changes: []tool.Effect{
			{Path: "dist/", Kind: tool.EffectNew, Files: 412, Ignored: true},
			{Path: "gone.ts", Kind: tool.EffectDeleted, Files: 1, Counted: true, Removed: 3},
			{Path: "new.ts", Kind: tool.EffectNew, Files: 1, Counted: true, Added: 1, Diff: "+new\n"},
			{Path: "src/list.ts", Kind: tool.EffectChanged, Files: 1, Counted: true, Added: 14, Removed: 3, Diff: "-a\n+b\n", Attributes: "mode 0644 → 0755", Warning: "has a setuid bit"},
		},
	}
}

func TestEffects(t *testing.T) {
	f := someEffects()
	wantSame(t, "count", "415 changed files", f.Count())
	wantSame(t, "one", "1 changed file", tool.Effects{Changes: f.Changes[1:2]}.Count())
	wantSame(t, "summary", "dist/ (412 new), gone.ts (deleted), new.ts (new), src/list.ts", f.Summary())
	wantSame(t, "headline", "finished in 2.1 s, exit 0; nothing is kept yet", f.Headline())
	wantSame(t, "rows", []tool.Row{
		{Label: "changed", Cells: []string{"src/list.ts  +14 −3, mode 0644 → 0755"}},
		{Label: "new", Cells: []string{"dist/  412 files, ignored by git", "new.ts  +1 −0"}},
		{Label: "deleted", Cells: []string{"gone.ts  +0 −3"}},
		{Label: "denied", Cells: []string{"network: 1 lookup of registry.example"}},
		{Label: "missed", Cells: []string{"network: a.example: denied by the user"}},
		{Label: "not kept", Cells: []string{"/tmp/x"}},
	}, f.Rows())
	wantSame(t, "warnings", []string{"careful", "src/list.ts has a setuid bit"}, f.AllWarnings())
	wantSame(t, "diff", "+new\n-a\n+b\n", f.Diff())
	for _, want := range []string{"npm run format", "- changed src/list.ts", "Warning: careful", "+new"} {
		if !strings.Contains(f.Markdown(), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, f.Markdown())
		}
	}
}

// The network is named in words, and long lists are cut.
func TestDeniedNetwork(t *testing.T) {
	for want, network := range map[string][]string{
		"": nil,
		"network: 1 connection to 104.16.0.35:443":                                        {"104.16.0.35:443"},
		"network: 2 connections to 10.0.0.1:53, [fd00::1]:80; network: 1 lookup of a.dev": {"10.0.0.1:53", "[fd00::1]:80", "a.dev"},
		"network: an address without a route":                                             {"an address without a route"},
		"network: 6 lookups of a1, a2, a3, a4, a5, a6":                                    {"a1", "a2", "a3", "a4", "a5", "a6"},
		"network: 8 lookups of a1, a2, a3, a4, a5, 3 more":                                {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"},
	} {
		var got []string
		for _, row := range (tool.Effects{Network: network}).Rows() {
			got = append(got, row.Cells...)
		}
		wantSame(t, "rows", want, strings.Join(got, "; "))
	}
}

// Long lists are cut, except warnings.
func TestManyEffects(t *testing.T) {
	var f tool.Effects
	for i := range 100 {
		f.Changes = append(f.Changes, tool.Effect{Path: fmt.Sprintf("f%02d", i), Kind: tool.EffectChanged, Files: 1})
	}
	f.Changes[99].Warning = "is a protected name"
	if s := f.Summary(); !strings.HasSuffix(s, "f19, 80 more") {
		t.Errorf("summary: %s", s)
	}
	cells := f.Rows()[0].Cells
	wantSame(t, "cells", []string{"f19", "f99", "79 more"}, cells[19:])
}

// A batch has byte for byte the results and files of its calls run one by one.
func TestEqualsOneByOne(t *testing.T) {
	batches, calls := 25+int(3000*soak.Share()), 40
	for seed := range batches {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		files := map[string]string{"f0": "00", "f1": "11", "f2": "22", "f3": "33"}
		links := map[string]string{"l0": "f0", "l1": "f1"}
		var lines []string
		for range calls {
			lines = append(lines, randomLine(rnd))
		}
		one := newWorld(files)
		maps.Copy(one.links, links)
		x := one.executor()
		x.Policy = readOnlyGrant
		var want []tool.Outcome
		for _, line := range lines {
			want = append(want, begin(t.Context(), x, line).Wait()...)
		}

		all := newWorld(files)
		maps.Copy(all.links, links)
		y := all.executor()
		y.Policy = readOnlyGrant
		got := begin(t.Context(), y, lines...).Wait()
		wantSame(t, fmt.Sprintf("outcomes of batch %d", seed), says(want), says(got))
		wantSame(t, fmt.Sprintf("files after batch %d", seed), one.snapshot(), all.snapshot())
		if t.Failed() {
			t.Fatalf("the calls of batch %d: %q", seed, lines)
		}
	}
}

// randomLine reads, edits, creates, and runs commands that read, write or change a link.
func randomLine(rnd *rand.Rand) string {
	names := []string{"f0", "f1", "f2", "f3", "f4", "l0", "l1"}
	path := names[rnd.IntN(len(names))]
	digit := func() int { return rnd.IntN(5) }
	switch rnd.IntN(12) {
	case 0, 1, 2:
		return "read " + path
	case 3, 4, 5:
		return fmt.Sprintf("edit %s %d %d%d", path, digit(), digit(), digit())
	case 6, 7:
		return fmt.Sprintf("write %s %d%d%d", path, digit(), digit(), digit())
	case 8:
		return fmt.Sprintf("exec append %d %s", digit(), path)
	case 9:
		return fmt.Sprintf("exec ln f%d l%d", rnd.IntN(5), rnd.IntN(2))
	default:
		return "exec cat " + path
	}
}
