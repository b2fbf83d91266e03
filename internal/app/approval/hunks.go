package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Hunk is a part of a diff that can be selected.
type Hunk struct {
	Diff string // with its "@@" line
	File string // the changed file; "": the only one

	file int // its place in FileDiff.Files
	from int // the first line of the original, from 0
	old  []string
	now  []string
}

// Hunks returns the parts of a change; none if it can't be split: a new file, or an incomplete diff. Of several files,
// one that can't be split is a part.
func Hunks(d tool.FileDiff) []Hunk {
	var all []Hunk
	for i, f := range filesOf(d) {
		parts := hunksOfFile(f)
		if len(d.Files) > 0 {
			if len(parts) == 0 {
				parts = []Hunk{{Diff: f.Diff}}
			}
			for k := range parts {
				parts[k].File, parts[k].file = f.File, i
			}
		}
		all = append(all, parts...)
	}
	return all
}

func filesOf(d tool.FileDiff) []tool.FileDiff {
	if len(d.Files) == 0 {
		return []tool.FileDiff{d}
	}
	return d.Files
}

func hunksOfFile(d tool.FileDiff) []Hunk {
	if d.Original == nil {
		return nil
	}
	out := hunksOf(d.Diff)
	if text, ok := Take(d, out, all(out)); !ok || text != d.New {
		return nil
	}
	return out
}

// Apply applies a diff to a text. ok is false if the diff is for another text.
func Apply(original, diff string) (text string, ok bool) {
	hunks := hunksOf(diff)
	return Take(tool.FileDiff{Original: &original}, hunks, all(hunks))
}

func all(hunks []Hunk) []bool {
	out := make([]bool, len(hunks))
	for i := range out {
		out[i] = true
	}
	return out
}

// hunksOf reads a unified diff.
func hunksOf(diff string) []Hunk {
	var out []Hunk
	for line := range strings.SplitAfterSeq(diff, "\n") {
		if strings.HasPrefix(line, "@@") {
			var from int
			fmt.Sscanf(line, "@@ -%d", &from)
			out = append(out, Hunk{from: max(0, from-1)})
		}
		if len(out) == 0 || line == "" {
			continue
		}
		h := &out[len(out)-1]
		h.Diff += line
		text := line[1:]
		switch line[0] {
		case ' ':
			h.old, h.now = append(h.old, text), append(h.now, text)
		case '-':
			h.old = append(h.old, text)
		case '+':
			h.now = append(h.now, text)
		case '\\': // no newline at the end of the previous line
			h.old, h.now = trimLast(h.old, h.Diff, '-'), trimLast(h.now, h.Diff, '+')
		}
	}
	return out
}

// trimLast removes the newline of the last line if its side has none.
func trimLast(lines []string, diff string, mark byte) []string {
	all := strings.SplitAfter(strings.TrimSuffix(diff, "\n"), "\n")
	if len(all) < 2 || len(lines) == 0 || all[len(all)-2][0] != mark && all[len(all)-2][0] != ' ' {
		return lines
	}
	lines[len(lines)-1] = strings.TrimSuffix(lines[len(lines)-1], "\n")
	return lines
}

// taken returns the content of each file with the selected parts; nil: it stays as it is. ok is false if the parts are
// not of the change.
func taken(d tool.FileDiff, parts []Hunk, take []bool) (texts []*string, ok bool) {
	for i, f := range filesOf(d) {
		var hunks []Hunk
		var selected []bool
		for k, part := range parts {
			if part.file == i {
				hunks, selected = append(hunks, part), append(selected, take[k])
			}
		}
		var text *string
		switch {
		case !slices.Contains(selected, true):
		case !slices.Contains(selected, false):
			text = &f.New
		default:
			some, ok := Take(f, hunks, selected)
			if !ok {
				return nil, false
			}
			text = &some
		}
		texts = append(texts, text)
	}
	return texts, true
}

// Take returns the original with the selected hunks applied. ok is false if the hunks are not of the original.
func Take(d tool.FileDiff, hunks []Hunk, take []bool) (text string, ok bool) {
	lines := strings.SplitAfter(*d.Original, "\n")
	if n := len(lines) - 1; lines[n] == "" {
		lines = lines[:n]
	}
	var b strings.Builder
	at := 0
	for i, h := range hunks {
		from := h.from
		if len(h.old) == 0 && *d.Original != "" { // lines are inserted after the named one
			from++
		}
		if from < at || from+len(h.old) > len(lines) ||
			strings.Join(lines[from:from+len(h.old)], "") != strings.Join(h.old, "") {
			return "", false
		}
		b.WriteString(strings.Join(lines[at:from], ""))
		if take[i] {
			b.WriteString(strings.Join(h.now, ""))
		} else {
			b.WriteString(strings.Join(h.old, ""))
		}
		at = from + len(h.old)
	}
	b.WriteString(strings.Join(lines[at:], ""))
	return b.String(), true
}
