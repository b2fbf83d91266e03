package tool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

func someEffects() tool.Effects {
	return tool.Effects{
		Command: tool.Command{Line: "npm run format"}, Ending: "exit 0", Took: 2100 * time.Millisecond,
		Network: []string{"registry.example"}, Temp: []string{"/tmp/x"}, Warnings: []string{"careful"},
		Changes: []tool.Effect{
			{Path: "dist/", Kind: tool.EffectNew, Files: 412, Ignored: true},
			{Path: "gone.ts", Kind: tool.EffectDeleted, Files: 1, Counted: true, Removed: 3},
			{Path: "new.ts", Kind: tool.EffectNew, Files: 1, Counted: true, Added: 1, Diff: "+new\n"},
			{Path: "src/list.ts", Kind: tool.EffectChanged, Files: 1, Counted: true, Added: 14, Removed: 3, Diff: "-a\n+b\n", Warning: "has a setuid bit"},
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
		{Label: "changed", Cells: []string{"src/list.ts  +14 −3"}},
		{Label: "new", Cells: []string{"dist/  412 files, ignored by git", "new.ts  +1 −0"}},
		{Label: "deleted", Cells: []string{"gone.ts  +0 −3"}},
		{Label: "denied", Cells: []string{"network: registry.example"}},
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

// Long lists are cut, but not what is warned about.
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
