package document

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// Limits of reading a PDF.
const (
	MaxPagesByDefault = 10      // pages of a document that is read completely
	MaxPagesPerRead   = 20      // pages of one range
	maxPDFText        = 100_000 // characters of one read
	maxPDFTime        = 20 * time.Second
	maxPageTree       = 100_000  // nodes of the page tree
	maxPageContent    = 32 << 20 // bytes of a page's content stream, decompressed
)

// PageRange is a range of pages counted from 1, both ends included. The zero range is the whole document.
type PageRange struct{ First, Last int }

// ParsePages reads "5" or "1-10". "" is the whole document.
func ParsePages(s string) (PageRange, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return PageRange{}, nil
	}
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	from, err1 := strconv.Atoi(strings.TrimSpace(first))
	to, err2 := strconv.Atoi(strings.TrimSpace(last))
	switch {
	case err1 != nil || err2 != nil || from < 1:
		return PageRange{}, fmt.Errorf("pages %q: write one page as \"5\" or a range as \"1-10\", counted from 1", s)
	case to < from:
		return PageRange{}, fmt.Errorf("pages %q: the range ends before it begins", s)
	case to-from >= MaxPagesPerRead:
		return PageRange{}, fmt.Errorf("pages %q: %d pages are too many at once; at most %d", s, to-from+1,
			MaxPagesPerRead)
	}
	return PageRange{from, to}, nil
}

// PDFText is the text of some pages of a PDF.
type PDFText struct {
	Total int // pages of the document
	Pages []PDFPage
	Cut   bool // the text was too long: the last page is incomplete, or pages after it are missing
}

// PDFPage is the text of a page.
type PDFPage struct {
	Number int
	Text   string // "": the page has no text; it may be a scan
	Err    error  // why the page, or the rest of it, could not be read
}

// TooManyPagesError reports a document that is too long to be read completely.
type TooManyPagesError struct{ Total int }

func (e *TooManyPagesError) Error() string {
	return fmt.Sprintf("the PDF has %d pages, more than the %d that are read at once; name a range of at most %d "+
		"with pages, such as \"1-%d\"",
		e.Total, MaxPagesByDefault, MaxPagesPerRead, MaxPagesPerRead)
}

// PageRangeError reports a range that isn't in the document.
type PageRangeError struct {
	Range PageRange
	Total int
}

func (e *PageRangeError) Error() string {
	return fmt.Sprintf("no page %d: the PDF has %d pages", e.Range.First, e.Total)
}

// stopped is a panic that stops the library, which has no other way. It is a runtime.Error because the library recovers
// from other panics.
type stopped struct{ error }

func (stopped) RuntimeError() {}

func (s stopped) Unwrap() error { return s.error }

// ReadPDF extracts the text of pages. It reads in the calling goroutine, with bounded time and memory for any file, and
// stops when ctx ends. A page that can't be read is listed with its error. Errors of the whole document:
// [ErrEncrypted],
// *[TooManyPagesError], *[PageRangeError], and an error for a damaged file.
func ReadPDF(ctx context.Context, data []byte, pages PageRange) (text PDFText, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxPDFTime, fmt.Errorf("reading the PDF took more than %v",
		maxPDFTime))
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			text, err = PDFText{}, pdfError(r)
		}
	}()
	tick := func() {
		if ctx.Err() != nil {
			panic(stopped{context.Cause(ctx)})
		}
	}
	file, err := repairPDF(data, tick)
	if err != nil {
		return PDFText{}, err
	}
	reader, err := pdf.NewReader(file, file.size())
	if err != nil {
		tick() // returns the reason if it was stopped
		return PDFText{}, fmt.Errorf("the PDF is damaged: %w", err)
	}
	tree := pageTree{left: maxPageTree}
	tree.walk(reader.Trailer().Key("Root").Key("Pages"), pdf.Value{}, 0)
	text.Total = len(tree.pages)
	switch {
	case text.Total == 0:
		return PDFText{}, errors.New("the PDF is damaged: it has no pages")
	case pages == PageRange{} && text.Total > MaxPagesByDefault:
		return PDFText{}, &TooManyPagesError{text.Total}
	case pages == PageRange{}:
		pages = PageRange{1, text.Total}
	case pages.First < 1 || pages.First > text.Total || pages.Last < pages.First:
		return PDFText{}, &PageRangeError{pages, text.Total}
	}
	left := maxPDFText
	for n := pages.First; n <= min(pages.Last, text.Total, pages.First+MaxPagesPerRead-1); n++ {
		p := readPage(tree.pages[n-1], n, tick)
		if size := utf8.RuneCountInString(p.Text); size > left {
			p.Text, text.Cut = cut(p.Text, left), true
		} else {
			left -= size
		}
		text.Pages = append(text.Pages, p)
		if text.Cut {
			break
		}
	}
	return text, nil
}

