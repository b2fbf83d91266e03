package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// defaultMaxTokens limits an answer with its thinking: the API requires a limit. Models with a lower limit report it.
const defaultMaxTokens = 32_000

// minMaxTokens is the lowest limit that is learned.
const minMaxTokens = 256

// thinkingMode is how a model is asked to think. A rejection switches to the next mode.
type thinkingMode int

const (
	thinkAdaptive thinkingMode = iota // the model decides, within its effort: Claude 4.6 and later
	thinkBudget                       // up to a number of tokens: Claude 3.7 to 4.6
	thinkNever                        // earlier ones, and other servers
)

// quirks are limits of this model, learned from rejections, not from its name.
type quirks struct {
	thinking  thinkingMode
	noDisplay bool // the display of thinking can't be chosen
	noCache   bool // no cache marks
	maxTokens int  // the highest limit; 0: not known
}

// sending is a request that is being sent, maybe several times.
type sending struct {
	model.Request
	unthinking bool // without thinking: the history lacks the blocks that the server requires for it
}

// errDropped reports that thinking isn't sent back.
var errDropped = errors.New("the server rejected the signature of earlier thinking, which is removed from the " +
	"conversation")

// learn reports whether a rejection shows how to change the request.
func (m *Model) learn(f *api.Failure, s *sending) bool {
	if !f.Rejected() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := strings.ToLower(f.Message)
	has := func(part string) bool { return strings.Contains(text, part) }
	before := m.quirks
	switch {
	case has("expected `thinking`") || has("must start with a thinking block"):
		before := s.unthinking
		s.unthinking = true
		return !before
	case has("signature") || has("redacted_thinking") || has("cannot be modified") || has("block_binding"):
		if !m.drop(s.Messages) {
			return false
		}
		f.Note = errDropped
		return true
	case has("max_tokens") && lowerLimit(text, m.maxTokens(s)) > 0:
		m.quirks.maxTokens = lowerLimit(text, m.maxTokens(s))
	case has("display"):
		m.quirks.noDisplay = true
	case has("cache_control"):
		m.quirks.noCache = true
	case has("thinking") || has("effort parameter") || has("output_config: extra"):
		m.quirks.thinking = min(m.quirks.thinking+1, thinkNever)
	}
	return m.quirks != before
}

// drop marks all sealed data of a conversation as rejected, and reports whether there was any. It marks all, because
// the server also rejects thinking if a block before it is missing. Later thinking is sent back.
func (m *Model) drop(messages []model.Message) bool {
	return m.rejected.Add(messages, func(s model.Sealed) bool { return s.For(Name, m.name) })
}

var number = lazy.Regexp(`\d+`)

// lowerLimit finds the limit in an error such as "max_tokens: 32000 > 8192, which is the maximum allowed …": the
// highest number below the one that was sent. 0: none.
func lowerLimit(text string, sent int) int {
	limit := 0
	for _, digits := range number().FindAllString(text, -1) {
		if n, err := strconv.Atoi(digits); err == nil && n < sent && n >= minMaxTokens {
			limit = max(limit, n)
		}
	}
	return limit
}

// maxTokens returns the limit of an answer. The caller holds the lock.
func (m *Model) maxTokens(s *sending) int {
	o := m.client.Options
	var sampled int
	_ = json.Unmarshal(o.Sampling["max_tokens"], &sampled) // the server rejects anything else
	limit := cmp.Or(s.MaxTokens, sampled, o.MaxTokens, defaultMaxTokens)
	if m.quirks.maxTokens > 0 {
		limit = min(limit, m.quirks.maxTokens)
	}
	return limit
}

// thinking is the member of a request.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// outputConfig is the member of a request.
type outputConfig struct {
	Effort string `json:"effort"`
}

// minThinking is the limit of an answer below which the model isn't asked to think: too little would remain for the
// answer. The smallest budget that the API accepts is half of it.
const minThinking = 2048

// budgets are the tokens for each effort, for models that take a budget instead.
var budgets = map[string]int{"": 10_000, "low": 4_000, "medium": 10_000, "high": 20_000, "xhigh": 31_000, "max": 31_000}

// think sets how the model is asked to think. Without "summarized", newer models don't show their thinking.
func (q quirks) think(out *request, s *sending) error {
	t := &thinking{Type: "adaptive", Display: "summarized"}
	if q.noDisplay {
		t.Display = ""
	}
	switch q.thinking {
	case thinkAdaptive:
		if s.Effort != "" {
			out.Output = &outputConfig{s.Effort}
		}
	case thinkBudget:
		budget, ok := budgets[s.Effort]
		if !ok {
			return model.Errorf(model.ErrRejected, "%s doesn't accept effort %q\nUse low, medium, high or max for "+
				"--effort, or none.", out.Model, s.Effort)
		}
		t.Type, t.Budget = "enabled", min(budget, out.MaxTokens/4*3)
	case thinkNever:
		return nil
	}
	if !s.unthinking && out.MaxTokens >= minThinking {
		out.Thinking = t
	}
	return nil
}
