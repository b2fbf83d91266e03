package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// request is the body of a request, without its messages.
type request struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	Stream    bool          `json:"stream"`
	Thinking  *thinking     `json:"thinking,omitempty"`
	Output    *outputConfig `json:"output_config,omitempty"`
	System    []block       `json:"system,omitempty"`
	Tools     []declaration `json:"tools,omitempty"`
	Messages  any           `json:"messages"` // nil: see api.Kept
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheMark      `json:"cache_control,omitempty"`
}

// cacheMark marks the end of a prefix that the server may cache. A request can have four.
type cacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// markedMessages is how many user messages have a mark: the last one, for the next request, and the one before it,
// which the last request cached.
const markedMessages = 2

// encoding is everything that the JSON of messages depends on. The set of rejected data only grows.
type encoding struct {
	quirks   quirks
	rejected int
	sees     bool
}

// encode writes the request's body. Messages are written by hand, because encoding/json changes the whitespace of
// sealed data.
func (m *Model) encode(s *sending) ([]byte, error) {
	m.mu.Lock()
	q, maxTokens := m.quirks, m.maxTokens(s)
	messages := m.messages(s.Messages)
	how := encoding{q, len(m.rejected), m.client.SendsImages()}
	m.mu.Unlock()
	out := request{Model: m.name, MaxTokens: maxTokens, Stream: true}
	if err := q.think(&out, s); err != nil {
		return nil, err
	}
	if filled(s.System) {
		out.System = []block{{Type: "text", Text: s.System}}
	}
	for _, d := range s.Tools {
		out.Tools = append(out.Tools, declaration{
			Name: d.Name, Description: d.Description, Schema: m.client.Parameters(d),
		})
	}
	if !q.noCache {
		out.mark(messages, &cacheMark{"ephemeral", m.client.Options.CacheTTL})
	}
	entries := make([]api.Entry, len(messages))
	for i, msg := range messages {
		entries[i] = api.Entry{From: msg.from, Values: func() []any { return []any{msg} }}
		if msg.blocks[len(msg.blocks)-1].Cache != nil {
			entries[i].Variant = 1
		}
	}
	sampling, limit := m.client.Options.Sampling, map[string]json.RawMessage(nil)
	if _, ok := sampling["max_tokens"]; ok {
		limit = map[string]json.RawMessage{"max_tokens": json.RawMessage(fmt.Sprint(maxTokens))}
	}
	body, err := m.kept.Object(out, "messages", s.CacheKey, how, entries, sampling, limit, m.client.Options.Extra)
	if err != nil {
		return nil, fmt.Errorf("write the request to %s: %w", m.name, err)
	}
	return body, nil
}

// mark sets the marks for the cache.
func (r *request) mark(messages []message, mark *cacheMark) {
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].Cache = mark
	}
	if n := len(r.System); n > 0 {
		r.System[n-1].Cache = mark
	}
	left := markedMessages
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		if messages[i].role == user {
			messages[i].blocks[len(messages[i].blocks)-1].Cache = mark
			left--
		}
	}
}

// JSON writes the message by hand: encoding/json changes the whitespace of sealed data.
func (msg message) JSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"role":"` + msg.role + `","content":[`)
	for j, part := range msg.blocks {
		if j > 0 {
			b.WriteByte(',')
		}
		if part.sealed != nil {
			b.Write(part.sealed)
			continue
		}
		raw, err := api.Marshal(part)
		if err != nil {
			return nil, err
		}
		b.Write(raw)
	}
	b.WriteString("]}")
	return b.Bytes(), nil
}

// messages returns the API's messages for a conversation. Messages without content are omitted: the server rejects
// them. The caller holds the lock.
func (m *Model) messages(list []model.Message) []message {
	sees := m.client.SendsImages()
	var out []message
	for _, msg := range list {
		var blocks []block
		role := user
		switch msg.Role {
		case model.Assistant:
			role, blocks = assistant, m.answered(msg)
		case model.Tool:
			blocks = responded(msg, sees)
		default:
			blocks = prompted(msg, sees)
		}
		if len(blocks) > 0 {
			out = append(out, message{role, blocks, msg})
		}
	}
	return out
}
