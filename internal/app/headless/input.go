package headless

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/engine/lines"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// incoming is a line of stdin.
type incoming struct {
	Type     string          `json:"type"`
	ID       json.RawMessage `json:"request_id"`
	Request  json.RawMessage `json:"request"`
	Message  json.RawMessage `json:"message"`
	Response struct {
		Subtype  string          `json:"subtype"`
		ID       string          `json:"request_id"`
		Response json.RawMessage `json:"response"`
		Error    json.RawMessage `json:"error"`
	} `json:"response"`
}

// read handles lines until stdin is closed. It never blocks on anything else, so that responses always arrive.
func (h *host) read(ctx context.Context) {
	defer h.queue.close()
	defer h.asked.close()
	in := lines.New(h.o.Stdin, maxLine)
	for ctx.Err() == nil {
		line, err := in.Next()
		text := bytes.TrimSpace(line.Text)
		switch {
		case err != nil:
			return
		case line.Long:
			h.reject(line.Member(requestID), fmt.Errorf("the line is longer than %d MB", maxLine>>20))
		case len(text) > 0:
			h.take(ctx, text)
		}
	}
}

// take handles one line.
func (h *host) take(ctx context.Context, line []byte) {
	var in incoming
	if err := json.Unmarshal(line, &in); err != nil {
		h.reject(lines.Line{Text: line, Tail: line}.Member(requestID),
			fmt.Errorf("invalid line: expected a JSON object with a type: %s", discover.Misread(err)))
		return
	}
	switch in.Type {
	case "user":
		h.prompted(ctx, in.Message)
	case "control_request":
		h.requested(ctx, in.ID, slices.Clone(in.Request))
	case "control_response":
		h.asked.answered(in.Response.ID, reply{slices.Clone(in.Response.Response), in.problem()})
	case "control_cancel_request":
		h.cancelled(string(in.ID))
	case "assistant", "system", "result", "stream_event": // output of Adze, sent back
	default:
		h.reject(in.ID, fmt.Errorf("unknown type %q (expected user, control_request, control_response or "+
			"control_cancel_request)", in.Type))
	}
}

// problem returns the error in a response: a text, or an object with a message.
func (in incoming) problem() error {
	if in.Response.Subtype == "success" {
		return nil
	}
	var text string
	var object struct{ Message string }
	if json.Unmarshal(in.Response.Error, &text) != nil {
		_ = json.Unmarshal(in.Response.Error, &object)
	}
	return errors.New(cmp.Or(text, object.Message, "the program answered with an error"))
}

// reject responds to an invalid request.
func (h *host) reject(id json.RawMessage, err error) {
	if !json.Valid(id) {
		id = json.RawMessage(`""`)
	}
	h.out.Send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": id, "error": err.Error(),
	}})
}

// prompted queues a prompt.
func (h *host) prompted(ctx context.Context, raw json.RawMessage) {
	parts, err := promptParts(raw)
	h.mu.Lock()
	after := slices.Clone(h.setups)
	h.mu.Unlock()
	p := newPrompt(ctx, parts, after)
	p.err = err
	h.queue.add(p)
}

// block is a part of a message.
type block struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// promptParts reads a message: a text, or text and media blocks. Other blocks are sent to the model as JSON.
func promptParts(raw json.RawMessage) ([]model.Part, error) {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, errors.New("user message: message: expected an object with content")
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil && text != "" {
		return []model.Part{model.Text(text)}, nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(m.Content, &blocks); err != nil || len(blocks) == 0 {
		return nil, errors.New("user message: message.content: expected a text or a list of blocks")
	}
	var media []model.Part
	for i, raw := range blocks {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, fmt.Errorf("user message: message.content[%d]: expected a block with a type", i)
		}
		switch {
		case b.Type == "text":
			text += newline(text) + b.Text
		case (b.Type == "image" || b.Type == "document") && b.Source.Type == "base64":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil || b.Source.MediaType == "" {
				return nil, fmt.Errorf("user message: message.content[%d].source: expected media_type and base64 data",
					i)
			}
			media = append(media, model.Media{Media: tool.Media{MIMEType: b.Source.MediaType, Data: data}})
		default:
			text += newline(text) + string(raw)
		}
	}
	if text == "" && len(media) == 0 {
		return nil, errors.New("user message: message.content: no text")
	}
	return append([]model.Part{model.Text(text)}, media...), nil
}

func newline(before string) string {
	if before == "" {
		return ""
	}
	return "\n"
}

// maxLine is the maximum length of a line. A longer one is skipped and answered with an error.
const maxLine = 64 << 20

// requestID is the key of the ID of a request.
const requestID = "request_id"
