package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// shout is a tool in the documented form. BaseTool has the other methods.
type shout struct{ tool.BaseTool }

func (shout) GetDescription(params map[string]any) string {
	return fmt.Sprintf("shout %q", params["text"])
}

func (shout) Execute(_ context.Context, params map[string]any, _ func(tool.Display)) (tool.Result, error) {
	return tool.TextResult(strings.ToUpper(params["text"].(string)) + "!"), nil
}

func ExampleFromMembers() {
	t := tool.FromMembers(shout{tool.BaseTool{Decl: tool.Declaration{
		Name:        "shout",
		Description: "Says a text loudly.",
		Kind:        tool.Think,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}}})
	x := &tool.Executor{
		Registry: tool.NewRegistry(t),
		Policy:   func(r tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{ID: "1", Name: "shout", Args: json.RawMessage(`{"text":"timber"}`)})
	batch.Add(tool.Call{ID: "2", Name: "shout", Args: json.RawMessage(`{"txt":"timber"}`)})
	for _, o := range batch.Wait() {
		fmt.Println(o.Status, o.Result.Text())
	}
	// Output:
	// success TIMBER!
	// error shout: 2 invalid parameters:
	// - text: is required (a string)
	// - txt: unknown parameter. Did you mean "text"?
}
