package gemini_test

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/gemini/geminitest"
)

func Example() {
	srv, err := geminitest.Start(geminitest.Script{Key: "secret", Answers: []geminitest.Answer{{Text: "Hello."}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	m, err := gemini.Open(context.Background(), gemini.Options{BaseURL: srv.URL, Key: "secret", Model: "gemini-3-pro"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for e, err := range m.Stream(context.Background(), model.Request{Messages: []model.Message{model.Prompt("hi")}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if text, ok := e.(model.Text); ok {
			fmt.Println(text)
		}
	}
	// Output: Hello.
}
