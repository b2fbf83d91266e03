package text

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A gigabyte on disk, of which the last 100 lines are read.
func BenchmarkReadEndOfGigabyte(b *testing.B) {
	const size, line = 1 << 30, 64
	path := filepath.Join(b.TempDir(), "big")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat([]byte(strings.Repeat("x", line-1)+"\n"), 1<<20/line)
	for range size / len(block) {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(size)
	for b.Loop() {
		e, err := ReadLines(context.Background(), f, size, Window{First: size/line - 99})
		if err != nil || e.Last != size/line || Lines(e.Text) != 100 {
			b.Fatalf("lines %d-%d of %d, %v", e.First, e.Last, e.Total, err)
		}
	}
	if kb := peakMemory(); kb > 0 {
		b.ReportMetric(kb/1024, "MB-peak-RSS")
		if kb > 100<<10 {
			b.Errorf("%.0f KB of memory at the peak", kb)
		}
	}
}

// peakMemory reads the kernel's own count, in KB; 0 where there is none.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n := 0.0
			for _, c := range strings.TrimSpace(rest) {
				if c < '0' || c > '9' {
					break
				}
				n = 10*n + float64(c-'0')
			}
			return n
		}
	}
	return 0
}

func BenchmarkReplaceInMegabyte(b *testing.B) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
		b.Run(name, func(b *testing.B) {
			raw := bytes.Repeat([]byte("a line of an ordinary file, long enough"+end), 1<<20/41)
			for b.Loop() {
				d, err := Decode(raw)
				if err != nil {
					b.Fatal(err)
				}
				at := strings.LastIndex(d.Text, "ordinary")
				if _, err := d.Replace(Edit{Start: at, End: at + 8, New: "special"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRewriteMegabyte(b *testing.B) {
	var raw bytes.Buffer
	for i := range 1 << 20 / 41 {
		raw.WriteString(strings.Repeat("x", i%60) + " a line\r\n")
	}
	d, err := Decode(raw.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	content := strings.Replace(d.Text, " a line\n", " changed\n", 500)
	for b.Loop() {
		if _, err := d.Rewrite(content); err != nil {
			b.Fatal(err)
		}
	}
}

// manyPlaces are texts of n lines, or of one line with n words, in each of which every "old" is one edit.
func manyPlaces(tb testing.TB, n int) map[string]*Document {
	lines := func(end ...string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("some words, the old one, and some more" + end[i%len(end)])
		}
		return b.String()
	}
	out := map[string]*Document{}
	for name, c := range map[string]struct {
		enc     Encoding
		content string
	}{
		"LF":                 {UTF8, lines("\n")},
		"CRLF":               {UTF8, lines("\r\n")},
		"mixed":              {UTF8, lines("\n", "\n", "\r\n")},
		"first line is CRLF": {UTF8, "\r\n" + lines("\n")},
		"last line is CRLF":  {UTF8, lines("\n") + "\r\n"},
		"one line":           {UTF8, lines(" ") + "\n"},
		"one line, no end":   {UTF8, "first\r\n" + lines(" ")},
		"unknown byte":       {UTF8, lines("\r\n") + "\xff\n"},
		"latin1":             {Latin1, lines("\r\n") + "é\n"},
		"latin1, one line":   {Latin1, lines(" ") + "é\n"},
		"gbk":                {GBK, "中文\n" + lines("\n", "\r\n")},
		"utf-16le":           {UTF16LE, lines("\n", "\r\n")},
		"utf-16le, one line": {UTF16LE, lines(" ")},
	} {
		raw := []byte(c.content)
		if c.enc != UTF8 {
			raw = encodeAll(tb, c.enc, c.content)
		}
		d, err := DecodeAs(raw, c.enc)
		if err != nil {
			tb.Fatal(err)
		}
		out[name] = d
	}
	return out
}

// everyPlace returns the edits that replace each old by new.
func everyPlace(shown, old, new string) []Edit {
	var edits []Edit
	for at := 0; ; {
		i := strings.Index(shown[at:], old)
		if i < 0 {
			return edits
		}
		edits = append(edits, Edit{Start: at + i, End: at + i + len(old), New: new})
		at += i + len(old)
	}
}

func BenchmarkReplaceAllIn40000Lines(b *testing.B) {
	for name, d := range manyPlaces(b, 40_000) {
		for kind, new := range map[string]string{"word": "new", "line": "new\nline"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				edits := everyPlace(d.Text, "old", new)
				for b.Loop() {
					if _, err := d.Replace(edits...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
