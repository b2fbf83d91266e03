package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/outline"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

const (
	// maxInMemory is the size up to which a text is read completely. A longer one is scanned once, and only the lines
	// to show are kept.
	maxInMemory = 10 << 20
	maxLines    = 2000   // default number of lines
	maxChars    = 25_000 // characters
	maxLine     = 2000   // characters of one line, if not everything fits; a line requested alone gets maxChars
	cutMark     = "… [long line truncated; use limit 1 to read more of it]"
)

// window selects the lines of a text to show, and how much of them.
type window struct {
	first int // counted from 1
	lines int // 0: as many as fit, at most maxLines
	chars int // at most; 0 is maxChars
	// with the anchors of lines, if the whole file is in memory
	anchors bool
}

// excerpt is the part of a text file that is shown.
type excerpt struct {
	text        string
	first, last int // the lines shown; last < first: none
	total       int
	cut         []int // lines that are shown cut
	whole       bool  // exactly the whole file
	about       string
	hash        workspace.Hash
	all         string // the text of the whole file, if it was in memory
}

func (w window) withDefaults() window {
	w.first = max(w.first, 1)
	if w.chars <= 0 {
		w.chars = maxChars
	}
	return w
}

// last returns the number of the last requested line.
func (w window) last() int {
	n := w.lines
	if n <= 0 {
		n = maxLines
	}
	if n > int(^uint(0)>>1)-w.first {
		return int(^uint(0) >> 1)
	}
	return w.first + n - 1
}

// lineLimit returns how much of one line is shown.
func (w window) lineLimit() int {
	if w.lines == 1 {
		return w.chars
	}
	return min(maxLine, w.chars)
}

// readExcerpt reads the requested part of a text. Its error is text.ErrBinary if the file isn't text.
func readExcerpt(ctx context.Context, f *os.File, size int64, w window) (excerpt, error) {
	w = w.withDefaults()
	if size > maxInMemory {
		return streamExcerpt(ctx, f, size, w)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxInMemory+1))
	if err != nil {
		return excerpt{}, err
	}
	if len(content) > maxInMemory { // it grew, or its size is unknown
		return streamExcerpt(ctx, f, int64(len(content)), w)
	}
	if err := ctx.Err(); err != nil {
		return excerpt{}, err
	}
	return excerptOf(content, w)
}

// excerptOf returns the requested part of a content.
func excerptOf(content []byte, w window) (excerpt, error) {
	doc, err := text.Decode(content)
	if err != nil {
		return excerpt{}, err
	}
	w = w.withDefaults()
	x := excerpt{total: text.Lines(doc.Text), about: about(doc), hash: sha256.Sum256(content), all: doc.Text}
	x.first, x.last = w.first, min(w.last(), x.total)
	if x.first > x.total && x.total > 0 || x.first > 1 && x.total == 0 {
		return x, &pastEndError{x.total}
	}
	part := linesOf(doc.Text, x.first, x.last)
	if utf8.RuneCountInString(part) <= w.chars {
		x.text, x.whole = part, len(part) == len(doc.Text)
		return x, nil
	}
	x.fit(part, w)
	return x, nil
}

// streamExcerpt scans a long file once.
func streamExcerpt(ctx context.Context, f *os.File, size int64, w window) (excerpt, error) {
	hash := sha256.New()
	found, err := text.ReadLines(ctx, f, size, text.Window{
		First: w.first, Last: w.last(), MaxLine: w.lineLimit(), MaxBytes: utf8.UTFMax * w.chars, CutMark: cutMark,
		Hash: hash,
	})
	if err != nil {
		return excerpt{}, err
	}
	x := excerpt{first: found.First, last: found.Last, total: found.Total, cut: found.CutLines, about: found.Describe()}
	hash.Sum(x.hash[:0])
	if x.first > x.total {
		return x, &pastEndError{x.total}
	}
	x.text = found.Text
	if utf8.RuneCountInString(found.Text) > w.chars {
		x.fit(found.Text, w) // lines that are already cut stay cut
		x.cut = slices.DeleteFunc(found.CutLines, func(n int) bool { return n > x.last })
	}
	return x, nil
}

