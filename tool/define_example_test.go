package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/tool"
)

type repeatArgs struct {
	Word  string `json:"word" description:"What to say."`
	Times int    `json:"times,omitempty" description:"How often." minimum:"1" maximum:"9" default:"2"`
}

func Example() {
	repeat := tool.Define(tool.Def[repeatArgs]{
		Name: "repeat", Description: "Says a word several times.", Kind: tool.Think,
		Prepare: func(_ context.Context, a repeatArgs) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: fmt.Sprintf("say %q %d times", a.Word, a.Times),
				Access:      []tool.Access{tool.Nothing},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					said := a.Word
					for range a.Times - 1 {
						said += " " + a.Word
					}
					return tool.TextResult(said), nil
				},
			}, nil
		},
	})
	x := &tool.Executor{
		Registry: tool.NewRegistry(repeat),
		Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{Name: "repeat", Args: json.RawMessage(`{"word":"chop"}`)})
	batch.Add(tool.Call{Name: "repeat", Args: json.RawMessage(`{"word":"chop","times":"3"}`)})
	batch.Add(tool.Call{Name: "repeat", Args: json.RawMessage(`{"times":0}`)})
	for _, o := range batch.Wait() {
		fmt.Println(o.Status + ": " + tool.Status(o.Result.Text()))
	}
	// Output:
	// success: chop chop
	// success: chop chop chop
	// Note: times was the string "3"; read as 3
	// error: repeat: 2 invalid parameters:
	// - word: is required (a string)
	// - times: must be at least 1, got 0
}
