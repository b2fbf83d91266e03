package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// The fields in which servers send thoughts.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
	fieldReasoningDetails = "reasoning_details"
)

// thoughtMode is how thoughts are sent back. DeepSeek, Kimi and others reject a message with calls whose thought is
// missing, even if it was empty; Cerebras and Groq reject an unknown field. An error that names the field switches to
// the next mode.
type thoughtMode int

const (
	thoughtsAsReceived thoughtMode = iota // thoughts that came with calls, in the field that they came in
	thoughtsAlways                        // in every message, empty if none was received
	thoughtsNever
)

// sealed is the data of a [model.Sealed] part: the thoughts to send back in the assistant's message, and to which
// server.
type sealed struct {
	Server  string            `json:"server"`
	Field   string            `json:"field"`
	Text    string            `json:"text,omitempty"`
	Details []json.RawMessage `json:"details,omitempty"`
}

// part returns the sealed part of an answer; false if nothing is sent back.
func (s *sealed) part(name string) (model.Sealed, bool) {
	if s.Field == "" {
		return model.Sealed{}, false
	}
	raw, err := api.Marshal(s)
	if err != nil {
		return model.Sealed{}, false // can't happen for strings and valid JSON
	}
	return model.Sealed{API: Name, Model: name, JSON: raw}, true
}

// detail is one of OpenRouter's reasoning_details, with the members needed to join pieces.
type detail struct {
	Type  string          `json:"type"`
	Index json.RawMessage `json:"index"`
}

// addDetails adds the details of a chunk, and joins the pieces of one detail.
func (s *sealed) addDetails(list []json.RawMessage) {
	for _, raw := range list {
		s.Field = fieldReasoningDetails
		n := len(s.Details) - 1
		if n >= 0 {
			if joined, ok := joinDetails(s.Details[n], raw); ok {
				s.Details[n] = joined
				continue
			}
		}
		s.Details = append(s.Details, append(json.RawMessage{}, raw...))
	}
}

// joinDetails adds a piece to a detail that it continues: of the same type and index, and with a text or a summary, or
// only with the final signature.
func joinDetails(first, more json.RawMessage) (json.RawMessage, bool) {
	var a, b detail
	var have, add map[string]json.RawMessage
	if json.Unmarshal(first, &a) != nil || json.Unmarshal(more, &b) != nil || a.Type != b.Type ||
		string(a.Index) != string(b.Index) ||
		api.IsNull(a.Index) || strings.HasSuffix(a.Type, ".encrypted") || json.Unmarshal(first, &have) != nil ||
		json.Unmarshal(more, &add) != nil {
		return nil, false
	}
	if !api.IsNull(have["signature"]) {
		return nil, false
	}
	for _, key := range []string{"text", "summary"} {
		if !api.IsNull(have[key]) && !api.IsNull(add[key]) {
			text, err := api.Marshal(api.Scalar(have[key]) + api.Scalar(add[key]))
			if err != nil {
				return nil, false
			}
			add[key] = text
		}
	}
	for key, value := range add {
		if !api.IsNull(value) {
			have[key] = value
		}
	}
	joined, err := api.Marshal(have)
	return joined, err == nil
}

// thoughts sends a conversation's thoughts back to the server they came from.
type thoughts struct {
	mode   thoughtMode
	server string
	model  string
	field  string // for an empty thought
}

func (m *Model) thoughts(mode thoughtMode, messages []model.Message) thoughts {
	out := thoughts{mode: mode, server: m.client.Address(), model: m.Name(), field: fieldReasoningContent}
	for _, msg := range slices.Backward(messages) { // the last one counts
		if s, ok := out.of(msg); ok && s.Field != fieldReasoningDetails {
			out.field = s.Field
			break
		}
	}
	return out
}

// of returns the sealed data in a message for this server.
func (t thoughts) of(m model.Message) (sealed, bool) {
	for _, p := range m.Parts {
		var s sealed
		if data, ok := p.(model.Sealed); ok && data.For(Name, t.model) && json.Unmarshal(data.JSON, &s) == nil &&
			s.Server == t.server {
			return s, true
		}
	}
	return sealed{}, false
}

// put writes the thoughts of an assistant's message into out.
func (t thoughts) put(m model.Message, out *chatMessage) {
	s, ok := t.of(m)
	switch {
	case t.mode == thoughtsNever:
		return
	case t.mode == thoughtsAlways && !ok:
		s = sealed{Field: t.field}
	case t.mode == thoughtsAsReceived && len(out.ToolCalls) == 0:
		return
	}
	switch s.Field {
	case fieldReasoningContent:
		out.ReasoningContent = &s.Text
	case fieldReasoning:
		out.Reasoning = &s.Text
	case fieldReasoningDetails:
		out.ReasoningDetails = s.Details
	}
}
