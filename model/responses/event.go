package responses

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// streamEvent is one event of an answer. Strings are kept raw where a character may be split: see [api.Joint].
type streamEvent struct {
	Type        string          `json:"type"`
	OutputIndex *int            `json:"output_index"` // of the item
	ItemID      string          `json:"item_id"`      // some proxies send a different one with each event
	Item        json.RawMessage `json:"item"`
	Delta       json.RawMessage `json:"delta"`
	Arguments   json.RawMessage `json:"arguments"`
	Input       json.RawMessage `json:"input"`
	Summary     int             `json:"summary_index"`
	Content     int             `json:"content_index"`
	Response    *response       `json:"response"`
	Error       json.RawMessage `json:"error"`
}

// response is a complete answer.
type response struct {
	Object     string            `json:"object"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Usage      json.RawMessage   `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// item is an item of an answer.
type item struct {
	Type      string          `json:"type"`
	ID        json.RawMessage `json:"id"`
	Status    string          `json:"status"`
	Content   json.RawMessage `json:"content"` // []piece or null
	Summary   json.RawMessage `json:"summary"` // likewise
	Phase     string          `json:"phase"`
	CallID    json.RawMessage `json:"call_id"`
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object itself
	Input     json.RawMessage `json:"input"`     // of a custom tool: any text
}

func readItem(raw json.RawMessage) (item, error) {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return it, model.Errorf(model.ErrWire, "can't read an item of the server's answer: %w: %s", err,
			api.Excerpt(raw))
	}
	return it, nil
}

// texts returns the text of a list of pieces.
func texts(raw json.RawMessage, sep string) string {
	var list []struct {
		Text    json.RawMessage `json:"text"`
		Refusal json.RawMessage `json:"refusal"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return api.Scalar(raw) // a plain string
	}
	var out []string
	for _, p := range list {
		out = append(out, api.Scalar(p.Text)+api.Scalar(p.Refusal))
	}
	return strings.Join(out, sep)
}

// arguments returns a call's arguments as the model wrote them.
func (it item) arguments() []byte {
	if it.Type == typeCustom {
		return custom([]byte(api.Scalar(it.Input)))
	}
	return written(it.Arguments)
}

func written(raw json.RawMessage) []byte {
	if len(raw) > 0 && raw[0] == '{' {
		return raw
	}
	return []byte(api.Scalar(raw))
}

// custom converts the input of a custom tool to arguments: such a tool has one parameter, input.
func custom(input []byte) []byte {
	out, err := api.Marshal(map[string]string{"input": string(input)})
	if err != nil {
		return nil // can't happen for a string
	}
	return out
}

type usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	InputMore struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // OpenRouter
	} `json:"input_tokens_details"`
	OutputMore struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u usage) event() model.Usage {
	return model.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.InputMore.Cached, CacheCreation: u.InputMore.Written,
		Reasoning: u.OutputMore.Reasoning,
	}
}

// rejections are prefixes of codes in events that reject the content of a request. As an HTTP status they would be 400.
var rejections = []string{"invalid_", "unsupported_", "image_", "empty_image", "failed_to_download_image", "bio_policy",
	"cyber_policy"}

// streamError returns the error for an error object in an event, which may have a code and no type.
func streamError(raw json.RawMessage) error {
	err := api.StreamError(raw)
	var e *model.Error
	var v struct{ Code json.RawMessage }
	if !errors.As(err, &e) || e.Kind != model.ErrServer || json.Unmarshal(raw, &v) != nil {
		return err
	}
	code := api.Scalar(v.Code)
	if !slices.ContainsFunc(rejections, func(s string) bool { return strings.HasPrefix(code, s) }) {
		return err
	}
	return model.Errorf(model.ErrRejected, "%w (%s)", e.Err, code)
}
