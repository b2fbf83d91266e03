package discover

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/tool"
)

// maxDescription is how many characters of a description a model is given.
const maxDescription = 4000

// clean bounds an external text and removes invisible characters: they can contain instructions that users don't see.
func clean(s string, most int) (cleaned string, hidden int) {
	if tool.Hidden(s) {
		var b strings.Builder
		for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
			if r == utf8.RuneError || tool.Hidden(string(r)) {
				hidden++
				continue
			}
			b.WriteRune(r)
		}
		s = b.String()
	}
	return clip(s, most), hidden
}

// clip shortens s to so many characters and says how many are missing.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	total := utf8.RuneCountInString(s)
	if total <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + fmt.Sprintf("… (%d characters more)", total-most)
		}
		n++
	}
	return s
}

// indent writes JSON for users.
func indent(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}
