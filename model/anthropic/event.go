package anthropic

import (
	"encoding/json"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// streamEvent is an event of a stream. Its members are decoded when its type is known, because unknown events can have
// any format.
type streamEvent struct {
	Type    string          `json:"type"`
	Index   json.RawMessage `json:"index"`
	Message json.RawMessage `json:"message"`       // of message_start
	Block   json.RawMessage `json:"content_block"` // of content_block_start
	Delta   json.RawMessage `json:"delta"`         // of content_block_delta and message_delta
	Usage   json.RawMessage `json:"usage"`         // of message_delta
	Error   json.RawMessage `json:"error"`
}

// index returns the number of the block that an event is about.
func (e streamEvent) index() (n int, err error) {
	if api.IsNull(e.Index) {
		return 0, nil
	}
	err = json.Unmarshal(e.Index, &n)
	return n, err
}

// piece reads the delta of an event.
func (e streamEvent) piece() (d delta, err error) {
	if api.IsNull(e.Delta) {
		return d, nil
	}
	err = json.Unmarshal(e.Delta, &d)
	return d, err
}

// delta is a piece of a block, or of the message. Strings are raw, because a server may split them inside a character.
type delta struct {
	Type      string          `json:"type"`
	Text      json.RawMessage `json:"text"`
	Thinking  json.RawMessage `json:"thinking"`
	Signature json.RawMessage `json:"signature"`
	Arguments json.RawMessage `json:"partial_json"`
	stopped
}

// stopped is why an answer ended.
type stopped struct {
	Reason  string          `json:"stop_reason"`
	Details json.RawMessage `json:"stop_details"`
}

// refusal returns the error for a refusal in place of an answer.
func (s stopped) refusal() error {
	var d struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	}
	_ = json.Unmarshal(s.Details, &d) // the refusal is an error without details too
	text := "the server refused to answer"
	if d.Category != "" {
		text += " (category " + d.Category + ")"
	}
	if d.Explanation != "" {
		text += ": " + api.Excerpt([]byte(d.Explanation))
	}
	return model.Errorf(model.ErrRejected, "%s\nRephrase the prompt, or use another model.", text)
}

// wholeMessage is a complete answer, or its beginning in a stream.
type wholeMessage struct {
	Type    string            `json:"type"`
	Content []json.RawMessage `json:"content"`
	Usage   json.RawMessage   `json:"usage"`
	Error   json.RawMessage   `json:"error"`
	stopped
}

// received is a block of an answer as the server sends it.
type received struct {
	Type      string          `json:"type"`
	Text      json.RawMessage `json:"text"`
	Thinking  json.RawMessage `json:"thinking"`
	Signature json.RawMessage `json:"signature"`
	ID        json.RawMessage `json:"id"` // a number at some other servers
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// usage counts tokens. Counts of a later event replace those of an earlier one.
type usage struct {
	Input      int `json:"input_tokens"` // neither read from the cache nor written to it
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// update adds the counts of a later event. Some servers repeat only a few of them. Invalid counts are ignored.
func (u *usage) update(raw json.RawMessage) {
	var v usage
	if api.IsNull(raw) || json.Unmarshal(raw, &v) != nil {
		return
	}
	for have, count := range map[*int]int{
		&u.Input: v.Input, &u.Output: v.Output, &u.CacheRead: v.CacheRead, &u.CacheWrite: v.CacheWrite,
		&u.Details.Thinking: v.Details.Thinking,
	} {
		if count > 0 {
			*have = count
		}
	}
}

func (u usage) event() model.Usage {
	return model.Usage{
		Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output,
		CacheRead: u.CacheRead, CacheCreation: u.CacheWrite, Reasoning: u.Details.Thinking,
	}
}

// reason translates a stop_reason. Unknown ones are kept.
func reason(s string) model.Reason {
	switch s {
	case "", "end_turn", "stop_sequence":
		return model.Stop
	case "tool_use":
		return model.Calls
	case "max_tokens", "model_context_window_exceeded":
		return model.Length
	case "refusal":
		return model.Filter
	}
	return model.Reason(s)
}
