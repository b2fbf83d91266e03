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
				if _, err := d.Replace(Edit{at, at + 8, "special"}); err != nil {
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
