// Command ssh has an agent work on another machine, by ssh. The words start Adze there:
//
//	go run . ssh build-1 adze mcp serve --cwd /src/app
//
// Files and commands are those of the other machine, with its rules and its sandbox. The model is a recording, so that no
// key is needed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

// recording is what the model answers: it writes a file there, and lists the files.
const recording = `
{"call":{"id":"1","name":"remote__write_file","args":{"file_path":"note.txt","content":"The demo is on Friday.\n"}}}
{"end":"calls"}
{"call":{"id":"2","name":"remote__run_shell_command","args":{"command":"ls; uname >system.txt"}}}
{"end":"calls"}
{"text":"I wrote note.txt."}
{"end":"stop"}
`

func main() {
	adze.Main() // before anything else
	if err := run(context.Background(), os.Stdout, adze.OnTerminal, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "ssh:", err)
		os.Exit(1)
	}
}

// run runs the recording with the tools of the machine that the command connects to.
func run(ctx context.Context, w io.Writer, ask tool.Asker, cmd ...string) error {
	m, err := replay.Read(strings.NewReader(recording), "example", replay.Options{})
	if err != nil {
		return err
	}
	a, err := adze.New(adze.Remote(cmd...), adze.UseModel(m), adze.Ask(ask))
	if err != nil {
		return err
	}
	defer a.Close()
	return adze.Print(w, a.Run(ctx, "Note when the demo is."))
}
