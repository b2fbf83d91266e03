package humanize

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// QuotePath returns a path as valid UTF-8, for JSON: quoted as in Go if it isn't.
func QuotePath(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	return strconv.QuoteToASCII(path)
}

// UnquotePath reverses QuotePath.
func UnquotePath(text string) string {
	if strings.HasPrefix(text, `"`) {
		if path, err := strconv.Unquote(text); err == nil {
			return path
		}
	}
	return text
}
