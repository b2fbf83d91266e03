package openai

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adze-dev/adze/model"
)

// failure is a failed attempt with what the retrying needs to know.
type failure struct {
	err   error
	again bool          // the same request may succeed later
	quick bool          // nobody is there: one more try is enough to bridge a restart
	busy  bool          // the server has too much to do: it may take minutes
	after time.Duration // how long the server asks to wait; 0 for none
	body  string        // what the server said
}

// errorObject is the error of the wire, as far as servers agree on it.
type errorObject struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a word or an HTTP status
}

// readError reads {"error":{…}}, {"error":"…"}, {"message":"…"} or {"detail":…}, or takes the text as it is.
func readError(body []byte) errorObject {
	var whole struct {
		errorObject
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return errorObject{Message: excerpt(body)}
	}
	if !isNull(whole.Error) {
		return innerError(whole.Error)
	}
	if whole.Message == "" && !isNull(whole.Detail) {
		return innerError(whole.Detail)
	}
	return whole.errorObject
}

func innerError(raw json.RawMessage) errorObject {
	var e errorObject
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return e
	}
	if s := scalar(raw); s != "" {
		return errorObject{Message: s}
	}
	return errorObject{Message: excerpt(raw), Type: e.Type, Code: e.Code}
}

// tooLong are the words by which servers report that the conversation does not fit.
var tooLong = []string{
	"context length", "context_length", "context window", "context size", "context limit", "maximum context", // most of them
	"context_size",                          // llama.cpp's type
	"maximum model length", "max_model_len", // vLLM
	"longer than the model's context",         // SGLang
	"exceeded max context", "prompt too long", // Ollama
	"tokens to keep from the initial prompt",  // LM Studio
	"prompt is too long", "input is too long", // Anthropic, Bedrock
	"maximum prompt length", "exceeds max length", // xAI, Z.ai
	"exceeded model token limit",              // Moonshot
	"input token count", "prompt token count", // Gemini, Copilot
	"range of input length",                                // DashScope
	"reduce the length of the messages", "too many tokens", // Groq and others
}

func saysTooLong(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(tooLong, func(w string) bool { return strings.Contains(message, w) })
}

// statusFailure is the failure of an answer that is not 200 OK.
func statusFailure(req string, resp *http.Response, now time.Time) *failure {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the status alone is worth telling
	e := readError(body)
	f := classify(resp.StatusCode, e)
	f.body = e.Message
	f.after = retryAfter(resp.Header, now)
	said := cmp.Or(e.Message, http.StatusText(resp.StatusCode))
	kind := kindOf(resp.StatusCode, e)
	f.err = &model.Error{Kind: kind, Status: resp.StatusCode,
		Err: fmt.Errorf("%s: status %d: %s%s", req, resp.StatusCode, said, advice(resp.StatusCode))}
	if kind == model.ErrContextLength {
		f.again, f.err = false, withNextStep(f.err, shorten)
	}
	return f
}

// shorten is the next step where a conversation is too long for the model.
const shorten = "The conversation exceeds the model's context window. Start a new session with a shorter prompt and smaller tool " +
	"results, or use a model with a larger window. If the server limits the window, set " +
	"model.generationConfig.contextWindowSize."

// withNextStep adds a line to an error and keeps its kind and status.
func withNextStep(err error, line string) error {
	out := model.Error{Kind: model.ErrServer}
	var known *model.Error
	if errors.As(err, &known) {
		out = *known
	}
	out.Err = fmt.Errorf("%w\n%s", err, line)
	return &out
}

// streamError is the error for an error object where an answer was expected.
func streamError(raw json.RawMessage) error {
	e := innerError(raw)
	status := 0
	if _, err := fmt.Sscan(scalar(e.Code), &status); err != nil || http.StatusText(status) == "" {
		status = 0
	}
	if status == 0 && strings.Contains(strings.ToLower(e.Type+scalar(e.Code)), "overloaded") {
		status = http.StatusServiceUnavailable
	}
	err := &model.Error{Kind: kindOf(status, e), Status: status, Err: fmt.Errorf("the server stopped its answer: %s", e.Message)}
	if err.Kind == model.ErrContextLength {
		return withNextStep(err, shorten)
	}
	return err
}

// kindOf sorts an error by status, and by its words where there is no status or it says too little.
func kindOf(status int, e errorObject) model.Kind {
	words := strings.ToLower(e.Type + " " + scalar(e.Code))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || strings.Contains(words, "invalid_api_key"):
		return model.ErrCredentials
	case status == http.StatusTooManyRequests || strings.Contains(words, "rate_limit"):
		return model.ErrRateLimit
	case status == http.StatusRequestEntityTooLarge || saysTooLong(words) || saysTooLong(e.Message):
		return model.ErrContextLength
	case status >= 400 && status < 500 || strings.Contains(words, "invalid_request"):
		return model.ErrRejected
	}
	return model.ErrServer
}

// classify says whether the same request may succeed later.
func classify(status int, e errorObject) *failure {
	switch {
	case strings.Contains(e.Type+scalar(e.Code), "insufficient_quota"):
		return &failure{} // waiting pays no bill
	case isBusy(status):
		return &failure{again: true, busy: true}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return &failure{again: true}
	case status >= 500 && status != http.StatusNotImplemented:
		return &failure{again: true}
	}
	return &failure{}
}

// isBusy reports whether a status says that the server has too much to do: 429, 503, and 529, which several use for an
// overloaded model.
func isBusy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529
}

func advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "\nCheck the API key."
	case http.StatusNotFound:
		return "\nCheck the base URL (it usually ends in /v1) and the model name."
	}
	return ""
}

// dialFailure is the failure of a request that got no answer.
func dialFailure(req string, err error) *failure {
	var known *model.Error
	if errors.As(err, &known) {
		return &failure{err: err}
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return &failure{err: model.Errorf(model.ErrUnreachable, "%s: %w", req, unwrapURL(err))} // waiting makes no trust
	}
	var dns *net.DNSError
	quick := errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) && dns.IsNotFound
	hint := ""
	if quick {
		hint = "\nIs the server running? Check OPENAI_BASE_URL."
	}
	return &failure{again: true, quick: quick, err: model.Errorf(model.ErrUnreachable, "%s: %w%s", req, unwrapURL(err), hint)}
}

// answerFailure is the failure of an answer that began well.
func answerFailure(err error) *failure {
	var known *model.Error
	if !errors.As(err, &known) {
		return &failure{err: err}
	}
	again := known.Kind == model.ErrCut || known.Kind == model.ErrRateLimit || known.Kind == model.ErrServer
	return &failure{err: err, again: again, busy: known.Kind == model.ErrRateLimit || isBusy(known.Status)}
}
