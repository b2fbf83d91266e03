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
				cmp.Snippet("")
			}
		})
	}
}

// The same edit in each dialect, with what the tools do of it.
func BenchmarkDialects1MB(b *testing.B) {
	text := bigText()
	const old, now = "\tline 12345 of a file that is one megabyte long\n", "\tline 12345 of the file\n"
	anchor := ""
	for line := range strings.Lines(Anchored(text, text, 1)) {
		if strings.HasSuffix(line, old) {
			anchor = line
		}
	}
	for name, apply := range map[string]func() (Result, error){
		"replace": func() (Result, error) { return Apply(text, []Edit{{Old: old, New: now}}) },
		"patch": func() (Result, error) {
			files, err := ParsePatch(patchOf("*** Update File: f\n@@\n-" + old + "+" + now))
			if err != nil {
				return Result{}, err
			}
			return ApplyHunks(text, files[0].Hunks)
		},
		"anchors": func() (Result, error) { return ApplyLines(text, nil, []LineEdit{{First: anchor, New: now}}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := apply()
				if err != nil {
					b.Fatal(err)
				}
				c := Compare(text, replace(text, r.Spans))
				c.Unified("a", "b")
				c.Stat()
				c.Snippet("")
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
