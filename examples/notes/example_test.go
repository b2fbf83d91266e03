package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
)

// counting prints how many messages a request has.
type counting struct{ model.Model }

func (c counting) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	fmt.Println("messages:", len(r.Messages))
	return c.Model.Stream(ctx, r)
}

// The second run continues the conversation of the first: its request has the messages of both.
func Example() {
	home, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	answer := func(id, prompt, recording string) string {
		m, err := replay.Read(strings.NewReader(recording), "example", replay.Options{})
		if err != nil {
			return err.Error()
		}
		var out bytes.Buffer
		if err := run(context.Background(), &out, home, id, prompt, adze.UseModel(counting{m})); err != nil {
			return err.Error()
		}
		said, next, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		fmt.Println(said)
		return next
	}
	id := answer("", "The demo is on Friday.", recording)
	again := answer(id, "When is the demo?", `
{"text":"On Friday."}
{"end":"stop"}
`)
	notes, _ := os.ReadFile(filepath.Join(home, "notes.txt"))
	fmt.Printf("%s%t\n", notes, id == again)
	// Output:
	// messages: 1
	// messages: 3
	// I saved it.
	// messages: 5
	// On Friday.
	// "demo: Friday"
	// true
}
