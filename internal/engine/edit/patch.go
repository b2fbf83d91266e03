package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lazy"
)

// FilePatch is the change of one file in a patch.
type FilePatch struct {
	Kind    PatchKind
	Path    string // as written
	To      string // the new name of a moved file; "": it isn't moved
	Content string // of an added file
	Hunks   []Hunk
	Line    int // of the patch, from 1
}

// PatchKind is what a patch does to a file.
type PatchKind string

// The kinds of changes.
const (
	PatchAdd    PatchKind = "Add"
	PatchUpdate PatchKind = "Update"
	PatchDelete PatchKind = "Delete"
)

// Hunk replaces whole lines. Without Old, it adds lines to the end of the file.
type Hunk struct {
	Scopes   []string // lines before the place, outermost first
	Old, New string   // lines, each with its newline unless the file ends without one there
	AtEnd    bool     // the place is the end of the file
	Line     int      // of the patch
	exact    bool     // the patch says which side has a newline at the end of the file
}

// PatchError is an error in a line of a patch. Nothing was changed.
type PatchError struct {
	Line int
	Err  error
}

func (e *PatchError) Error() string { return fmt.Sprintf("line %d of the patch: %v", e.Line, e.Err) }

func (e *PatchError) Unwrap() error { return e.Err }

const (
	maxPatch  = 4 << 20 // bytes
	maxQuoted = 80      // of a line in an error

	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
	noNewline  = `\ No newline at end of file`
)

// ParsePatch reads a patch in the format of apply_patch:
//
//	*** Begin Patch
//	*** Update File: main.go
//	@@ func main() {
//	-	old()
//	+	new()
//	*** End Patch
//
// The error is a *[PatchError].
func ParsePatch(text string) ([]FilePatch, error) {
	if len(text) > maxPatch {
		return nil, &PatchError{1 + strings.Count(text[:maxPatch], "\n"),
			fmt.Errorf("here the patch exceeds %d MB. Split it into several calls", maxPatch>>20)}
	}
	p := &patchReader{lines: strings.Split(strings.TrimRight(text, " \t\n"), "\n")}
	if end := len(p.lines) - 1; end > 0 && p.lines[end] == "EOF" && hereDocument().MatchString(p.lines[0]) {
		p.n, p.lines = 1, p.lines[:end] // as for a shell
	}
	files, err := p.read()
	if err != nil {
		return nil, &PatchError{min(p.n+1, len(p.lines)), err}
	}
	return files, nil
}

var (
	// hereDocument matches the line before a patch that was written for a shell.
	hereDocument = lazy.Regexp(`^<<(EOF|'EOF'|"EOF")$`)
	// fileHeader matches the first line of a file's changes.
	fileHeader = lazy.Regexp(`^\*\*\* (Add|Update|Delete) File: (.*)$`)
	// lineNumbers matches what follows @@ in a unified diff. It is ignored: models count wrong.
	lineNumbers = lazy.Regexp(`^-\d+(,\d+)? \+\d+(,\d+)? @@`)
)

// patchReader reads a patch line by line.
type patchReader struct {
	lines []string
	n     int // the current line, counted from 0
}

