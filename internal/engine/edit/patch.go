package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// MaxPatch is the size of the longest patch.
const MaxPatch = 4 << 20

const (
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
	if len(text) > MaxPatch {
		return nil, &PatchError{1 + strings.Count(text[:MaxPatch], "\n"),
			fmt.Errorf("here the patch exceeds %d MB. Split it into several calls", MaxPatch>>20)}
	}
	lines := strings.Split(strings.TrimRight(text, " \t\n"), "\n")
	p := patchReader{lines: len(lines)}
	if end := lines[len(lines)-1]; len(lines) > 1 && slices.Contains(hereDocuments(), lines[0]) && end == "EOF" {
		p.n, p.lines, lines = 1, p.lines-1, lines[1:len(lines)-1] // as for a shell
	}
	for _, line := range lines {
		p.n++
		if err := p.read(line); err != nil {
			return nil, &PatchError{p.n, err}
		}
	}
	switch {
	case !p.begun:
		return nil, &PatchError{1, fmt.Errorf("the first line must be %q", beginPatch)}
	case !p.ended:
		return nil, &PatchError{p.n, fmt.Errorf("the patch ends here, without %q. It may be cut short: send all of it",
			endPatch)}
	case len(p.files) == 0:
		return nil, &PatchError{p.n, errors.New("the patch has no files")}
	}
	return p.files, nil
}

// lineNumbers matches what follows @@ in a unified diff. It is ignored: models count wrong.
var lineNumbers = lazy.Regexp(`^-\d+(,\d+)? \+\d+(,\d+)? @@`)

// hereDocuments are lines before a patch that was written for a shell.
func hereDocuments() []string { return []string{"<<EOF", "<<'EOF'", `<<"EOF"`} }

// patchReader reads a patch line by line.
type patchReader struct {
	n, lines     int // the current line, and the last one
	begun, ended bool
	files        []FilePatch
	hunk         *Hunk // that lines belong to; nil: none
	old, now     side  // its lines, or those of an added file
	last         byte  // the mark of the line before; 0: none
}

// side is the old or the new text of a part.
type side struct {
	lines []string
	open  bool // the last one has no newline
}

// take returns the text, and begins the next one.
func (s *side) take() string {
	text := strings.Join(s.lines, "\n")
	if len(s.lines) > 0 && !s.open {
		text += "\n"
	}
	*s = side{}
	return text
}

func (p *patchReader) read(line string) error {
	mark := strings.TrimSpace(line)
	switch {
	case p.ended:
		return fmt.Errorf("there is more text after %q", endPatch)
	case !p.begun:
		return p.begin(line, mark)
	case mark == endPatch && (p.hunk == nil || line[0] == '*' || p.n == p.lines):
		p.ended = true
		return p.finish()
	case strings.HasPrefix(line, "*** ") || p.hunk == nil && strings.HasPrefix(mark, "*** "):
		return p.header(mark)
	case len(p.files) == 0:
		return fmt.Errorf("%q is in no file. Start with \"*** Update File: PATH\"", shortLine(line))
	}
	return p.body(line)
}

func (p *patchReader) begin(line, mark string) error {
	switch {
	case strings.HasPrefix(line, "\ufeff"):
		return errors.New("the patch begins with a byte order mark. Send it without one; that of a file stays")
	case strings.HasSuffix(line, "\r"):
		return errors.New(`the patch has \r\n line endings. Send it with \n; a file keeps its own line endings`)
	case mark != beginPatch:
		return fmt.Errorf("the first line must be %q", beginPatch)
	}
	p.begun = true
	return nil
}

// header reads a line that begins with three stars.
func (p *patchReader) header(mark string) error {
	if mark == endOfFile {
		if p.hunk == nil || p.last == 0 {
			return fmt.Errorf("%q must follow the lines of a change", endOfFile)
		}
		p.hunk.AtEnd = true
		p.close()
		return nil
	}
	if to, ok := strings.CutPrefix(mark, moveTo); ok {
		f := p.file()
		if f == nil || f.Kind != PatchUpdate || f.To != "" || f.Line != p.n-1 {
			return fmt.Errorf("%q must follow \"*** Update File:\"", strings.TrimSpace(moveTo))
		}
		f.To = to
		return nil
	}
	for _, kind := range []PatchKind{PatchAdd, PatchUpdate, PatchDelete} {
		if path, ok := strings.CutPrefix(mark, "*** "+string(kind)+" File: "); ok {
			if err := p.finish(); err != nil {
				return err
			}
			for _, f := range p.files {
				if path == f.Path || path == f.To {
					return fmt.Errorf("%s is already in line %d. Put all changes of a file under one header", path,
						f.Line)
				}
			}
			p.files = append(p.files, FilePatch{Kind: kind, Path: path, Line: p.n})
			return nil
		}
	}
	return fmt.Errorf("%q is not a valid header. Use \"*** Add File: PATH\", \"*** Update File: PATH\" or "+
		"\"*** Delete File: PATH\"", shortLine(mark))
}

