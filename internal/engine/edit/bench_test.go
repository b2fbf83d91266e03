package edit

import (
	"fmt"
	"strings"
	"testing"
)

func bigText() string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "\tline %d of a file that is one megabyte long\n", i)
	}
	return b.String()
}

func BenchmarkEdit1MB(b *testing.B) {
	text := bigText()
	for _, c := range []struct{ name, old, new string }{
		{"exact", "\tline 12345 of a file", "\tline 12345 of the file"},
		{"exact line", "line 12345 of a file that is one megabyte long\n", "x\n"},
		{"indentation", "    line 12345 of a file that is one megabyte long\n", "    x\n"},
		{"missing", "line 12345 of a fuel", "x"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				m, err := Find(text, Edit{Old: c.old, New: c.new})
				if err != nil {
					continue
				}
				cmp := Compare(text, m.Apply(text))
				cmp.Unified("a", "b")
				cmp.Stat()
				cmp.Snippet()
			}
		})
	}
}

func BenchmarkCompare20kLines(b *testing.B) {
	text := bigText()
	b.Run("every 40th line", func(b *testing.B) {
		lines := linesOf(text)
		for i := range lines {
			if i%40 == 0 {
				lines[i] = "changed\n"
			}
		}
		new := strings.Join(lines, "")
		for b.Loop() {
			Compare(text, new).Unified("a", "b")
		}
	})
	b.Run("every line", func(b *testing.B) {
		new := strings.ReplaceAll(text, "\n", "\r\n")
		for b.Loop() {
			Compare(text, new).Unified("a", "b")
		}
	})
}
