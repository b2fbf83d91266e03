package tool_test

import (
	"context"
	"encoding/json"

	"github.com/adze-dev/adze/tool"
)

// fakeTool prepares a given invocation.
type fakeTool struct {
	decl    tool.Declaration
	prepare func(context.Context, json.RawMessage) (*tool.Invocation, error)
	slow    chan struct{} // Prepare waits for it
}

func fake(name string, kind tool.Kind, inv tool.Invocation) *fakeTool {
	return &fakeTool{
		decl:    tool.Declaration{Name: name, Description: "A toy.", Kind: kind},
		prepare: func(context.Context, json.RawMessage) (*tool.Invocation, error) { return &inv, nil },
	}
}

func (f *fakeTool) Declaration() tool.Declaration { return f.decl }

func (f *fakeTool) Prepare(ctx context.Context, args json.RawMessage) (*tool.Invocation, error) {
	if f.slow != nil {
		<-f.slow
	}
	return f.prepare(ctx, args)
}

// runs is a Run that does nothing but say so.
func (w *world) runs(name string) func(context.Context, *tool.Live) (tool.Result, error) {
	return func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
		w.at(ctx, "run "+name)
		return tool.TextResult(name), ctx.Err()
	}
}