func (p *patchReader) file() *FilePatch {
	if len(p.files) == 0 {
		return nil
	}
	return &p.files[len(p.files)-1]
}

// finish checks the file that ends before this line.
func (p *patchReader) finish() error {
	f := p.file()
	p.close()
	switch {
	case f == nil || f.Kind == PatchDelete || f.To != "" && len(f.Hunks) == 0:
		return nil
	case f.Kind == PatchUpdate && len(f.Hunks) == 0:
		return fmt.Errorf("the update of %s in line %d has no changes", f.Path, f.Line)
	}
	for _, h := range f.Hunks {
		if h.Old == h.New && !h.exact {
			return fmt.Errorf("the part from line %d changes nothing: it needs lines with - or +", h.Line)
		}
	}
	return nil
}

// body reads a line of a file.
func (p *patchReader) body(line string) error {
	f := p.file()
	switch {
	case f.Kind == PatchDelete:
		return fmt.Errorf("%q follows the deletion of %s, which has no lines", shortLine(line), f.Path)
	case f.Kind == PatchAdd && strings.HasPrefix(line, noNewline) && p.last != 0:
		p.now.open = true
		return nil
	case f.Kind == PatchAdd:
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			return fmt.Errorf("%q must begin with +, as each line of an added file", shortLine(line))
		}
		p.now.lines, p.last = append(p.now.lines, text), '+'
		return nil
	case line == "@@" || strings.HasPrefix(line, "@@ "):
		if p.hunk == nil || p.last != 0 { // several of them belong to one part
			p.open(f)
		}
		scope := strings.TrimPrefix(line[2:], " ")
		if strings.TrimSpace(scope) != "" && !lineNumbers().MatchString(scope) {
			p.hunk.Scopes = append(p.hunk.Scopes, scope)
		}
		return nil
	case p.hunk == nil:
		p.open(f)
	}
	return p.line(line)
}

func (p *patchReader) open(f *FilePatch) {
	p.close()
	f.Hunks = append(f.Hunks, Hunk{Line: p.n})
	p.hunk = &f.Hunks[len(f.Hunks)-1]
}

// close ends the current part.
func (p *patchReader) close() {
	if p.hunk != nil {
		p.hunk.Old, p.hunk.New = p.old.take(), p.now.take()
	} else if f := p.file(); f != nil && f.Kind == PatchAdd && p.last != 0 {
		f.Content = p.now.take()
	}
	p.hunk, p.last = nil, 0
}

// line reads a line of a hunk.
func (p *patchReader) line(line string) error {
	h := p.hunk
	if line == "" { // an empty line of context whose space was cut off
		line = " "
	}
	switch text := line[1:]; {
	case strings.HasPrefix(line, noNewline) && p.last != 0:
		p.old.open, p.now.open = p.old.open || p.last != '+', p.now.open || p.last != '-'
		h.AtEnd, h.exact = true, true
		return nil
	case line[0] == ' ':
		p.old.lines, p.now.lines = append(p.old.lines, text), append(p.now.lines, text)
	case line[0] == '-':
		p.old.lines = append(p.old.lines, text)
	case line[0] == '+':
		p.now.lines = append(p.now.lines, text)
	default:
		return fmt.Errorf("%q must begin with a space, - or +", shortLine(line))
	}
	p.last = line[0]
	return nil
}

// shortLine returns the start of a line, for an error.
func shortLine(line string) string {
	const most = 80
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}

// WholePatch returns a patch that replaces all of a file, whose old content is nil if it is new.
func WholePatch(path string, old *string, now string) string {
	var b strings.Builder
	b.WriteString(beginPatch + "\n")
	lines := func(mark, text string) {
		for _, line := range linesOf(text) {
			b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString(noNewline + "\n")
		}
	}
	if old == nil {
		fmt.Fprintf(&b, "*** %s File: %s\n", PatchAdd, path)
	} else {
		fmt.Fprintf(&b, "*** %s File: %s\n@@\n", PatchUpdate, path)
		lines("-", *old)
	}
	lines("+", now)
	b.WriteString(endPatch + "\n")
	return b.String()
}