func pdfError(r any) error {
	var stop stopped
	if err, ok := r.(error); ok && errors.As(err, &stop) {
		return stop.error
	}
	return fmt.Errorf("the PDF is damaged: %v", r)
}

// String writes the pages under headings, and names those without text.
func (t PDFText) String() string {
	var b strings.Builder
	var empty []string
	for _, p := range t.Pages {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "--- Page %d of %d ---\n", p.Number, t.Total)
		switch {
		case p.Text != "":
			b.WriteString(p.Text + "\n")
		case p.Err == nil:
			empty = append(empty, strconv.Itoa(p.Number))
			b.WriteString("[no text on this page]\n")
		}
		if p.Err != nil {
			fmt.Fprintf(&b, "[the page could not be read to its end: %v]\n", p.Err)
		}
	}
	if len(empty) > 0 {
		fmt.Fprintf(&b, "\nPages without text, perhaps scans: %s.\n", strings.Join(empty, ", "))
	}
	if t.Cut {
		fmt.Fprintf(&b, "\n[cut at %d characters; read fewer pages at once to see the rest]\n", maxPDFText)
	}
	return b.String()
}

// pageTree collects pages, each with the resources it inherits. It doesn't trust the count in the file, nor that the
// tree has no cycles.
type pageTree struct {
	pages []treePage
	left  int
	above []string // the inner nodes above the current one, as text, to detect cycles
}

type treePage struct{ page, resources pdf.Value }

func (t *pageTree) walk(n, resources pdf.Value, depth int) {
	if t.left--; t.left < 0 || depth > 60 || n.Kind() != pdf.Dict {
		return
	}
	if own := n.Key("Resources"); own.Kind() == pdf.Dict {
		resources = own
	}
	kids := n.Key("Kids")
	if kids.Kind() != pdf.Array {
		t.pages = append(t.pages, treePage{n, resources})
		return
	}
	text := n.String()
	if slices.Contains(t.above, text) {
		return
	}
	t.above = append(t.above, text)
	defer func() { t.above = t.above[:len(t.above)-1] }()
	for i := range kids.Len() {
		if t.left <= 0 {
			return
		}
		t.walk(kids.Index(i), resources, depth+1)
	}
}

// readPage extracts the text of a page, including the text before an error.
func readPage(p treePage, number int, tick func()) (page PDFPage) {
	page.Number = number
	show := &textShow{tick: tick}
	defer func() {
		if r := recover(); r != nil {
			var stop stopped
			if err, ok := r.(error); ok && errors.As(err, &stop) {
				panic(r)
			}
			page.Err = fmt.Errorf("%v", r)
		}
		page.Text = show.text()
	}()
	show.run(contentOf(p.page.Key("Contents")), p.resources, 0)
	return page
}

// contentOf reads a stream, or an array of streams, within limits.
func contentOf(v pdf.Value) []byte {
	var parts []pdf.Value
	switch v.Kind() {
	case pdf.Stream:
		parts = []pdf.Value{v}
	case pdf.Array:
		for i := range v.Len() {
			parts = append(parts, v.Index(i))
		}
	}
	var out []byte
	for _, part := range parts {
		if part.Kind() != pdf.Stream {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(part.Reader(), maxPageContent-int64(len(out))))
		if err != nil && len(data) == 0 {
			panic(fmt.Errorf("its content cannot be decompressed: %w", err))
		}
		out = append(append(out, data...), '\n')
		if len(out) >= maxPageContent {
			panic(errors.New("its content is too large"))
		}
	}
	return out
}
