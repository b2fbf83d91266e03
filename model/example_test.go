package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
)

// A model answers with a stream of events. This one is a recording; those of the APIs are in the packages openai, responses,
// anthropic and gemini.
func Example() {
	m, err := replay.Read(strings.NewReader(`{"text":"Hello, "}
{"text":"world."}
{"usage":{"input":8,"output":4}}
{"end":"stop"}
`), "recording", replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range m.Stream(context.Background(), model.Request{Messages: []model.Message{model.Prompt("Greet the world.")}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e := e.(type) {
		case model.Text:
			fmt.Print(e)
		case model.Usage:
			fmt.Printf("\n%d tokens of output\n", e.Output)
		case model.End:
			fmt.Println("end:", e.Reason)
		}
	}
	// Output:
	// Hello, world.
	// 4 tokens of output
	// end: stop
}

// The kind of an error says what to do about it.
func ExampleErrorf() {
	err := fmt.Errorf("answer the prompt: %w", model.Errorf(model.ErrCredentials, "the API rejected the key"))
	if errors.Is(err, model.ErrCredentials) {
		fmt.Println("Set another key:", err)
	}
	// Output: Set another key: answer the prompt: the API rejected the key
}
