// Command minimal is an agent that answers one prompt about the current directory:
//
//	go run ./examples/minimal                                     the model is a recording
//	go run ./examples/minimal -model gpt-5.5 "what is here?"      the key is in OPENAI_API_KEY
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

const recording = `
{"call":{"id":"1","name":"run_shell_command","args":{"command":"ls"}}}
{"end":"calls"}
{"call":{"id":"2","name":"write_file","args":{"file_path":"note.txt","content":"hello\n"}}}
{"end":"calls"}
{"text":"I listed the files and asked to write one."}
{"end":"stop"}
`

func main() {
	adze.Main() // before anything else
	name := flag.String("model", "", "name of the model; without it, a recording answers")
	flag.Parse()
	prompt := strings.Join(flag.Args(), " ")
	if err := run(context.Background(), os.Stdout, ".", adze.OnTerminal, *name, prompt); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

// run answers a prompt, and prints the answer and the calls.
func run(ctx context.Context, w io.Writer, dir string, ask tool.Asker, name, prompt string) error {
	model := adze.Model(name)
	if name == "" {
		m, err := replay.Read(strings.NewReader(recording), "example", replay.Options{})
		if err != nil {
			return err
		}
		model, prompt = adze.UseModel(m), "What is here?"
	}
	a, err := adze.New(adze.Dir(dir), model, adze.Ask(ask))
	if err != nil {
		return err
	}
	defer a.Close()
	return adze.Print(w, a.Run(ctx, prompt))
}
