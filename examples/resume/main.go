// Command resume has an agent that crashes after its first call, and one that continues its session:
//
//	go run ./examples/resume          the model is a recording
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

const before = `{"call":{"id":"1","name":"write_file","args":{"file_path":"steps.txt","content":"one\n"}}}
{"end":"calls"}`

const after = `{"text":"The first step is done, so I don't repeat it."}
{"end":"stop"}`

func main() {
	adze.Main() // before anything else
	dir, err := os.MkdirTemp("", "resume-")
	if len(os.Args) == 2 {
		err = work(os.Args[1], before)
	} else if err == nil {
		defer os.RemoveAll(dir)
		crash := exec.Command(os.Args[0], dir).Run() // this program again, which crashes
		fmt.Println("crashed:", crash)
		err = work(dir, after)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}

// work begins a session, or continues one that was interrupted.
func work(dir, recording string) error {
	workspace := filepath.Join(dir, "workspace")
	made := os.MkdirAll(workspace, 0o700)
	m, err := replay.Read(strings.NewReader(recording), "example", replay.Options{})
	a, failed := adze.New(adze.Dir(workspace), adze.Journal(filepath.Join(dir, "journal")), adze.UseModel(m),
		adze.Allow("Edit(/**)"))
	if err := cmp.Or(made, err, failed); err != nil {
		return err
	}
	defer a.Close()
	sessions, err := a.Sessions()
	prompt := "Do the first step."
	if len(sessions) > 0 {
		prompt, err = "", a.Resume(sessions[0].ID)
	}
	if err != nil {
		return err
	}
	for event, err := range a.Run(context.Background(), prompt) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case adze.Call:
			if e.Stage == tool.Done {
				os.Exit(3) // without Close: as if the machine had lost power
			}
		case adze.End:
			fmt.Println(e.Text)
			return nil
		}
	}
	return errors.New("no answer")
}
