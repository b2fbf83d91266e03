package tool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// A turn that reads a file and edits it: the edit, which requires that the file was read, was prepared while the read waited,
// and failed.
func TestEditAfterReadOfTheSameTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Bool
		gate := make(chan struct{})
		x := &tool.Executor{Registry: tool.NewRegistry(
			tool.Define(tool.Def[struct{}]{Name: "look", Description: "Looks.", Kind: tool.Read,
				Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
					return &tool.Invocation{Access: []tool.Access{{Verb: tool.Reads, Target: "/a"}}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
						<-gate
						read.Store(true)
						return tool.TextResult("seen"), nil
					}}, nil
				}}),
			tool.Define(tool.Def[struct{}]{Name: "change", Description: "Changes.", Kind: tool.Edit,
				Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
					inv := &tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
						return tool.TextResult("changed"), nil
					}}
					if !read.Load() {
						return inv, errors.New("read it first")
					}
					return inv, nil
				}}),
		), Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		b := x.Batch(t.Context())
		b.Add(tool.Call{ID: "1", Name: "look"})
		b.Add(tool.Call{ID: "2", Name: "change"})
		synctest.Wait() // the edit has failed once
		close(gate)
		wantSame(t, "outcomes", []string{"success: seen", "success: changed"}, says(b.Wait()))
	})
}
