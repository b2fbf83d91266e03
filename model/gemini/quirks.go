package gemini

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// quirks are requirements of this model, learned from rejections.
type quirks struct {
	budgets    bool // an effort is a number of tokens
	noThinking bool // thoughts can't be requested
	beside     bool // media of a response follow it instead of being part of it
	skipAll    bool // calls of this model without a signature need one that skips the check
	noSkip     bool // the server doesn't know that signature
	openAPI    bool // schemas must be OpenAPI schemas
}

// errDropped reports that signatures aren't sent back.
var errDropped = errors.New("the server rejected the signature of an earlier thought, and signatures are removed " +
	"from the conversation")

// plain removes the differences between spellings of a field: thought_signature, thoughtSignature and "thought
// signature".
var plain = strings.NewReplacer("_", "", " ", "", "`", "")

// learn reports whether a rejection shows how to change the request.
func (m *Model) learn(f *api.Failure, r model.Request) bool {
	if !f.Rejected() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := plain.Replace(strings.ToLower(f.Message))
	has := func(part string) bool { return strings.Contains(text, part) }
	before := m.quirks
	switch {
	case has("thoughtsignature"):
		return m.learnSignature(f, r, has("missing"))
	case has("functionresponse.parts"), has("functionresponse'") && has(`"parts"`), has("multimodalfunctionresponse"):
		m.quirks.beside = true
	case has("parametersjsonschema"):
		m.quirks.openAPI = true
	case !has("thinking") && !has("includethoughts"):
	case r.Effort == "":
		m.quirks.noThinking = true
	case m.quirks.budgets || has("thinkinglevel"+strings.ToLower(r.Effort)) || has(`"`+strings.ToLower(r.Effort)+`"`):
		f.Err = aboutEffort(f.Err, r.Effort)
	default:
		m.quirks.budgets = true
	}
	return m.quirks != before
}

// learnSignature changes the signatures of the request: it first drops those of the server, then the one that skips the
// check.
func (m *Model) learnSignature(f *api.Failure, r model.Request, missing bool) bool {
	switch {
	case missing && !m.quirks.skipAll:
		m.quirks.skipAll = true
	case missing:
		return false
	case m.drop(r.Messages):
		f.Note = errDropped
	case !m.quirks.noSkip:
		m.quirks.noSkip = true
	default:
		return false
	}
	return true
}

// drop marks all signatures of a conversation as rejected, and reports whether there was any. The server doesn't say
// which one it rejects. Later signatures are sent back.
func (m *Model) drop(messages []model.Message) bool {
	return m.rejected.Add(messages, func(s model.Sealed) bool {
		return s.For(Name, m.name) && strings.Contains(string(s.JSON), "thoughtSignature")
	})
}

// aboutEffort adds the next step to an error about the effort, and keeps its kind and status.
func aboutEffort(err error, effort string) error {
	out := model.Error{Kind: model.ErrRejected}
	var known *model.Error
	if errors.As(err, &known) {
		out = *known
	}
	out.Err = fmt.Errorf("%w\nThe model doesn't accept effort %q. Use another value for --effort, or none.", err,
		effort)
	return &out
}

// thinkingConfig is a member of generationConfig.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	Level           string `json:"thinkingLevel,omitempty"`
	Budget          *int   `json:"thinkingBudget,omitempty"`
}

// budgets are the tokens for each effort, for models that take a number. All models of Gemini 2.5 accept these.
var budgets = map[string]int{"minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}

// think returns how the model is asked to think; nil: not at all.
func (q quirks) think(name, effort string) (*thinkingConfig, error) {
	switch {
	case effort == "" && q.noThinking:
		return nil, nil
	case effort == "":
		return &thinkingConfig{IncludeThoughts: true}, nil
	case !q.budgets:
		return &thinkingConfig{IncludeThoughts: true, Level: strings.ToUpper(effort)}, nil
	}
	budget, ok := budgets[strings.ToLower(effort)]
	if !ok {
		known := slices.SortedFunc(maps.Keys(budgets), func(a, b string) int { return budgets[a] - budgets[b] })
		return nil, model.Errorf(model.ErrRejected, "%s doesn't accept effort %q\nUse one of %s for --effort, or none.",
			name, effort, strings.Join(known, ", "))
	}
	return &thinkingConfig{IncludeThoughts: true, Budget: &budget}, nil
}
