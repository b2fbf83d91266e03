package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

func ExampleCrew() {
	m, err := replay.Read(strings.NewReader(`
{"text":"Close is called in two views: a.go:7 and b.go:9."}
{"end":"stop"}
`), "example", replay.Options{})
	if err != nil {
		panic(err)
	}
	crew := agent.NewCrew(agent.CrewOptions{Model: m, Executor: &tool.Executor{Registry: tool.NewRegistry()}})
	defer crew.Close()
	report, err := crew.Do(context.Background(), agent.Task{
		Description: "find callers", Prompt: "Find all callers of Close.", Type: "explore",
	})
	fmt.Println(report.Text(), err)
	// Output:
	// Close is called in two views: a.go:7 and b.go:9.
	//
	// [explore-1: 1 turn, 0 calls, 0 tokens; no files edited] <nil>
}
