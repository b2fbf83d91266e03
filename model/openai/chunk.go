package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// chunk is one event of a streamed answer, or a complete answer that isn't streamed.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        *words `json:"delta"`
	Message      *words `json:"message"` // instead of delta if a server doesn't stream
	FinishReason string `json:"finish_reason"`
}

// words are kept raw, because a character may be split between two strings: see [api.Joint].
type words struct {
	Content          json.RawMessage `json:"content"` // a string; some servers send a list of parts
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	// the same under another name; if a server sends both, one is used
	Reasoning        json.RawMessage   `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"` // OpenRouter: sent back instead of the text
	ToolCalls        []callDelta       `json:"tool_calls"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	PromptMore struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int `json:"prompt_cache_hit_tokens"` // DeepSeek's spelling
}

func (u usage) event() model.Usage {
	return model.Usage{
		Input:         u.Prompt,
		Output:        u.Completion,
		CacheRead:     max(u.PromptMore.Cached, u.CacheHit),
		CacheCreation: u.PromptMore.Written,
		Reasoning:     u.CompletionMore.Reasoning,
	}
}

// text returns the content as bytes, in whatever form it was sent.
func text(raw json.RawMessage) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		return api.Unquote(raw)
	case '[':
		var parts []struct {
			Text json.RawMessage `json:"text"`
		}
		if json.Unmarshal(raw, &parts) != nil {
			return nil
		}
		var b []byte
		for _, p := range parts {
			b = append(b, text(p.Text)...)
		}
		return b
	}
	return nil
}

// reason translates a finish_reason, including the newer word for calls and upper case.
func reason(s string) model.Reason {
	switch strings.ToLower(s) {
	case "stop", "eos", "end_turn":
		return model.Stop
	case "length", "max_tokens":
		return model.Length
	case "tool_calls", "function_call", "tool_use":
		return model.Calls
	case "content_filter":
		return model.Filter
	}
	return model.Reason(s)
}

// done marks the end of a stream.
var done = []byte("[DONE]")

// decodeChunks reads the data of one event: one JSON object or, if a server separates its events by one newline instead
// of two, one on each line.
func decodeChunks(data []byte, each func(chunk) error) (sawDone bool, err error) {
	data = bytes.TrimSpace(data)
	if bytes.IndexByte(data, '\n') < 0 || json.Valid(data) {
		return decodeChunk(data, each)
	}
	for line := range bytes.Lines(data) {
		if sawDone, err = decodeChunk(bytes.TrimSpace(line), each); sawDone || err != nil {
			break
		}
	}
	return sawDone, err
}

func decodeChunk(data []byte, each func(chunk) error) (sawDone bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	if bytes.Equal(data, done) {
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, model.Errorf(model.ErrWire, "the server sent an invalid chunk: %w: %s", err, api.Excerpt(data))
	}
	return false, each(c)
}