func (p *patchReader) read() (files []FilePatch, err error) {
	switch line := p.lines[p.n]; {
	case strings.HasPrefix(line, "\ufeff"):
		return nil, errors.New("the patch begins with a byte order mark. Send it without one; that of a file stays")
	case strings.HasSuffix(line, "\r"):
		return nil, errors.New(`the patch has \r\n line endings. Send it with \n; a file keeps its own line endings`)
	case strings.TrimSpace(line) != beginPatch:
		return nil, fmt.Errorf("the first line must be %q", beginPatch)
	}
	p.n++
	for {
		mark, ok := p.mark(false)
		switch {
		case mark == endPatch && p.n < len(p.lines)-1:
			p.n++
			return nil, fmt.Errorf("there is more text after %q", endPatch)
		case mark == endPatch && len(files) == 0:
			return nil, errors.New("the patch has no files")
		case mark == endPatch:
			return files, nil
		case !ok && len(files) == 0:
			return nil, fmt.Errorf("%q is in no file. Start with \"*** Update File: PATH\"", p.short())
		case !ok:
			return nil, fmt.Errorf("%q follows the deletion of %s, which has no lines", p.short(),
				files[len(files)-1].Path)
		}
		f, err := p.file(mark)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
}

// mark returns the current line without whitespace around it if it is a mark such as a header, or the end of the text.
// Among the lines of an update, an indented one is context.
func (p *patchReader) mark(context bool) (mark string, ok bool) {
	if p.n >= len(p.lines) {
		return "", true
	}
	line := p.lines[p.n]
	if mark = strings.TrimSpace(line); !strings.HasPrefix(mark, "*** ") {
		return "", false
	}
	return mark, !context || line[0] == '*' || mark == endPatch && p.n == len(p.lines)-1
}

// short returns the start of the current line, for an error.
func (p *patchReader) short() string { return humanize.Cut(p.lines[p.n], maxQuoted) }

// file reads the changes of a file, from its header on.
func (p *patchReader) file(mark string) (FilePatch, error) {
	f := FilePatch{Line: p.n + 1}
	if m := fileHeader().FindStringSubmatch(mark); m != nil {
		f.Kind, f.Path = PatchKind(m[1]), m[2]
	}
	switch {
	case mark == "":
		return f, fmt.Errorf("the patch ends here, without %q. It may be cut short: send all of it", endPatch)
	case mark == endOfFile || strings.HasPrefix(mark, moveTo):
		return f, fmt.Errorf("%q must follow \"*** Update File:\" or its lines", humanize.Cut(mark, maxQuoted))
	case f.Kind == "":
		return f, fmt.Errorf("%q is not a valid header. Use \"*** Add File: PATH\", \"*** Update File: PATH\" or "+
			"\"*** Delete File: PATH\"", humanize.Cut(mark, maxQuoted))
	}
	p.n++
	var err error
	switch f.Kind {
	case PatchAdd:
		var h Hunk
		err = p.sides(&h, false)
		f.Content = h.New
	case PatchUpdate:
		if mark, _ := p.mark(false); strings.HasPrefix(mark, moveTo) {
			f.To = mark[len(moveTo):]
			p.n++
		}
		for _, end := p.mark(false); !end && err == nil; _, end = p.mark(true) {
			var h Hunk
			h, err = p.hunk()
			f.Hunks = append(f.Hunks, h)
		}
		if err == nil && f.To == "" && len(f.Hunks) == 0 {
			err = fmt.Errorf("the update of %s in line %d has no changes", f.Path, f.Line)
		}
	}
	return f, err
}

// hunk reads a part of an update: its @@ lines, if there are any, and the lines after them.
func (p *patchReader) hunk() (Hunk, error) {
	h := Hunk{Line: p.n + 1}
	for scope, ok := p.scope(); ok; scope, ok = p.scope() {
		if strings.TrimSpace(scope) != "" && !lineNumbers().MatchString(scope) {
			h.Scopes = append(h.Scopes, scope)
		}
		p.n++
	}
	if err := p.sides(&h, true); err != nil {
		return h, err
	}
	if h.Old == h.New {
		return h, fmt.Errorf("the part from line %d changes nothing: it needs lines with - or +", h.Line)
	}
	if mark, _ := p.mark(true); mark == endOfFile {
		h.AtEnd = true
		p.n++
	}
	return h, nil
}

// scope returns what follows @@ if the current line begins with it.
func (p *patchReader) scope() (scope string, ok bool) {
	if p.n < len(p.lines) {
		scope, ok = strings.CutPrefix(p.lines[p.n]+" ", "@@ ")
	}
	return strings.TrimSuffix(scope, " "), ok
}

// sides reads the changed lines of a part up to the next one, or those of an added file.
func (p *patchReader) sides(h *Hunk, update bool) error {
	marks, must := "+", "+, as each line of an added file"
	if update {
		marks, must = " -+", "a space, - or +"
	}
	var old, now side
	last := byte(0) // the mark of the line before
	for ; ; p.n++ {
		_, end := p.mark(update)
		if _, next := p.scope(); end || update && next {
			h.Old, h.New = string(old), string(now)
			return nil
		}
		line := cmp.Or(p.lines[p.n], " ") // an empty line of context whose space was cut off
		add := (*side).add
		switch {
		case strings.HasPrefix(line, noNewline) && last != 0:
			add, h.AtEnd, h.exact = (*side).open, true, true
		case !strings.Contains(marks, line[:1]):
			return fmt.Errorf("%q must begin with %s", p.short(), must)
		default:
			last = line[0]
		}
		if last != '+' {
			add(&old, line[1:])
		}
		if last != '-' {
			add(&now, line[1:])
		}
	}
}

// side is the old or the new text of a part.
type side []byte

// add adds a line.
func (s *side) add(line string) {
	if n := len(*s); n > 0 && (*s)[n-1] != '\n' {
		*s = append(*s, '\n')
	}
	*s = append(append(*s, line...), '\n')
}

// open removes the newline of the last line.
func (s *side) open(string) { *s = bytes.TrimSuffix(*s, []byte("\n")) }

// FormatPatch returns the text of a patch, without the scopes of hunks.
func FormatPatch(files []FilePatch) string {
	var b strings.Builder
	b.WriteString(beginPatch + "\n")
	for _, f := range files {
		fmt.Fprintf(&b, "*** %s File: %s\n", f.Kind, f.Path)
		if f.To != "" {
			b.WriteString(moveTo + f.To + "\n")
		}
		for _, h := range f.Hunks {
			b.WriteString("@@\n")
			writeLines(&b, '-', h.Old)
			writeLines(&b, '+', h.New)
		}
		writeLines(&b, '+', f.Content)
	}
	b.WriteString(endPatch + "\n")
	return b.String()
}
