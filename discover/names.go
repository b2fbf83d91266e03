package discover

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name that every model provider takes.
const maxName = 63

// wireName is the name a model calls a tool of a server by: alias__tool, or the tool's own name without an alias. Every
// provider takes it, and two different tools never get one name: where a name had to be changed or cut, a short hash of
// the original tells it apart, whatever else the server lists.
func wireName(alias, name string) string {
	full := name
	if alias != "" {
		full = alias + "__" + name
	}
	safe := strings.Map(safeRune, full)
	if safe == "" || !isLetter(safe[0]) {
		safe = "t_" + safe
	}
	if safe == full && len(safe) <= maxName && !strings.Contains(alias, "__") {
		return safe
	}
	sum := sha256.Sum256([]byte(alias + "\x00" + name))
	tag := "_" + hex.EncodeToString(sum[:4])
	return safe[:min(len(safe), maxName-len(tag))] + tag
}

func safeRune(r rune) rune {
	if r < 0x80 && (isLetter(byte(r)) || r >= '0' && r <= '9' || r == '_' || r == '-') {
		return r
	}
	return '_'
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
