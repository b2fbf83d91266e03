// Package sealed has the sealed data that a server rejects, such as the signature of earlier thinking: a model doesn't
// send it back.
package sealed

import (
	"crypto/sha256"

	"github.com/adze-dev/adze/model"
)

// Rejected is the rejected data of a server. It only grows.
type Rejected map[[sha256.Size]byte]bool

// Has reports whether data was rejected.
func (r Rejected) Has(s model.Sealed) bool { return r[sha256.Sum256(s.JSON)] }

// Add marks data of a conversation as rejected, and reports whether any was new.
func (r Rejected) Add(messages []model.Message, which func(model.Sealed) bool) (found bool) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if s, ok := p.(model.Sealed); ok && which(s) && !r.Has(s) {
				r[sha256.Sum256(s.JSON)], found = true, true
			}
		}
	}
	return found
}
