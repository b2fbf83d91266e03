package builtin

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// Parts of the patterns of texts that stand for code which they omit, as models write them.
const (
	elidedThing = `(?:code|file|contents?|functions?|methods?|class|implementation|logic|imports|lines|tests)`
	elidedStays = ` (?:(?:is |are )?(?:unchanged|the same|as before|as is|omitted|here)|remains? (?:unchanged|the same)` +
		`|stays? (?:unchanged|the same)|goes here|omitted for brevity)`
	elision = `(?:the )?(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?` + elidedThing + `(?:` + elidedStays + `)?` +
		`|(?:your |the )?existing (?:code|content|implementation|logic)(?:` + elidedStays + `)?` +
		`|(?:your |the )?(?:existing|previous|original|remaining|other) ` + elidedThing + elidedStays +
		`|` + elidedThing + elidedStays + `|(?:the )?rest` + elidedStays + `|omitted for brevity`
	dottedElision = elision + `|(?:the )?(?:rest|remainder)|unchanged|omitted|same as before` +
		`|(?:your |the )?(?:other|existing|remaining|previous|unchanged) \w+(?: \w+)?(?:` + elidedStays + `)?`
)

var (
	commentLine   = lazy.Regexp(`^(?:\{?/\*+|//+|#+|--+|<!--|;+|%+|\*) *(.*?) *(?:\*+/\}?|-->)?$`)
	dotted        = lazy.Regexp(`^(?:\.\.\.|…)|(?:\.\.\.|…)$`)
	elidedComment = lazy.Regexp(`^(?i:(?:keep )?(?:` + elision + `))$`)
	elidedDotted  = lazy.Regexp(`^(?i:(?:keep )?(?:` + dottedElision + `))$`)
)

// proseEndings are of files in which a line with # or * is no comment.
var proseEndings = []string{".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org", ".tex"}

// omission returns the first line of a new content that only stands for code which it omits, and its number, unless
// the old content has the same line; 0 without one.
func omission(path, was, now string) (number int, line string) {
	prose := slices.Contains(proseEndings, strings.ToLower(filepath.Ext(path)))
	for i, l := range strings.Split(now, "\n") {
		text := strings.TrimSpace(l)
		if len(text) < 3 || len(text) > 120 || !elides(text, prose) {
			continue
		}
		same := func(l string) bool { return strings.TrimSpace(l) == text }
		if !slices.ContainsFunc(strings.Split(was, "\n"), same) {
			return i + 1, text
		}
	}
	return 0, ""
}

// elides reports whether a line is a comment, or a text with dots, that stands for code.
func elides(line string, prose bool) bool {
	words, comment := line, false
	if m := commentLine().FindStringSubmatch(line); m != nil {
		words, comment = m[1], !prose
	}
	words = strings.Trim(words, "[]()<> ")
	bare := strings.Trim(words, ".… :[]()<>")
	return comment && elidedComment().MatchString(bare) ||
		dotted().MatchString(words) && elidedDotted().MatchString(bare)
}
