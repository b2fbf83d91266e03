package replay_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
)

// A recording is a model: it answers with its next turn, whatever the request is.
func Example() {
	m, err := replay.Read(strings.NewReader(`
{"model":"qwen3-coder"}
{"text":"It is "}
{"text":"noon."}
{"end":"stop"}
`), "clock", replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name())
	for e, err := range m.Stream(context.Background(), model.Request{Messages: []model.Message{model.Prompt("How late is it?")}}) {
		fmt.Println(e, err)
	}
	fmt.Println("turns left:", m.Left())
	// Output:
	// qwen3-coder
	// It is  <nil>
	// noon. <nil>
	// {stop} <nil>
	// turns left: 0
}
