package responses

import (
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// quirks are what this server or model turned out not to take. They are learned from rejections, not from names.
type quirks struct {
	noStream     bool // organizations that OpenAI hasn't verified get some models only in one piece
	noSummary    bool // nor do they get summaries of reasoning; models that don't reason reject the parameter
	noEncrypted  bool // models that don't reason have nothing to encrypt
	noCacheKey   bool
	noStore      bool
	noPhase      bool
	plainOutputs bool // results of tools are texts only: images follow in a message
}

// digest identifies sealed data.
type digest [sha256.Size]byte

func digestOf(s model.Sealed) digest { return sha256.Sum256(s.JSON) }

// errDropped reports that reasoning doesn't go back.
var errDropped = errors.New("the server rejected earlier reasoning, which is removed from the conversation")

// learn reports whether a rejection shows how to change the request.
func (m *Model) learn(f *api.Failure, messages []model.Message) bool {
	if !errors.Is(f.Err, model.ErrRejected) { // with status 400, or in an event
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := strings.ToLower(f.Code + " " + f.Param + " " + f.Message + " " + f.Err.Error())
	has := func(part string) bool { return strings.Contains(text, part) }
	before := m.quirks
	switch {
	case has("encrypted content is not supported") || f.Param == "include":
		m.quirks.noEncrypted = true
	case has("invalid_encrypted_content") || has("encrypted content") || has("required following item") || has("required 'reasoning' item"):
		if !m.drop(messages) {
			return false
		}
		f.Note = errDropped
		return true
	case has("verified to stream"):
		m.quirks.noStream = true
	case has("prompt_cache_key"):
		m.quirks.noCacheKey = true
	case has("reasoning.summary") || has("reasoning summar") || has("'reasoning'"):
		m.quirks.noSummary = true
	case f.Param == "store" || has("'store'"):
		m.quirks.noStore = true
	case has(".phase") || has("'phase'"):
		m.quirks.noPhase = true
	case has(".output"):
		m.quirks.plainOutputs = true
	}
	return m.quirks != before
}

// drop marks all reasoning of a conversation as rejected, and reports whether there was any. What the model thinks from now
// on goes back.
func (m *Model) drop(messages []model.Message) bool {
	found := false
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if s, ok := p.(model.Sealed); ok && s.For(Name, m.name) && sealedType(s) == typeReasoning && !m.rejected[digestOf(s)] {
				m.rejected[digestOf(s)] = true
				found = true
			}
		}
	}
	return found
}
