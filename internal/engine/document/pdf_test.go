package document

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adze-dev/adze/internal/dev/soak"
)

// pdfWriter writes PDF files for tests.
type pdfWriter struct {
	objects []string
}

// add adds an object and returns a reference to it.
func (w *pdfWriter) add(format string, args ...any) string {
	w.objects = append(w.objects, fmt.Sprintf(format, args...))
	return fmt.Sprintf("%d 0 R", len(w.objects))
}

func deflate(s string) string {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func (w *pdfWriter) stream(dict, content string) string {
	z := deflate(content)
	return w.add("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", dict, len(z), z)
}

// pages adds pages that share resources, and the catalog.
func (w *pdfWriter) pages(resources string, contents ...string) string {
	var kids []string
	parent := fmt.Sprintf("%d 0 R", len(w.objects)+2*len(contents)+1)
	for _, c := range contents {
		content := w.stream("", c)
		kids = append(kids, w.add("<< /Type /Page /Parent %s /Contents %s /MediaBox [0 0 612 792] >>", parent, content))
	}
	root := w.add("<< /Type /Pages /Kids [%s] /Count %d /Resources << %s >> >>", strings.Join(kids, " "), len(kids), resources)
	return w.add("<< /Type /Catalog /Pages %s >>", root)
}

// file writes the objects with a table.
func (w *pdfWriter) file(root string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n%âãÏÓ\n")
	offsets := make([]int, len(w.objects))
	for i, o := range w.objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, root, start)
	return b.Bytes()
}

// packed writes the objects that are not streams into an object stream, and no usable table at all.
func (w *pdfWriter) packed(root string) []byte {
	var b, head, body bytes.Buffer
	b.WriteString("%PDF-2.0 \n")
	n := 0
	for i, o := range w.objects {
		if strings.Contains(o, "stream\n") {
			fmt.Fprintf(&b, "%d 0 obj %s endobj\n", i+1, o)
			continue
		}
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		body.WriteString(o + " ")
		n++
	}
	z := deflate(head.String() + body.String())
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\nendobj\n", len(w.objects)+1, n, head.Len(), len(z), z)
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/XRef/Size 9999999999/W[1 2 1]/Root %s/Length 0>>\nstream\n\nendstream\nendobj\nstartxref\n7\n%%%%EOF", len(w.objects)+2, root)
	return b.Bytes()
}

const helvetica = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>"

func page(text string) string { return "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET" }

