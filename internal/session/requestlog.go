package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/adze-dev/adze/model"
)

// requestLog writes requests to models and their answers as JSON Lines, without API keys. nil writes nothing.
type requestLog struct {
	warn func(format string, args ...any)

	mu     sync.Mutex
	w      io.Writer
	last   int // number of the last request
	failed bool
}

func newLog(w io.Writer, warn func(format string, args ...any)) *requestLog {
	if w == nil {
		return nil
	}
	return &requestLog{w: w, warn: warn}
}

// of is a model whose requests and answers are logged. key is its API key, which servers may repeat in errors.
func (l *requestLog) of(m connected, key string) connected {
	if l == nil || m == nil {
		return m
	}
	return &logged{m, l, key}
}

type logged struct {
	connected
	log *requestLog
	key string
}

type loggedRequest struct {
	Time      time.Time       `json:"time"`
	Type      string          `json:"type"`
	ID        int             `json:"id"`
	Model     string          `json:"model"`
	System    string          `json:"system,omitempty"`
	Messages  []model.Message `json:"messages"`
	Tools     []loggedTool    `json:"tools,omitempty"`
	MaxTokens int             `json:"max_tokens,omitempty"`
	Effort    string          `json:"effort,omitempty"`
}

type loggedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type loggedAnswer struct {
	Time     time.Time     `json:"time"`
	Type     string        `json:"type"`
	ID       int           `json:"id"`
	Model    string        `json:"model"`
	Duration int64         `json:"duration_ms"`
	Message  model.Message `json:"message"`
	Usage    loggedUsage   `json:"usage"`
	Reason   string        `json:"reason,omitempty"`
	Retries  int           `json:"retries,omitempty"`
	Error    string        `json:"error,omitempty"`
}

type loggedUsage struct {
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens,omitempty"`
	CacheCreation int `json:"cache_creation_input_tokens,omitempty"`
}

// Stream logs the request, passes the answer on and logs it when it has ended, in whatever way.
func (m *logged) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		start := time.Now()
		id := m.log.next()
		request := loggedRequest{Time: start.UTC(), Type: "request", ID: id, Model: m.Name(), System: r.System, Messages: r.Messages, MaxTokens: r.MaxTokens, Effort: r.Effort}
		for _, d := range r.Tools {
			request.Tools = append(request.Tools, loggedTool{d.Name, d.Description, d.Parameters})
		}
		m.log.write(request, m.key)
		answer := loggedAnswer{Type: "answer", ID: id, Model: m.Name(), Message: model.Message{Role: model.Assistant}}
		defer func() {
			answer.Time, answer.Duration = time.Now().UTC(), time.Since(start).Milliseconds()
			m.log.write(answer, m.key)
		}()
		for e, err := range m.connected.Stream(ctx, r) {
			answer.add(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

// add takes a piece of the answer.
func (a *loggedAnswer) add(e model.Event, err error) {
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
		a.Usage = loggedUsage{e.Input, e.Output, e.CacheRead, e.CacheCreation}
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

func (l *requestLog) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// minKey is the length of the shortest API key that is looked for: placeholders such as "none" are words of other texts.
const minKey = 8

// write writes one line. A log that can't be written stops nothing.
func (l *requestLog) write(line any, key string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(line)
	text := b.Bytes()
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
