// Package replay plays a recorded model, and records one.
//
//	m, err := replay.Open("task.jsonl", replay.Options{Vars: map[string]string{"$WORK": dir}})
//	…
//	recorded := replay.Record(file, live) // live is any model.Model; use recorded in its place
//
// A recording is a file of JSON lines. Each line is one object with one key; an "end" closes a turn:
//
//	{"model":"qwen3-coder"}                                                   the name, once, before all else
//	{"request":{"from":0,"messages":[{"role":"user","parts":[{"text":"Fix it"}]}]}}
//	{"thought":"It is in main.go."}
//	{"text":"I will read it."}
//	{"call":{"id":"1","name":"read_file","args":{"absolute_path":"$WORK/main.go"}}}
//	{"usage":{"input":812,"output":40}}
//	{"end":"calls"}
//
// A request has the messages that were added to the conversation before the turn, beginning with message number from.
// It may be omitted, and only [Options].Strict checks it. Blank lines are skipped. Names such as $WORK, given when the
// recording is opened, are replaced inside strings.
//
// The package runs nothing: the program that replays a recording makes its calls again, with real tools.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/adze-dev/adze/model"
)

// Options configure how a recording is played.
type Options struct {
	Vars   map[string]string // "$WORK" → a directory
	Strict bool              // fail if the conversation is not the recorded one
}

// Model plays a recording, one turn for each Stream.
type Model struct {
	name   string // of the file
	model  string
	strict bool
	turns  []turn

	mu   sync.Mutex
	next int
}

var _ model.Model = (*Model)(nil)

// turn is one answer of the model.
type turn struct {
	line    int // its first line
	request *request
	events  []model.Event
}

// request is the part of the conversation that was added before a turn.
type request struct {
	From     int             `json:"from"`
	Messages []model.Message `json:"messages"`
}

// Open reads a recording from a file.
func Open(path string, o Options) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	defer f.Close()
	return Read(f, path, o)
}

// Read reads a recording. Errors name it and the line.
func Read(r io.Reader, name string, o Options) (*Model, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", name, err)
	}
	return parse(data, name, o)
}

// Name returns the recorded model's name.
func (m *Model) Name() string { return cmp.Or(m.model, "recording") }

// Left counts the turns that were not played yet.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.turns) - m.next
}

// Stream plays the next turn.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		t, err := m.take(r)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range t.events {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Model) take(r model.Request) (turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.turns) {
		return turn{}, model.Errorf(model.ErrRejected, "replay %s: the recording has only %d turns, but the "+
			"conversation continues", m.name, len(m.turns))
	}
	t := m.turns[m.next]
	if m.strict && t.request != nil {
		if err := t.request.match(r.Messages); err != nil {
			return turn{}, model.Errorf(model.ErrRejected, "replay %s, line %d: turn %d was recorded in a different "+
				"conversation: %w", m.name, t.line, m.next+1, err)
		}
	}
	m.next++
	return t, nil
}

// match returns where the conversation differs from the recorded one.
func (q *request) match(got []model.Message) error {
	if len(got) != q.From+len(q.Messages) {
		return fmt.Errorf("expected %d messages, got %d", q.From+len(q.Messages), len(got))
	}
	for i, want := range q.Messages {
		w, err := json.Marshal(want)
		if err != nil {
			return err
		}
		g, err := json.Marshal(got[q.From+i])
		if err != nil {
			return err
		}
		if !bytes.Equal(w, g) {
			return fmt.Errorf("message %d: expected\n%s\ngot\n%s", q.From+i, w, g)
		}
	}
	return nil
}
