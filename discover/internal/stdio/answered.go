package stdio

import (
	"regexp"
	"sync"

	"github.com/adze-dev/adze/internal/engine/lines"
)

// MaxMessage is the maximum length of a message. A longer one is skipped.
const MaxMessage = 10 << 20

// The two positions of the request ID in a response. They are compiled when first needed, not at every start.
var (
	idAtStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*,\s*(?:"jsonrpc"\s*:\s*"[^"]*"\s*,\s*)?"(?:result|error)"`)
	})
	idAtEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\}\s*,\s*(?:"jsonrpc"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"[^"]*"\s*)?\}\s*$`)
	})
)

// answered returns the ID, as JSON, of the request that a line seems to answer that is too long or not a message. It is
// only a guess: an ID without a request is dropped later.
func answered(line lines.Line) []byte {
	if m := idAtStart().FindSubmatch(line.Text); m != nil {
		return m[1]
	}
	if m := idAtEnd().FindSubmatch(line.Tail); m != nil {
		return m[1]
	}
	return nil
}
