package builtin

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// elisions are patterns of lines that stand for code which they omit, as models write them.
type elisions struct {
	comment *regexp.Regexp // a whole line: its text
	plain   *regexp.Regexp // the text of a comment
	dotted  *regexp.Regexp // a text that begins or ends with dots
}

var elided = sync.OnceValue(func() elisions {
	const (
		things = `(?:code|file|contents?|functions?|methods?|class|implementation|logic|imports|lines|tests)`
		stays  = ` (?:(?:is |are )?(?:unchanged|the same|as before|as is|omitted|here)|remains? (?:unchanged|the same)` +
			`|stays? (?:unchanged|the same)|goes here|omitted for brevity)`
		plain = `(?:the )?(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?` + things + `(?:` + stays + `)?` +
			`|(?:your |the )?existing (?:code|content|implementation|logic)(?:` + stays + `)?` +
			`|(?:your |the )?(?:existing|previous|original|remaining|other) ` + things + stays +
			`|` + things + stays + `|(?:the )?rest` + stays + `|omitted for brevity`
		dotted = plain + `|(?:the )?(?:rest|remainder)|unchanged|omitted|same as before` +
			`|(?:your |the )?(?:other|existing|remaining|previous|unchanged) \w+(?: \w+)?(?:` + stays + `)?`
	)
	whole := func(s string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + s + `)$`) }
	return elisions{
		comment: regexp.MustCompile(`^(?:\{?/\*+|//+|#+|--+|<!--|;+|%+|\*) *(.*?) *(?:\*+/\}?|-->)?$`),
		plain:   whole(plain), dotted: whole(dotted),
	}
})

// proseEndings are of files in which a line with # or * is no comment.
var proseEndings = []string{".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org", ".tex"}

// omission returns the first line of a new content that only stands for code which it omits, and its number, unless
// the old content has the same line; 0 without one.
func omission(path, was, now string) (number int, line string) {
	prose := slices.Contains(proseEndings, strings.ToLower(filepath.Ext(path)))
	n := 0
	for l := range strings.Lines(now) {
		n++
		text := strings.TrimSpace(l)
		if len(text) < 3 || len(text) > 120 || !elided().matches(text, prose) {
			continue
		}
		same := func(l string) bool { return strings.TrimSpace(l) == text }
		if !slices.ContainsFunc(strings.Split(was, "\n"), same) {
			return n, text
		}
	}
	return 0, ""
}

func (e elisions) matches(text string, prose bool) bool {
	words, comment := text, false
	if m := e.comment.FindStringSubmatch(text); m != nil {
		words, comment = m[1], !prose
	}
	words = strings.Trim(words, "[]()<> ")
	bare := strings.Trim(words, ".… :[]()<>")
	dots := strings.HasPrefix(words, "...") || strings.HasSuffix(words, "...") || strings.HasPrefix(words, "…") ||
		strings.HasSuffix(words, "…")
	return dots && e.dotted.MatchString(bare) || comment && e.plain.MatchString(bare)
}
