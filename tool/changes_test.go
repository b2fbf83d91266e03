package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool"
)

// 100,000 changes are counted by directory, the largest first; few remain as they are.
func TestFoldedChanges(t *testing.T) {
	serial.Test(t)
	var c tool.Changes
	for i := range 100_000 {
		c.List = append(c.List, tool.Change{Path: fmt.Sprintf("/w/dist/%06d", i), Kind: tool.Created})
	}
	c.List = append(c.List, tool.Change{Path: "/w/a/b/c/d/e/deep", Kind: tool.Modified},
		tool.Change{Path: "/w/dist/dropped", Kind: tool.Created, Discarded: true})
	got := c.Folded()
	want := []tool.Change{{Path: "/w/a/b/c/d/e/deep", Kind: tool.Modified}, {Path: "/w/dist/", Kind: tool.Created, Files: 100_000},
		{Path: "/w/dist/dropped", Kind: tool.Created, Discarded: true}}
	if fmt.Sprint(got.List) != fmt.Sprint(want) {
		t.Errorf("got %v", got.List)
	}
	if text := got.Count(); text != "100,001 files changed, 100,000 new" {
		t.Error(text)
	}
	if text := got.Summary("/w"); text != "a/b/c/d/e/deep, dist/ (100,000 files)" {
		t.Error(text)
	}
	if b, err := json.Marshal(c.Reported()); err != nil || len(b) > 1000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Many directories with one file each become their parent, even if a directory is folded twice and has a quoted name.
func TestFoldedDirectories(t *testing.T) {
	var c tool.Changes
	for i := range 3000 {
		c.List = append(c.List, tool.Change{Path: fmt.Sprintf("/w/m/%04d/x", i), Kind: tool.Deleted},
			tool.Change{Path: fmt.Sprintf("/w/m/f%04d", i), Kind: tool.Created},
			tool.Change{Path: fmt.Sprintf(`"/w/\xff/%04d"`, i), Kind: tool.Created})
	}
	got := c.Folded()
	if want := `[{"/w/\xff/"  created 0 <nil>   0 0 3000 false} {/w/m/  changed 0 <nil>   0 0 6000 false}]`; fmt.Sprint(got.List) != want {
		t.Errorf("got %v", got.List)
	}
	top := tool.Changes{}
	for i := range 2000 {
		top.List = append(top.List, tool.Change{Path: fmt.Sprintf("/%04d", i), Kind: tool.Created})
	}
	if got := top.Folded(); len(got.List) != 2000 { // they have no directory
		t.Error(len(got.List))
	}
}

func TestCountChanges(t *testing.T) {
	c := tool.Changes{List: []tool.Change{
		{Path: "/w/a", Kind: tool.Modified}, {Path: "/w/b", Kind: tool.Created}, {Path: "/w/d", From: "/w/c", Kind: tool.Renamed},
		{Path: "/w/e", Kind: tool.Deleted}, {Path: "/w/f", Kind: tool.ModeChanged}, {Path: "/w/g", Kind: tool.LinkChanged},
		{Path: "/w/h", Kind: tool.LinkChanged, Before: "link:x"}, {Path: "/other/i", Kind: tool.Modified},
		{Path: "/w/no", Kind: tool.Created, Discarded: true},
	}}
	if got := c.Count(); got != "8 files changed, 2 new, 1 deleted, 1 renamed" {
		t.Error(got)
	}
	if got := c.Summary("/w"); got != "a, b (new), c → d, e (deleted), f (mode), g (new), h (link), /other/i" {
		t.Error(got)
	}
	if got := strings.Join(c.Kept(), " "); got != "/w/a /w/b /w/c /w/d /w/e /w/f /w/g /w/h /other/i" {
		t.Error(got)
	}
	if (tool.Changes{List: c.List[8:]}).Count() != "" || (tool.Changes{}).Reported() != nil {
		t.Error("nothing changed")
	}
	for range 30 {
		c.List = append(c.List, tool.Change{Path: "/w/x", Kind: tool.Modified})
	}
	if got := c.Summary("/w"); !strings.HasSuffix(got, "x, 18 more") {
		t.Error(got)
	}
}

// Secret values in names and targets are masked.
func TestMaskedChanges(t *testing.T) {
	const secret = "s3cret-value"
	x := &tool.Executor{
		Registry: tool.NewRegistry(tool.Define(tool.Def[struct{}]{Name: "t", Description: "Runs.", Kind: tool.Read,
			Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
				return &tool.Invocation{Access: []tool.Access{tool.Nothing},
					Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("done"), nil }}, nil
			}})),
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Mask:   func(s string) string { return strings.ReplaceAll(s, secret, "***") },
		Around: func(ctx context.Context, _ tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
			o := run(ctx)
			o.Changes = tool.Changes{Incomplete: "/w/" + secret + ": no", List: []tool.Change{
				{Path: "/w/" + secret, From: "/" + secret, Kind: tool.Renamed, After: "link:" + secret}, {Path: "/w/b", Kind: tool.Created},
			}}
			return o
		},
	}
	batch := x.Batch(t.Context())
	batch.Add(tool.Call{ID: "1", Name: "t"})
	b, err := json.Marshal(batch.Wait()[0])
	if err != nil || strings.Contains(string(b), secret) || !strings.Contains(string(b), `"path":"/w/***","from":"/***"`) {
		t.Errorf("%s %v", b, err)
	}
}
