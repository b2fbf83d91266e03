package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
)

// chunk is one event of an answer, or a complete answer that isn't streamed.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   feedback        `json:"promptFeedback"`
	Usage      json.RawMessage `json:"usageMetadata"`
	Error      json.RawMessage `json:"error"`
}

type feedback struct {
	Reason  string `json:"blockReason"`
	Message string `json:"blockReasonMessage"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

// piece is a part of an answer, with the known members.
type piece struct {
	Text      json.RawMessage `json:"text"` // raw, because a character may be cut in two: see [api.Joint]
	Thought   bool            `json:"thought"`
	Signature json.RawMessage `json:"thoughtSignature"`
	Call      *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Args     json.RawMessage `json:"args"`
		Partial  json.RawMessage `json:"partialArgs"`
		Continue bool            `json:"willContinue"`
	} `json:"functionCall"`
}

type usage struct {
	Prompt     int `json:"promptTokenCount"` // including tokens read from the cache
	ToolPrompt int `json:"toolUsePromptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
}

func (u usage) event() model.Usage {
	return model.Usage{
		Input:     u.Prompt + u.ToolPrompt,
		Output:    u.Candidates + u.Thoughts,
		CacheRead: u.Cached,
		Reasoning: u.Thoughts,
	}
}

// blocked returns the error for a prompt that the server didn't pass to the model.
func (f feedback) blocked() error {
	return model.Errorf(model.ErrRejected, "the server blocked the prompt: %s\nRephrase the prompt. If it stays "+
		"blocked, start a new session.",
		withMessage(f.Reason, f.Message))
}

// withMessage returns a server's code and its explanation, if any.
func withMessage(word, message string) string {
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		return fmt.Sprintf("%s (%s)", word, message)
	}
	return word
}

// unspecified is the API's name for a missing reason.
const unspecified = "FINISH_REASON_UNSPECIFIED"

// invalid reports whether a finishReason means that the model wrote a call or an answer that the server can't parse.
// Another attempt is likely to succeed.
func invalid(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE":
		return true
	}
	return false
}

// endReason translates a finishReason. Some gateways have their own for calls.
func endReason(reason string, calls bool) model.Reason {
	switch strings.ToUpper(reason) {
	case "", "STOP", "FUNCTION_CALL", "TOOL_CALLS":
		if calls {
			return model.Calls
		}
		return model.Stop
	case "MAX_TOKENS":
		return model.Length
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "LANGUAGE",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return model.Filter
	}
	return model.Reason(reason)
}
