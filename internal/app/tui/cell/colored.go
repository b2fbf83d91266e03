package cell

import "strings"

// maxCodes is the length of the longest codes that are kept.
const maxCodes = 100

// Colored makes a line from text that is not trusted but may have colors: sequences for colors and attributes stay,
// others are removed, and the rest is as Clean makes it.
func Colored(s string) Line {
	var out Line
	for codes, more := "", true; more; {
		var text string
		if text, s, more = strings.Cut(s, "\x1b"); text != "" {
			out = append(out, Span{Text: Clean(text), Codes: codes})
		}
		switch {
		case strings.HasPrefix(s, "["):
			end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= '@' && r <= '~' }) + 1
			if end == 0 { // it never ends
				return out
			}
			args, colors := s[1:end], s[end] == 'm'
			if s = s[end+1:]; !colors || strings.Trim(args, "0123456789;:") != "" || len(args) > maxCodes {
				continue
			}
			codes = strings.TrimPrefix(codes+";"+args, ";")
			if args == "" || args == "0" || len(codes) > maxCodes {
				codes = strings.TrimLeft(args, "0")
			}
		case s != "" && strings.ContainsRune("]PX^_", rune(s[0])): // until a BEL or ESC \
			end := strings.IndexAny(s, "\a\x1b")
			s = strings.TrimPrefix(s[end+1:], "\\")
			more = end >= 0
		case s != "":
			s = s[1:]
		}
	}
	return out
}
