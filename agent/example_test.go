package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

func Example() {
	clock := tool.Define(tool.Def[struct{}]{
		Name: "clock", Description: "Tells the time.", Kind: tool.Think,
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: "look at the clock", Access: []tool.Access{tool.Nothing},
				Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("noon"), nil },
			}, nil
		},
	})
	m, err := replay.Read(strings.NewReader(`
{"call":{"id":"1","name":"clock","args":{}}}
{"end":"calls"}
{"text":"It is noon."}
{"end":"stop"}
`), "example", replay.Options{})
	if err != nil {
		panic(err)
	}
	a := agent.New(agent.Options{
		Model: m,
		Executor: &tool.Executor{
			Registry: tool.NewRegistry(clock),
			Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		},
		System: agent.SystemPrompt(agent.Surroundings{Workspace: "/home/me/app"}),
		Observe: func(e agent.Event) {
			switch e := e.(type) {
			case agent.Called:
				fmt.Println("calls", e.Name)
			case agent.Responded:
				fmt.Println("gets", e.Outcomes[0].Result.Text())
			}
		},
	})
	answer, err := a.Run(context.Background(), model.Text("What time is it?"))
	fmt.Println(answer.Text, answer.Turns, err)
	// Output:
	// calls clock
	// gets noon
	// It is noon. 2 <nil>
}
