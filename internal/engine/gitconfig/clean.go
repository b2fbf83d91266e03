package gitconfig

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Clean returns a file with a mask in place of its credentials, and whether there are any. All else stays as it is, and
// each line has its counterpart: see Merge. A file that git rejects is returned without its lines with credentials.
func Clean(text []byte, mask string) (clean []byte, found bool) {
	all := Credentials(text)
	if len(all) == 0 {
		return text, false
	}
	p, err := parse(text)
	if err != nil {
		return []byte(maskLines(string(text), all, mask)), true
	}
	type part struct {
		span
		text string
	}
	var parts []part
	for _, s := range p.out {
		if found := s.Credentials(); len(found) > 0 {
			parts = append(parts, part{s.raw, " " + quote(replaced(s.Value, found, mask))})
		}
	}
	for _, s := range p.subs {
		if found := inURLs(s.name, userinfo); len(found) > 0 {
			parts = append(parts, part{s.raw, escapeQuoted(replaced(s.name, found, mask))})
		}
	}
	sort.Slice(parts, func(i, j int) bool { return parts[i].from < parts[j].from })
	var b strings.Builder
	at := 0
	for _, part := range parts {
		b.Write(text[at:part.from])
		b.WriteString(part.text)
		at = part.to
	}
	b.Write(text[at:])
	inComments := append(InURLs(b.String()), inHeaders(b.String())...)
	return []byte(maskLines(b.String(), inComments, mask)), true
}

// replaced returns a text with a mask in place of credentials, the longest first.
func replaced(text string, found []Credential, mask string) string {
	found = slices.Clone(found)
	sorted.By(found, func(a, b Credential) int { return cmp.Compare(len(b.Value), len(a.Value)) })
	var pairs []string
	for _, c := range found {
		const shortest = 3
		if len(c.Value) < shortest { // it may occur anywhere
			return mask
		}
		pairs = append(pairs, c.Value, mask)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// maskLines replaces the lines with credentials by comments.
func maskLines(text string, found []Credential, mask string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		in := func(c Credential) bool { return !strings.Contains(c.Value, mask) && strings.Contains(l, c.Value) }
		if slices.ContainsFunc(found, in) {
			lines[i] = "# " + mask + l[len(strings.TrimRight(l, "\r\n")):]
		}
	}
	return strings.Join(lines, "")
}

// quote returns a value as it is written in a file.
func quote(value string) string {
	return `"` + strings.NewReplacer("\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(escapeQuoted(value)) + `"`
}

func escapeQuoted(text string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) }

// ErrMasked means that a changed line contains a mask, so that the credential that it stands for would be lost.
var ErrMasked = errors.New("git's configuration: a changed line contains a masked credential, which would be lost")

var errAmbiguous = errors.New("git's configuration: it isn't certain which of the lines with credentials were changed")

// Merge returns text with the changes that turn clean, its clean copy, into changed. Lines that are the same in both
// stay as they are in text, with their credentials.
func Merge(text, clean, changed []byte, mask string) ([]byte, error) {
	real, before, after := logicalLines(ended(text)), logicalLines(ended(clean)), logicalLines(ended(changed))
	if len(real) != len(before) {
		return nil, errAmbiguous
	}
	if ambiguous(real, before, after) {
		return nil, errAmbiguous
	}
	same, err := common(before, after)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for j, line := range after {
		switch i, ok := same[j]; {
		case ok:
			b.WriteString(real[i])
		case strings.Contains(line, mask):
			return nil, ErrMasked
		default:
			b.WriteString(line)
		}
	}
	return []byte(b.String()), nil
}

// ambiguous reports whether equal lines of the clean copy stand for different lines, and some of them were removed or
// added: then it isn't known which.
func ambiguous(real, before, after []string) bool {
	first := map[string]string{}
	for i, line := range before {
		if have, ok := first[line]; !ok {
			first[line] = real[i]
		} else if have != real[i] && count(before, line) != count(after, line) {
			return true
		}
	}
	return false
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// common returns the longest common subsequence of lines: indexes of a by those of b.
func common(a, b []string) (map[int]int, error) {
	const limit = 4 << 20
	if len(a)*len(b) > limit {
		return nil, errors.New("git's configuration: too many lines to compare")
	}
	length := make([][]int32, len(a)+1) // of the rest, by the position in a and b
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	same := map[int]int{}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			same[j] = i
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return same, nil
}

// ended returns a text whose last line is ended.
func ended(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		return append(slices.Clip(text), '\n')
	}
	return text
}

// logicalLines splits a text into lines. A line that ends in a backslash is one with the next.
func logicalLines(text []byte) []string {
	var out []string
	joined := false
	for line := range strings.Lines(string(text)) {
		if joined {
			out[len(out)-1] += line
		} else {
			out = append(out, line)
		}
		end := strings.TrimRight(line, "\r\n")
		joined = (len(end)-len(strings.TrimRight(end, `\`)))%2 == 1
	}
	return out
}
