package openai_test

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

func Example() {
	server, err := openaitest.Start(openaitest.Script{Answers: []openaitest.Answer{{Text: "Hello, carpenter."}}})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	ctx := context.Background()
	m, err := openai.Open(ctx, openai.Options{BaseURL: server.URL})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	for e, err := range m.Stream(ctx, model.Request{Messages: []model.Message{model.Prompt("hello")}}) {
		if err != nil {
			panic(err)
		}
		switch e := e.(type) {
		case model.Text:
			fmt.Println(m.Name()+":", e)
		case model.End:
			fmt.Println("end:", e.Reason)
		}
	}
	// Output:
	// scripted: Hello, carpenter.
	// end: stop
}