// about is doc.Describe with a fast path for plain UTF-8 text, about which there is nothing to describe.
func about(doc *text.Document) string {
	if doc.Encoding == text.UTF8 && doc.Size() == int64(len(doc.Text)) && strings.IndexByte(doc.Text, '\r') < 0 {
		return ""
	}
	return doc.Describe()
}

// fit adds as many lines of part as fit, at least the first, and cuts long lines.
func (x *excerpt) fit(part string, w window) {
	var b strings.Builder
	room := w.chars
	x.cut = nil
	for x.last = x.first - 1; part != ""; x.last++ {
		line, rest, ended := strings.Cut(part, "\n")
		shown := line
		if head, cut := cutLine(line, w.lineLimit()); cut {
			shown = head + cutMark
		}
		room -= utf8.RuneCountInString(shown) + 1
		if room < 0 && b.Len() > 0 {
			return
		}
		if len(shown) != len(line) {
			x.cut = append(x.cut, x.last+1)
		}
		b.WriteString(shown)
		if ended {
			b.WriteByte('\n')
		}
		x.text, part = b.String(), rest
	}
}

func cutLine(line string, limit int) (string, bool) {
	if len(line) <= limit {
		return line, false
	}
	n := 0
	for i := range line {
		if n == limit {
			return line[:i], true
		}
		n++
	}
	return line, false
}

// linesOf returns lines first to last of a text, counting from 1.
func linesOf(s string, first, last int) string {
	for range first - 1 {
		_, s, _ = strings.Cut(s, "\n")
	}
	end := 0
	for range last - first + 1 {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

// header returns the line before a text that is shown in part.
func (x excerpt) header() string {
	return fmt.Sprintf("Showing lines %d-%d of %d total lines.", x.first, x.last, x.total)
}

// The size of a list of declarations.
const (
	maxOutlineLines = 60
	maxOutlineBytes = 2000
)

// declarations lists the declarations of a whole file, for a model that doesn't see it; "" if there are none or the
// language is unknown.
func declarations(path, source string) string {
	all := outline.Of(path, source)
	list, n := outline.List(all, maxOutlineLines, maxOutlineBytes)
	if n == 0 {
		return ""
	}
	some := ""
	if n < len(all) {
		some = fmt.Sprintf(" (%d of %d)", n, len(all))
	}
	return fmt.Sprintf("Declarations in the whole file%s, with line numbers:\n%s"+
		"To read one, use its line number minus 1 as the offset.", some, list)
}

// result returns an excerpt as the result of a read. about is the display for users.
func (x excerpt) result(about string) tool.Result {
	if x.about != "" {
		about += " (" + x.about + ")"
	}
	if x.whole {
		return tool.Result{
			Content: []tool.Part{tool.Text(x.text)}, Display: tool.Markdown(humanize.Count(x.total, "line") + about),
		}
	}
	if x.last < x.total || len(x.cut) > 0 {
		about += " (truncated)"
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(x.header() + "\n\n" + x.text)},
		Display: tool.Markdown(fmt.Sprintf("lines %d-%d of %d%s", x.first, x.last, x.total, about)),
	}
}

// record records the shown lines as read. A cut line counts as read only if no more of it can be shown, that is, if it
// was requested alone.
func (x excerpt) record(seen *workspace.Seen, path string) {
	defer seen.Keep(path, x.hash, x.all)
	if x.whole {
		seen.RecordWhole(path, x.hash, x.total)
		return
	}
	from := x.first
	var read []workspace.Range
	for _, n := range x.cut {
		if x.first == x.last {
			break
		}
		read = append(read, workspace.Range{First: from, Last: n - 1})
		from = n + 1
	}
	seen.Record(path, x.hash, x.total, append(read, workspace.Range{First: from, Last: x.last})...)
}

// pastEndError reports that the first requested line doesn't exist.
type pastEndError struct{ total int }

func (e *pastEndError) Error() string {
	return fmt.Sprintf("offset is past the end: the file has %d lines, and offset counts from 0", e.total)
}

// unshown gives the errors of readExcerpt their documented types.
func unshown(a action, p workspace.Path, err error) error {
	var past *pastEndError
	if errors.As(err, &past) {
		return a.errorf(tool.InvalidParams, p, "%w", past)
	}
	return a.failure(p, err)
}
