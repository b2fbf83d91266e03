package cell

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxCodes is the length of the longest codes that are kept.
const maxCodes = 100

// sequences matches what controls terminals: colors and attributes, whose codes are the group; other CSI sequences;
// texts that end with BEL or ESC \, or else with their line; ESC with another character.
var sequences = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[([0-9;:]*)m|\[[ -?]*[@-~]?|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|` +
		`[^\[\]PX^_\x1b])?`)
})

// Colored makes a line from text that is not trusted but may have colors: sequences for colors and attributes stay,
// others are removed, and the rest is as Clean makes it.
func Colored(s string) Line {
	var out Line
	codes, from := "", 0
	for _, at := range append(sequences().FindAllStringSubmatchIndex(s, -1), []int{len(s), len(s), -1, -1}) {
		if from < at[0] {
			out = append(out, Span{Text: Clean(s[from:at[0]]), Codes: codes})
		}
		if from = at[1]; at[2] < 0 || at[3]-at[2] > maxCodes {
			continue
		}
		args := s[at[2]:at[3]]
		codes = strings.TrimPrefix(codes+";"+args, ";")
		if args == "" || args == "0" || len(codes) > maxCodes {
			codes = strings.TrimLeft(args, "0")
		}
	}
	return out
}

// Strip returns a text without sequences and other characters that control terminals, apart from tabs and the line
// endings in it.
func Strip(s string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, sequences().ReplaceAllString(s, "")), "\n")
}
