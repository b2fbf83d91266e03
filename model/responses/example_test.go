package responses_test

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/responses"
	"github.com/adze-dev/adze/model/responses/responsestest"
)

func Example() {
	server, err := responsestest.Start(responsestest.Script{Answers: []responsestest.Answer{{Thought: "A greeting.", Text: "Hello, carpenter."}}})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	ctx := context.Background()
	m, err := responses.Open(ctx, responses.Options{BaseURL: server.URL})
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
			fmt.Println("thought:", e)
		case model.Text:
			fmt.Println(m.Name()+":", e)
		case model.End:
			fmt.Println("end:", e.Reason)
		}
	}
	// Output:
	// thought: A greeting.
	// scripted: Hello, carpenter.
	// end: stop
}
