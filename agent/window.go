package agent

import (
	"context"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Window is the context of a model, and when a conversation is compacted to fit into it.
type Window struct {
	Tokens int // 0: unknown
	// Threshold is the share of Tokens from which on the conversation is compacted before the next request. With 0,
	// with 1 or more, or without Tokens, it is compacted only if the server rejects it as too long.
	Threshold float64
	// Summary opens the model that writes summaries; nil: the agent's own does.
	Summary func(context.Context) (model.Model, error)
}

// most returns how many tokens a request can have without a compaction; 0: any number.
func (w Window) limit() int {
	if w.Threshold <= 0 || w.Threshold >= 1 {
		return 0
	}
	return int(float64(w.Tokens) * w.Threshold)
}

// meter counts the tokens of a conversation: those of the last request and its answer as the server counted them, and
// an estimate of everything added since. Without a server's count, everything is estimated.
type meter struct {
	model    string // whose tokens they are
	fixed    int    // estimate of system prompt and declarations
	messages int    // estimate of the history
	length   int    // messages in it

	counted int     // by the server; 0: unknown
	input   int     // of that, the request
	at      int     // messages, when it was counted
	scale   float64 // what the server counts for one estimated token; 0: unknown
	ceiling int     // tokens of the smallest request that the server rejected as too long; 0: none
	proven  bool    // it accepted a shorter one since
}

// A server's count is not believed if it differs more from the estimate. Some count only what isn't cached.
const (
	minScale = 0.4
	maxScale = 3
)

// check restarts the count for another model, which counts tokens differently, and for a history that was replaced.
func (m *meter) check(name string, history []model.Message) {
	if m.model != name {
		*m = meter{model: name, fixed: m.fixed, messages: m.messages, length: m.length}
	}
	if m.length != len(history) {
		m.restart(history)
	}
}

// add counts a message that was added to the history.
func (m *meter) add(msg model.Message) {
	m.messages += estimate(msg)
	m.length++
}

// total returns how many tokens the next request has.
func (m *meter) total() int {
	if m.counted > 0 {
		return max(m.counted+m.scaled(m.messages-m.at), int(minScale*float64(m.fixed+m.messages)))
	}
	return m.scaled(m.fixed + m.messages)
}

// scaled returns an estimate in the server's tokens.
func (m *meter) scaled(estimate int) int {
	if m.scale == 0 {
		return estimate
	}
	return int(float64(estimate) * m.scale)
}

// count records the usage of an answer, which is in the history by now. request is the estimate for its request.
func (m *meter) count(u model.Usage, request int) {
	if m.proven = m.ceiling > 0; u.Input >= m.ceiling { // it accepts more
		m.forget()
	}
	if u.Input <= 0 {
		return
	}
	m.counted, m.input, m.at = u.Total(), u.Input, m.messages
	if request > 0 {
		m.scale = min(max(float64(u.Input)/float64(request), minScale), maxScale)
	}
}

// reject notes that the server rejected the next request as too long.
func (m *meter) reject() {
	if n := m.total(); m.ceiling == 0 || n < m.ceiling {
		m.ceiling, m.proven = n, false
	}
}

// forget drops what is known about requests that were too long. Only the server knows its window, and what it rejected
// may have been an image, or its own mistake.
func (m *meter) forget() { m.ceiling, m.proven = 0, false }

// restart is called for a history that was replaced: nothing of it was counted.
func (m *meter) restart(history []model.Message) {
	m.counted, m.input, m.at = 0, 0, 0
	m.messages, m.length = EstimateTokens(history), len(history)
}

// EstimateTokens returns about how many tokens messages take, rather too many.
func EstimateTokens(messages []model.Message) int {
	n := 0
	for _, msg := range messages {
		n += estimate(msg)
	}
	return n
}

// Tokens of parts that aren't text. A document has about one for each 50 bytes.
const (
	messageTokens = 4 // of its frame
	partTokens    = 12
	mediaTokens   = 1000
	bytesPerToken = 50
)

// estimate returns about how many tokens a message takes, rather too many. Thoughts are not sent back.
func estimate(m model.Message) int {
	n := messageTokens
	for _, p := range m.Parts {
		switch p := p.(type) {
		case model.Text:
			n += TextTokens(string(p))
		case model.Call:
			n += partTokens + TextTokens(p.Name) + TextTokens(string(p.Args))
		case model.Sealed:
			n += len(p.JSON) / 4
		case model.Response:
			n += partTokens
			for _, c := range p.Content {
				switch c := c.(type) {
				case tool.Text:
					n += TextTokens(string(c))
				case tool.Media:
					n += mediaOf(c)
				}
			}
		case model.Media:
			n += mediaOf(p.Media)
		}
	}
	return n
}

func mediaOf(m tool.Media) int {
	if strings.HasPrefix(m.MIMEType, "image/") {
		return mediaTokens
	}
	return max(mediaTokens, len(m.Data)/bytesPerToken)
}

// TextTokens counts 3.5 bytes of ASCII as a token and every other character as one, which is slightly too much.
func TextTokens(texts ...string) int {
	plain, others := 0, 0
	for _, text := range texts {
		for i := 0; i < len(text); i++ {
			switch b := text[i]; {
			case b < 0x80:
				plain++
			case b >= 0xC0: // a character begins
				others++
			}
		}
	}
	return (plain*2+6)/7 + others
}

// fixedTokens estimates the part of a request that every request has.
func fixedTokens(system string, tools []tool.Declaration) int {
	n := TextTokens(system)
	for _, d := range tools {
		n += Tokens(d)
	}
	return n
}
