package builtin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/tool"
)

// Mention is an @path in a prompt that names files: @main.go, @src/, @"my notes.txt", @my\ notes.txt, @src/**/*.go, or
// lines of one: @main.go#L10, @main.go#L10:20.
type Mention struct {
	Text   string      // as written in the prompt, with the @
	Absent bool        // it looks like a path, and the file doesn't exist
	Access tool.Access // the access of attaching it: to be judged before Attach
	// Refused is why it can't be attached even with approval, such as an AI ignore file that matches it.
	Refused error

	target target
}

const (
	maxMentions    = 1000 // candidates that are looked up; a pasted log may contain any number of @
	maxMention     = 4096 // bytes of a name
	maxPunctuation = 8    // trailing punctuation that may belong to the sentence
)

// Mentions finds the @paths of a prompt, in order. An @ followed by text that neither exists nor looks like a path is
// ordinary text.
func (s *Set) Mentions(prompt string) []Mention {
	var found []Mention
	tried := 0
	for at := 0; at < len(prompt) && tried < maxMentions; {
		i := strings.IndexByte(prompt[at:], '@')
		if i < 0 {
			break
		}
		start := at + i
		at = start + 1
		if before, _ := utf8.DecodeLastRuneInString(prompt[:start]); start > 0 && !unicode.IsSpace(before) &&
			!strings.ContainsRune(`([{"'`+"`,;", before) {
			continue // an email address, or a decorator's argument
		}
		tried++
		if ms, end := s.mention(prompt, start); ms != nil {
			found = append(found, ms...)
			at = end
			continue
		}
		if name, end := mentionName(prompt, start+1); looksLikePath(name) {
			found = append(found, Mention{Text: strings.TrimRight(prompt[start:end], endOfSentence), Absent: true})
			at = end
		}
	}
	return found
}

// endOfSentence are characters after a name that belong to the sentence around it.
const endOfSentence = ".,;:!?)]}>'\"`"

// looksLikePath reports whether a name that doesn't exist was probably meant as a file, not as a user, a decorator or
// an npm package: it starts like a path, or it ends in a file extension.
func looksLikePath(name string) bool {
	name = strings.TrimRight(name, endOfSentence)
	for _, start := range []string{"./", "../", "~/", "/"} {
		if rest, ok := strings.CutPrefix(name, start); ok {
			return rest != ""
		}
	}
	if strings.Contains(name, ":") || strings.ContainsAny(name, "()<>=\"'`") {
		return false
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	if dot < 1 || len(base)-dot-1 > 5 || dot == len(base)-1 {
		return false
	}
	return strings.IndexFunc(base[dot+1:], func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	}) < 0 &&
		unicode.IsLetter(rune(base[dot+1]))
}

// mention reads the path that begins after the @ at start. Punctuation at its end belongs to the sentence, unless a
// file with that name exists.
func (s *Set) mention(prompt string, start int) ([]Mention, int) {
	name, end := mentionName(prompt, start+1)
	if strings.Trim(name, "./") == "" && name != "./" {
		return nil, 0 // dots of a sentence, or the root directory
	}
	shorter := strings.TrimRight(name, endOfSentence)
	for n := len(name); n >= max(len(shorter), len(name)-maxPunctuation, 1); n-- {
		if ms := s.standsFor(name[:n], prompt[start:end-(len(name)-n)], false); ms != nil {
			return ms, end - (len(name) - n)
		}
	}
	if file, lines, ok := cutLines(shorter); ok {
		end := end - (len(name) - len(shorter))
		if ms := s.standsFor(file, prompt[start:end], false); ms != nil {
			for i := range ms {
				ms[i].target.lines = lines
			}
			return ms, end
		}
	}
	pattern := strings.TrimRight(name, ".,;:!?)>'\"`")
	end -= len(name) - len(pattern)
	return s.standsFor(pattern, prompt[start:end], true), end
}

// lineSuffix is the part of a link that names lines: #L10, #L10:20, #L10-20, #L10-L20.
var lineSuffix = lazy.Regexp(`^(.+)#L([1-9][0-9]{0,8})(?:[:-]L?([1-9][0-9]{0,8}))?$`)

// cutLines cuts the lines from the end of a name.
func cutLines(name string) (file string, lines lineRange, ok bool) {
	m := lineSuffix().FindStringSubmatch(name)
	if m == nil {
		return "", lineRange{}, false
	}
	lines.first, _ = strconv.Atoi(m[2])
	lines.last, _ = strconv.Atoi(cmp.Or(m[3], m[2]))
	return m[1], lines, lines.last >= lines.first
}

// standsFor returns the mentions for a name or a pattern.
func (s *Set) standsFor(name, as string, pattern bool) []Mention {
	ts, err := s.files.targets(name)
	if err != nil {
		return nil
	}
	var ms []Mention
	for _, t := range ts {
		if !t.missing && (t.pattern != "") == pattern {
			ms = append(ms, Mention{Text: as, Access: t.access(), Refused: t.refused, target: t})
		}
	}
	return ms
}

// mentionName returns the name at an offset, without quotes and escapes, and where it ends.
func mentionName(s string, at int) (string, int) {
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		if n := strings.IndexByte(s[at+1:], s[at]); n > 0 && !strings.Contains(s[at+1:at+1+n], "\n") {
			return s[at+1 : at+1+n], at + n + 2
		}
		return "", at
	}
	var b strings.Builder
	i := at
	for i < len(s) && b.Len() < maxMention {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) && strings.IndexByte(" \t\\()[]{}'\"&;,!?*$`", s[i+1]) >= 0 {
			b.WriteByte(s[i+1])
			i += 2
			continue
		}
		if unicode.IsSpace(r) {
			break
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String(), i
}

// Attach reads the files of the mentions and returns the content to add after the prompt; nil without mentions.
// Mentions that can't be added are named in the content, and in notes for the user. It doesn't ask for approval: the
// caller removes the mentions whose Access is denied, and reports them.
func (s *Set) Attach(ctx context.Context, mentions []Mention) (parts []tool.Part, notes []string, err error) {
	var targets []target
	for _, m := range mentions {
		if m.Refused != nil {
			notes = append(notes, fmt.Sprintf("%s was not added: %v", m.Text, m.Refused))
			continue
		}
		targets = append(targets, m.target)
	}
	g, err := s.files.gather(ctx, targets, wish{usual: true})
	if err != nil {
		return nil, notes, searchFailed(ctx, err)
	}
	blocks, err := s.files.readTogether(ctx, g)
	if err != nil {
		return nil, notes, err
	}
	for _, sk := range g.skipped {
		notes = append(notes, sk.what+" was not added: "+sk.why)
	}
	if g.more > 0 {
		notes = append(notes, fmt.Sprintf("%s not added: they are over the budget of one prompt",
			humanize.Count(g.more, "further file")))
	}
	if len(blocks) == 0 && len(notes) == 0 {
		return nil, nil, nil
	}
	return referenced(blocks, notes), notes, nil
}

// referenced returns the content in the documented form.
func referenced(blocks []block, notes []string) []tool.Part {
	var out joined
	out.text("\n--- Content from referenced files ---\n")
	for _, b := range blocks {
		out.text("\nContent from " + b.path.Abs + ":\n")
		if b.header != "" {
			out.text(b.header + "\n\n")
		}
		out.add(b.parts)
		out.text("\n")
	}
	for i, n := range notes {
		if i == 50 {
			out.text(fmt.Sprintf("\n[%d more were not added]\n", len(notes)-i))
			break
		}
		out.text("\n[" + n + "]\n")
	}
	out.text("\n--- End of content ---")
	return out.parts
}
