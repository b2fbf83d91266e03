package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/adze-dev/adze/model"
)

// Record returns a model that answers like m and writes each complete turn to w. A turn that fails, or that its reader
// cancels, is not written.
func Record(w io.Writer, m model.Model) model.Model {
	return &recorder{Model: m, w: w}
}

type recorder struct {
	model.Model
	mu    sync.Mutex
	w     io.Writer
	begun bool
	known int // messages in the recording so far, including the model's
}

// Stream passes on the model's events and records them.
func (c *recorder) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		var said []line
		for e, err := range c.Model.Stream(ctx, r) {
			if l, ok := lineOf(e); ok && err == nil {
				said = join(said, l)
			}
			if _, end := e.(model.End); end && err == nil {
				if err := c.write(r, said); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// join joins the pieces of a text into one line, so that a recording can be read and edited.
func join(said []line, l line) []line {
	if len(said) > 0 {
		last := &said[len(said)-1]
		switch {
		case last.Text != nil && l.Text != nil:
			s := *last.Text + *l.Text
			last.Text = &s
			return said
		case last.Thought != nil && l.Thought != nil:
			s := *last.Thought + *l.Thought
			last.Thought = &s
			return said
		}
	}
	return append(said, l)
}

func (c *recorder) write(r model.Request, said []line) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := said
	if c.known > len(r.Messages) {
		c.known = 0 // another conversation, or a shortened one
	}
	lines = append([]line{{Request: &request{From: c.known, Messages: r.Messages[c.known:]}}}, lines...)
	if !c.begun {
		name := c.Name()
		lines = append([]line{{Model: &name}}, lines...)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return fmt.Errorf("write a recording: %w", err)
		}
	}
	if _, err := c.w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write a recording: %w", err)
	}
	c.begun = true
	c.known = len(r.Messages)
	return nil
}
