package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/model"
)

// errorObject is a server's error, with the members that most servers have.
type errorObject struct {
	Message  string          `json:"message"`
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`   // a word or an HTTP status
	Param    json.RawMessage `json:"param"`  // OpenAI: what is rejected, such as "reasoning.effort"
	Status   string          `json:"status"` // Gemini's word
	Details  []errorDetail   `json:"details"`
	Metadata struct {
		Raw json.RawMessage `json:"raw"` // OpenRouter: the provider's error
	} `json:"metadata"`
	page bool // it is a web page
}

// errorDetail is one of Gemini's details.
type errorDetail struct {
	RetryDelay string `json:"retryDelay"` // "34.5s"
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// readError reads {"error":{…}}, {"error":"…"}, {"message":"…"} or {"detail":…}, a list with one of them, or plain
// text. For a web page it takes the title.
func readError(body []byte) errorObject {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	if bytes.HasPrefix(body, []byte("<")) {
		return errorObject{Message: "a web page" + pageTitle(body) + ", possibly from a proxy", page: true}
	}
	var whole struct {
		errorObject
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return errorObject{Message: Excerpt(body)}
	}
	if !IsNull(whole.Error) {
		return innerError(whole.Error)
	}
	if whole.Message == "" && !IsNull(whole.Detail) {
		return innerError(whole.Detail)
	}
	return whole.errorObject
}

var titleTag = lazy.Regexp(`(?is)<title[^>]*>(.*?)</title>`)

// pageTitle returns the title of a web page, quoted for a text.
func pageTitle(page []byte) string {
	if found := titleTag().FindSubmatch(page); found != nil && len(bytes.TrimSpace(found[1])) > 0 {
		return ` ("` + Excerpt(found[1]) + `")`
	}
	return ""
}

func innerError(raw json.RawMessage) errorObject {
	var e errorObject
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		if cause := Scalar(e.Metadata.Raw); cause != "" && !strings.Contains(e.Message, cause) {
			e.Message += ": " + Excerpt([]byte(cause))
		}
		return e
	}
	if s := Scalar(raw); s != "" {
		return errorObject{Message: s}
	}
	e.Message = Excerpt(raw)
	return e
}

// words returns the error's classes as the server names them, in lower case.
func (e errorObject) words() string {
	return strings.ToLower(e.Type + " " + Scalar(e.Code) + " " + e.Status)
}

// retryDelay returns how long the error asks to wait.
func (e errorObject) retryDelay() time.Duration {
	for _, d := range e.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			return wait
		}
	}
	return 0
}

// kindOf classifies an error by its status, and by its words if it has no status or a general one.
func kindOf(status int, e errorObject) model.Kind {
	words := e.words()
	is := func(w string) bool { return strings.Contains(words, w) }
	switch {
	case e.spent(status):
		return model.ErrQuota
	case e.unknownModel(status):
		return model.ErrUnknownModel
	case status == http.StatusUnauthorized || status == http.StatusForbidden && !e.page || is("invalid_api_key") ||
		is("authentication_error") ||
		status == http.StatusBadRequest && e.has(badKey):
		return model.ErrCredentials
	case status == http.StatusTooManyRequests || is("rate_limit") || is("resource_exhausted"):
		return model.ErrRateLimit
	case status == http.StatusRequestEntityTooLarge || e.has(tooLong):
		return model.ErrContextLength
	case status >= 300 && status < 500 || is("invalid_request") || is("invalid_argument"):
		return model.ErrRejected
	}
	return model.ErrServer
}

// has reports whether the error contains one of the texts.
func (e errorObject) has(texts []string) bool {
	all := e.words() + " " + strings.ToLower(e.Message)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(all, t) })
}

// badKey are error texts for a wrong key, with status 400.
var badKey = []string{"api key not valid", "api_key_invalid", "incorrect api key"} // Gemini, xAI

// tooLong are error texts for a conversation that is too long.
var tooLong = []string{
	// most servers
	"context length", "context_length", "context window", "context size", "context limit", "maximum context",
	"context_size",                          // llama.cpp's type
	"maximum model length", "max_model_len", // vLLM
	"longer than the model's context",         // SGLang
	"exceeded max context", "prompt too long", // Ollama
	"tokens to keep from the initial prompt",  // LM Studio
	"prompt is too long", "input is too long", // Anthropic, Bedrock
	"request_too_large",                           // Anthropic's type
	"maximum prompt length", "exceeds max length", // xAI, Z.ai
	"exceeded model token limit",              // Moonshot
	"input token count", "prompt token count", // Gemini, Copilot
	"range of input length",                                // DashScope
	"reduce the length of the messages", "too many tokens", // Groq and others
}

// used are error texts for a quota of a day, a month or an account. Quotas of a minute are rate limits.
var used = []string{
	"insufficient_quota", "billing_hard_limit", "billing hard limit", "billing_not_active", // OpenAI
	"credit balance is too low", "api usage limits", "spend limit", // Anthropic
	"insufficient balance", "insufficient credits", "insufficient_balance", // DeepSeek, Z.ai, OpenRouter
	"exceeded_current_quota",                        // Moonshot
	"free allocated quota exceeded", "freetieronly", // DashScope
	"per day", "per-day", "daily", "per month", "per-month", // Groq, OpenRouter
	"monthly", "spending limit",
}

// spent reports whether a quota is used up for so long that waiting doesn't help. Gemini's text is the same for a
// minute's quota and a day's; only its details differ.
func (e errorObject) spent(status int) bool {
	switch status {
	case http.StatusPaymentRequired:
		return true
	case 0, http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		return false
	}
	detailed := false
	for _, d := range e.Details {
		for _, v := range d.Violations {
			detailed = true
			if id := strings.ToLower(v.QuotaID); strings.Contains(id, "perday") || strings.Contains(id, "permonth") {
				return true
			}
		}
	}
	return !detailed && e.has(used)
}

// notThere are error texts for a model that a server doesn't have. They apply only to errors that mention a model.
var notThere = []string{"not found", "not exist", "not a valid model", "no such model", "unknown model",
	"invalid model", "model not", "not_found"}

func (e errorObject) unknownModel(status int) bool {
	if words := e.words(); strings.Contains(words, "model_not_found") || strings.Contains(words, "deploymentnotfound") {
		return true
	}
	return (status == http.StatusNotFound || status == http.StatusBadRequest) && !e.page &&
		strings.Contains(strings.ToLower(e.Message), "model") && e.has(notThere)
}
