// Package requestlog logs requests to models and their answers as JSON Lines, without API keys.
package requestlog

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
)

// Log writes requests to models and their answers.
type Log struct {
	warn func(format string, args ...any)

	mu     sync.Mutex
	w      io.Writer
	last   int // number of the last request
	failed bool
}

// New returns a log that writes to w, or nil if w is nil. warn reports the first line that can't be written.
func New(w io.Writer, warn func(format string, args ...any)) *Log {
	if w == nil {
		return nil
	}
	return &Log{w: w, warn: warn}
}

type request struct {
	Time      time.Time       `json:"time"`
	Type      string          `json:"type"`
	ID        int             `json:"id"`
	Model     string          `json:"model"`
	System    string          `json:"system,omitempty"`
	Messages  []model.Message `json:"messages"`
	Tools     []declaration   `json:"tools,omitempty"`
	MaxTokens int             `json:"max_tokens,omitempty"`
	Effort    string          `json:"effort,omitempty"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type answer struct {
	Time     time.Time     `json:"time"`
	Type     string        `json:"type"`
	ID       int           `json:"id"`
	Model    string        `json:"model"`
	Duration int64         `json:"duration_ms"`
	Message  model.Message `json:"message"`
	Usage    usage         `json:"usage"`
	Reason   string        `json:"reason,omitempty"`
	Retries  int           `json:"retries,omitempty"`
	Error    string        `json:"error,omitempty"`
}

type usage struct {
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens,omitempty"`
	CacheCreation int `json:"cache_creation_input_tokens,omitempty"`
}

// Stream sends a request to m and logs it, passes the answer on, and logs the answer when it has ended. The log omits
// key, the model's API key, which servers may repeat in errors.
func (l *Log) Stream(ctx context.Context, m model.Model, r model.Request, key string) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		start := time.Now()
		id := l.next()
		sent := request{
			Time: start.UTC(), Type: "request", ID: id, Model: m.Name(), System: r.System, Messages: r.Messages,
			MaxTokens: r.MaxTokens, Effort: r.Effort,
		}
		for _, d := range r.Tools {
			sent.Tools = append(sent.Tools, declaration{d.Name, d.Description, d.Parameters})
		}
		l.write(sent, key)
		got := answer{Type: "answer", ID: id, Model: m.Name(), Message: model.Message{Role: model.Assistant}}
		defer func() {
			got.Time, got.Duration = time.Now().UTC(), time.Since(start).Milliseconds()
			l.write(got, key)
		}()
		for e, err := range m.Stream(ctx, r) {
			got.add(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

// add adds a piece of the answer.
func (a *answer) add(e model.Event, err error) {
	if err != nil {
		a.Error = err.Error()
		return
	}
	parts := a.Message.Parts
	n := len(parts) - 1
	switch e := e.(type) {
	case model.Text:
		if last, ok := lastPart(parts).(model.Text); ok {
			parts[n] = last + e
			return
		}
		a.Message.Parts = append(parts, e)
	case model.Thought:
		if last, ok := lastPart(parts).(model.Thought); ok {
			parts[n] = last + e
			return
		}
		a.Message.Parts = append(parts, e)
	case model.Sealed:
		a.Message.Parts = append(parts, e)
	case model.Call:
		a.Message.Parts = append(parts, e)
	case model.Usage:
		a.Usage = usage{e.Input, e.Output, e.CacheRead, e.CacheCreation}
	case model.Retry:
		a.Retries++
	case model.End:
		a.Reason = string(e.Reason)
	}
}

func lastPart(parts []model.Part) model.Part {
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1]
}

func (l *Log) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// minKey is the minimum length of an API key that is searched for: placeholders such as "none" occur in other texts.
const minKey = 8

// write writes one line. Write errors are only reported.
func (l *Log) write(line any, key string) {
	text, err := humanize.JSON(line)
	text = append(text, '\n')
	if len(key) >= minKey {
		text = bytes.ReplaceAll(text, []byte(key), []byte("[API key]"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.w.Write(text)
	}
	if err != nil && !l.failed {
		l.failed = true
		l.warn("write the request log: %v", err)
	}
}
