package anthropic_test

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/model/anthropic/anthropictest"
)

func Example() {
	server, err := anthropictest.Start(anthropictest.Script{Answers: []anthropictest.Answer{
		{Thought: "A greeting.", Signature: "sig", Text: "Hello, carpenter."},
	}})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	ctx := context.Background()
	m, err := anthropic.Open(ctx, anthropic.Options{BaseURL: server.URL, Model: "claude-x"})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	for e, err := range m.Stream(ctx, model.Request{Messages: []model.Message{model.Prompt("hello")}}) {
		if err != nil {
			panic(err)
		}
		switch e := e.(type) {
		case model.Thought:
			fmt.Println("thinks:", e)
		case model.Text:
			fmt.Println("answers:", e)
		case model.End:
			fmt.Println("end:", e.Reason)
		}
	}
	// Output:
	// thinks: A greeting.
	// answers: Hello, carpenter.
	// end: stop
}