func readText(t *testing.T, data []byte, pages PageRange) PDFText {
	t.Helper()
	got, err := ReadPDF(t.Context(), data, pages)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReadPDF(t *testing.T) {
	w := &pdfWriter{}
	root := w.pages(helvetica, page("first (page) \\351t\\351"), "", page("third"))
	want := PDFText{Total: 3, Pages: []PDFPage{{Number: 1, Text: "first (page) été"}, {Number: 2}, {Number: 3, Text: "third"}}}
	for name, data := range map[string][]byte{
		"table":                 w.file(root),
		"packed, PDF 2.0":       w.packed(root),
		"junk before and after": append(append([]byte("junk\n"), w.file(root)...), "\n\n<html>junk"...),
		"cut off table":         w.file(root)[:bytes.LastIndex(w.file(root), []byte("xref\n0"))],
	} {
		if diff := cmp.Diff(want, readText(t, data, PageRange{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	got := readText(t, w.file(root), PageRange{2, 3}).String()
	if want := "--- Page 2 of 3 ---\n[no text on this page]\n\n--- Page 3 of 3 ---\nthird\n\nPages without text, perhaps scans: 2.\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestReadPDFFonts(t *testing.T) {
	w := &pdfWriter{}
	cmap := w.stream("", "/CIDInit /ProcSet findresource begin begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n"+
		"2 beginbfrange <0003> <0005> <0041> <0010> <0011> [<4E2D> <6587>] endbfrange\n1 beginbfchar <0020> <D83DDE00> endbfchar endcmap")
	inner := w.add("<< /Type /Font /Subtype /CIDFontType2 /DW 1000 /W [3 [500 500 500]] >>")
	resources := "/Font << /F1 << /Subtype /Type1 /BaseFont /Times-Roman /Encoding << /Differences [65 /eacute /fi /quotedblleft /uni20AC /Omega] >> >>" +
		" /F2 << /Subtype /Type0 /Encoding /Identity-H /ToUnicode " + cmap + " /DescendantFonts [" + inner + "] >>" +
		" /F3 << /Subtype /Type0 /Encoding /90ms-RKSJ-H /DescendantFonts [" + inner + "] >>" +
		" /F4 << /Subtype /TrueType /Encoding /MacRomanEncoding /FirstChar 32 /Widths [250] >> >>"
	root := w.pages(resources,
		"BT /F1 10 Tf 50 700 Td (ABCDEx) Tj /F2 10 Tf 0 -12 Td <000300040005001000110020> Tj /F3 10 Tf 0 -12 Td <93FA967B> Tj /F4 10 Tf 0 -12 Td (\\216t\\216) Tj ET")
	got := readText(t, w.file(root), PageRange{})
	if want := "éfi“€Ωx\nABC中文😀\n日本\nété"; got.Pages[0].Text != want {
		t.Errorf("got %q, want %q", got.Pages[0].Text, want)
	}
}

// A dictionary with the word stream, in the name of a font, isn't a stream: the object after it was lost.
func TestReadPDFFontBitstream(t *testing.T) {
	w := &pdfWriter{}
	font := w.add("<< /Type /Font /Subtype /TrueType /BaseFont /BAAAAA+BitstreamVeraSans /Encoding 2 0 R >>")
	w.add("<< /Type /Encoding /Differences [1 /H /i] >>")
	root := w.pages("/Font << /F1 "+font+" >>", page("\\001\\002"))
	if got := readText(t, w.file(root), PageRange{}); got.Pages[0].Text != "Hi" {
		t.Errorf("got %q", got.Pages[0].Text)
	}
}

func TestReadPDFLayout(t *testing.T) {
	w := &pdfWriter{}
	form := w.stream("/Type /XObject /Subtype /Form /Resources << "+helvetica+" >>", "BT /F1 12 Tf 72 500 Td (in a form) Tj ET")
	root := w.pages(helvetica+" /XObject << /X "+form+" >>", strings.Join([]string{
		"BT /F1 12 Tf 14 TL 72 720 Td [(Wo) 20 (rds) -300 (apart)] TJ T* (next line) Tj (and on) ' ET",
		"q 2 0 0 2 0 0 cm BT /F1 6 Tf 1 0 0 1 36 320 Tm (a paragraph) Tj 80 0 Td (column) Tj ET Q",
		"BI /W 1 /H 1 /CS /G /BPC 8 ID \x00(((\xff EI",
		"/X Do",
	}, "\n"))
	got := readText(t, w.file(root), PageRange{})
	want := "Words apart\nnext line\nand on\n\na paragraph column\n\nin a form"
	if got.Pages[0].Text != want || got.Pages[0].Err != nil {
		t.Errorf("got %q, %v", got.Pages[0].Text, got.Pages[0].Err)
	}
}

func TestReadPDFErrors(t *testing.T) {
	w := &pdfWriter{}
	root := w.pages(helvetica, strings.Split(strings.Repeat(page("x")+"|", 24), "|")[:24]...)
	file := w.file(root)
	for _, c := range []struct {
		name  string
		data  []byte
		pages PageRange
		want  error
	}{
		{"too many pages", file, PageRange{}, &TooManyPagesError{24}},
		{"no such page", file, PageRange{30, 31}, &PageRangeError{PageRange{30, 31}, 24}},
		{"encrypted", bytes.Replace(file, []byte("/Root"), []byte("/Encrypt 9 0 R /Root"), 1), PageRange{}, ErrEncrypted},
		{"empty", nil, PageRange{}, errNotPDF},
		{"only a header", []byte("%PDF-1.4\n%%EOF"), PageRange{}, errNotPDF},
	} {
		_, err := ReadPDF(t.Context(), c.data, c.pages)
		if diff := cmp.Diff(c.want, err, cmpopts.EquateErrors()); diff != "" && fmt.Sprint(err) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	if got := readText(t, file, PageRange{20, 39}); len(got.Pages) != 5 {
		t.Errorf("a range that ends beyond the document: %d pages", len(got.Pages))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadPDF(ctx, file, PageRange{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Files made to hang or to swell a reader end in an error or in what can be read, and soon.
func TestReadPDFHostile(t *testing.T) {
	levels, bomb := 12, "0 "
	if soak.On() {
		levels, bomb = 40, strings.Repeat("0 ", maxPageContent/2+1)
	}
	for name, make := range map[string]func(w *pdfWriter) string{
		"page tree that is a circle": func(w *pdfWriter) string {
			return w.add("<< /Type /Catalog /Pages %s >>", w.add("<< /Type /Pages /Kids [1 0 R 1 0 R] /Count 9 >>"))
		},
		"page tree that doubles at every step": func(w *pdfWriter) string {
			for i := range levels {
				w.add("<< /Type /Pages /Kids [%d 0 R %d 0 R] /Level %d >>", i+2, i+2, i)
			}
			w.add("<< /Type /Page >>")
			return w.add("<< /Type /Catalog /Pages 1 0 R >>")
		},
		"parent that is a circle": func(w *pdfWriter) string {
			return w.add("<< /Type /Catalog /Pages %s >>", w.add("<< /Type /Page /Parent 1 0 R /Contents 1 0 R >>"))
		},
		"length that is itself": func(w *pdfWriter) string {
			w.add("<< /Length 1 0 R >>\nstream\nBT ET\nendstream")
			return w.add("<< /Type /Catalog /Pages %s >>", w.add("<< /Type /Page /Contents 1 0 R >>"))
		},
		"form in itself": func(w *pdfWriter) string {
			x := "1 0 R"
			w.stream("/Subtype /Form /Resources << /XObject << /X "+x+" >> >>", "/X Do /X Do")
			return w.pages("/XObject << /X "+x+" >>", "/X Do")
		},
		"content that swells": func(w *pdfWriter) string {
			return w.pages(helvetica, bomb)
		},
		"unknown filter": func(w *pdfWriter) string {
			w.add("<< /Filter /NoSuchDecode /Length 4 >>\nstream\nabcd\nendstream")
			return w.add("<< /Type /Catalog /Pages %s >>", w.add("<< /Type /Page /Contents 1 0 R >>"))
		},
		"map without end": func(w *pdfWriter) string {
			m := w.stream("", "1 begincodespacerange <00> <FF> endcodespacerange 999999999999 beginbfchar endbfchar 1 beginbfrange <00000000> <FFFFFFFF> <0000> endbfrange")
			return w.pages("/Font << /F1 << /Subtype /Type0 /ToUnicode "+m+" >> >>", page("x"))
		},
		"unclosed things": func(w *pdfWriter) string {
			return w.pages(helvetica, strings.Repeat("[", 1<<18)+strings.Repeat("(", 1<<18))
		},
	} {
		w := &pdfWriter{}
		file := w.file(make(w))
		began := time.Now()
		text, err := ReadPDF(t.Context(), file, PageRange{1, 1})
		if len(text.Pages) > 0 {
			err = text.Pages[0].Err
		}
		took := time.Since(began)
		t.Logf("%s: %v, %v", name, took, err)
		if took > maxPDFTime+30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestParsePages(t *testing.T) {
	for in, want := range map[string]PageRange{"": {}, " ": {}, "5": {5, 5}, "1-10": {1, 10}, " 2 - 3 ": {2, 3}} {
		if got, err := ParsePages(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"0", "-1", "3-", "-3", "a", "5-2", "1-21", "1,2", "1-2-3", "99999999999999999999"} {
		if got, err := ParsePages(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func FuzzReadPDF(f *testing.F) {
	w := &pdfWriter{}
	root := w.pages(helvetica, page("x"))
	f.Add(w.file(root))
	f.Add(w.packed(root))
	plain := &pdfWriter{}
	plain.add("<< /Length 40 >>\nstream\nBT /F1 12 Tf [(a) -300 (b)] TJ (c) ' ET\nendstream")
	plain.add("<< /Type /Pages /Kids [<< /Type /Page /Contents 1 0 R >>] /Resources << " + helvetica + " >> >>")
	f.Add(plain.file(plain.add("<< /Type /Catalog /Pages 2 0 R >>")))
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		_, _ = ReadPDF(t.Context(), data, PageRange{1, 3})
		if took := time.Since(start); took > maxPDFTime+30*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}
