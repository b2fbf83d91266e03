package edit

import (
	"html"
	"strings"
)

// hints names mistakes of the writer after whose repair Old is in the text. They are named, not repaired: New has them
// too, and what it would have to become is a guess.
func hints(text, old string) []string {
	var found []string
	for _, h := range []struct {
		repaired string
		hint     string
	}{
		{withoutLineNumbers(old), "Its lines begin with line numbers, which are not part of the file."},
		{unescape(old), `It matches with \n, \t, \" and \\ unescaped: it was escaped once too often.`},
		{html.UnescapeString(old), "It matches with HTML entities such as &lt; decoded."},
	} {
		if h.repaired != old && strings.TrimSpace(h.repaired) != "" && strings.Contains(text, h.repaired) {
			found = append(found, h.hint)
		}
	}
	return found
}

// withoutLineNumbers takes "12→", "12:", "12|" or "12<tab>" off every line, or nothing.
func withoutLineNumbers(old string) string {
	var b strings.Builder
	for _, line := range linesOf(old) {
		rest := strings.TrimLeft(line, " ")
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		rest = rest[digits:]
		cut := false
		for _, mark := range []string{"→", "\t", ": ", ":", "| ", "|"} {
			if after, ok := strings.CutPrefix(rest, mark); ok && digits > 0 {
				rest, cut = after, true
				break
			}
		}
		if !cut {
			return old
		}
		b.WriteString(rest)
	}
	return b.String()
}

func unescape(old string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(old)
}
