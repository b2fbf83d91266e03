package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

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

// runs returns a Run that only records that it ran.
func (w *world) runs(name string) func(context.Context, *tool.Live) (tool.Result, error) {
	return func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
		w.at(ctx, "run "+name)
		return tool.TextResult(name), ctx.Err()
	}
}

// BenchmarkCall measures the overhead of the executor for a call that does nothing.
func BenchmarkCall(b *testing.B) {
	x := &tool.Executor{
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Registry: tool.NewRegistry(tool.Define(tool.Def[pathArgs]{
			Name: "trivial", Description: "Does nothing.", Kind: tool.Read,
			Prepare: func(_ context.Context, a pathArgs) (*tool.Invocation, error) {
				return &tool.Invocation{
					Description: "do nothing", Access: []tool.Access{{Verb: tool.Reads, Target: a.Path}},
					Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("done"), nil },
				}, nil
			},
		})),
	}
	args := json.RawMessage(`{"path":"/some/file.txt"}`)
	b.ReportAllocs()
	for b.Loop() {
		batch := x.Batch(b.Context())
		batch.Add(tool.Call{Name: "trivial", Args: args})
		if o := batch.Wait()[0]; o.Status != tool.StatusSuccess {
			b.Fatal(o)
		}
	}
}

func BenchmarkBatch300Edits(b *testing.B) {
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("edit a %d. %d.", i, i+1))
	}
	for b.Loop() {
		w := newWorld(map[string]string{"a": "0."})
		begin(b.Context(), w.executor(), lines...).Wait()
		if w.files["a"] != "300." {
			b.Fatal(w.files["a"])
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	s, err := schema.Parse(definedTool(nil).Declaration().Parameters)
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"file_path":"p","limit":"5","names":"a","spots":[{"line":1},{"line":"2"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Arguments(args); err != nil {
			b.Fatal(err)
		}
	}
}
