// Command notes is an agent with its own tool. Its conversations are recorded, and continue where they stopped:
//
//	go run ./examples/notes "Remember that the demo is on Friday."   the model is a recording
//	go run ./examples/notes -model gpt-5.5 -resume ID "When is the demo?"
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

const recording = `{"call":{"id":"1","name":"remember","args":{"text":"demo: Friday"}}}
{"end":"calls"}
{"text":"I saved it."}
{"end":"stop"}`

func main() {
	name := flag.String("model", "", "name of the model; without it, a recording answers")
	resume := flag.String("resume", "", "ID of the conversation to continue")
	home := flag.String("home", filepath.Join(os.TempDir(), "notes"), "directory of conversations and notes")
	flag.Parse()
	model, err := adze.Model(*name), os.MkdirAll(*home, 0o700)
	if m, _ := replay.Read(strings.NewReader(recording), "example", replay.Options{}); *name == "" {
		model = adze.UseModel(m)
	}
	if err == nil {
		err = run(context.Background(), os.Stdout, *home, *resume, strings.Join(flag.Args(), " "), model)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

// run answers one prompt, and prints the answer and the ID of the conversation.
func run(ctx context.Context, w io.Writer, home, id, prompt string, model adze.Option) error {
	a, err := adze.New(model, adze.Dir(home), adze.Journal(filepath.Join(home, "journal")), adze.WithoutSandbox(),
		adze.BuiltIn(), adze.Tools(remember(filepath.Join(home, "notes.txt"))), adze.Allow("remember"))
	if err != nil {
		return err
	}
	defer a.Close()
	if id != "" {
		if err := a.Resume(id); err != nil {
			return err
		}
	}
	for event, err := range a.Run(ctx, prompt) {
		if err != nil {
			return err
		}
		if end, ok := event.(adze.End); ok {
			fmt.Fprintf(w, "%s\n%s\n", end.Text, a.ID())
		}
	}
	return nil
}

type note struct {
	Text string `json:"text" description:"The note."`
}

// remember returns a tool that adds a line to a file. It declares that it writes the file; the executor does the rest.
func remember(path string) tool.Tool {
	return tool.Define(tool.Def[note]{
		Name: "remember", Description: "Saves a note for later conversations.", Kind: tool.Edit,
		Prepare: func(_ context.Context, n note) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: "remember " + n.Text, Access: []tool.Access{{Verb: tool.Writes, Target: path}},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult("Saved."), save(path, n.Text)
				},
			}, nil
		},
	})
}

// save adds a line to a file.
func save(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(old, "%q\n", text), 0o600)
}
