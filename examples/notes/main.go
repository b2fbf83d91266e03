// Command notes is an agent with its own tool. Its conversations are recorded, and continue where they stopped:
//
//	notes "Remember that the demo is on Friday."        prints the answer and an ID
//	notes -resume ID "When is the demo?"
//
// It uses the server in OPENAI_BASE_URL, with the key in OPENAI_API_KEY and the model in OPENAI_MODEL.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/tool"
)

func main() {
	resume := flag.String("resume", "", "ID of the conversation to continue")
	home := flag.String("home", filepath.Join(os.TempDir(), "notes"), "directory of conversations and notes")
	flag.Parse()
	ctx := context.Background()
	m, err := openai.Open(ctx, openai.Options{
		BaseURL: os.Getenv("OPENAI_BASE_URL"), Key: os.Getenv("OPENAI_API_KEY"), Model: os.Getenv("OPENAI_MODEL"),
	})
	if err == nil {
		defer m.Close()
		err = run(ctx, os.Stdout, m, *home, *resume, strings.Join(flag.Args(), " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

// run answers one prompt, and prints the answer and the ID of the conversation.
func run(ctx context.Context, w io.Writer, m model.Model, home, id, prompt string) error {
	log, id, history, err := open(journal.Sessions{Home: home}, id)
	if err != nil {
		return err
	}
	defer log.Close()
	a := agent.New(agent.Options{
		Model: m, History: history, System: "You keep notes for the user.", Observe: record(log),
		Executor: &tool.Executor{
			Registry: tool.NewRegistry(remember(filepath.Join(home, "notes.txt"))),
			Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		},
	})
	answer, err := a.Run(ctx, model.Text(prompt))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n%s\n", answer.Text, id)
	return log.Err()
}

// open opens the journal of a conversation, or makes one if there is no ID.
func open(all journal.Sessions, id string) (*journal.Writer, string, []model.Message, error) {
	if id != "" {
		f, state, err := all.Open(id)
		if err != nil {
			return nil, "", nil, err
		}
		return journal.NewWriter(f, all.Store(), state), id, state.Agent("").History, nil
	}
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	f, err := all.Create(id)
	if err != nil {
		return nil, "", nil, err
	}
	w := journal.NewWriter(f, all.Store(), journal.State{})
	_, err = w.Write("", journal.Opened{ID: id})
	return w, id, nil, err
}

// record writes every message that enters the history. A writer keeps its first error.
func record(w *journal.Writer) func(agent.Event) {
	return func(e agent.Event) {
		switch e := e.(type) {
		case agent.Told:
			w.Write("", journal.Message{Message: e.Message})
		case agent.Answered:
			w.Write("", journal.Answer{Turn: e.Turn, Usage: e.Usage, Reason: e.Reason, Message: e.Sent})
		case agent.Responded:
			w.Write("", journal.Responses{Turn: e.Turn, Message: e.Message})
			w.Sync()
		}
	}
}

type note struct {
	Text string `json:"text" description:"The note, one line."`
}

// remember returns a tool that adds a line to a file. It declares that it writes the file; the executor does the rest.
func remember(path string) tool.Tool {
	return tool.Define(tool.Def[note]{
		Name: "remember", Description: "Saves a note for later conversations.", Kind: tool.Edit,
		Prepare: func(_ context.Context, n note) (*tool.Invocation, error) {
			if strings.ContainsAny(n.Text, "\r\n") {
				return nil, tool.BadParam("text", "must be one line")
			}
			return &tool.Invocation{
				Description: "remember " + n.Text,
				Access:      []tool.Access{{Verb: tool.Writes, Target: path}},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
					if err != nil {
						return tool.Result{}, err
					}
					_, err = fmt.Fprintln(f, n.Text)
					return tool.TextResult("Saved."), closing(f, err)
				},
			}, nil
		},
	})
}

func closing(f *os.File, err error) error {
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
