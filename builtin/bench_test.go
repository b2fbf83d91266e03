package builtin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// tryOut prepares and runs a call, as the executor would for an auto-approved one.
func tryOut(b *testing.B, tl tool.Tool, a args) tool.Result {
	b.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		b.Fatal(err)
	}
	inv, err := tl.Prepare(b.Context(), raw)
	if err != nil {
		b.Fatal(err)
	}
	r, err := inv.Run(b.Context(), &tool.Live{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// One edit in a file of 1 MB, in each dialect: prepared with its diff, written and synced. The goal is 15 ms, and that no
// dialect is slower than edit.
func BenchmarkEditOneMegabyte(b *testing.B) {
	for _, kind := range []string{"lf", "crlf"} {
		for _, name := range []string{editName, patchName, linesName} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				dir := b.TempDir()
				path := filepath.Join(dir, "a.go")
				var text strings.Builder
				for i := 0; text.Len() < 1<<20; i++ {
					fmt.Fprintf(&text, "\tline(%d) // and some more words of it\n", i)
				}
				old, now := "\tline(15000) // and some more words of it\n", "\tLINE(15000) // and some more words of it\n"
				texts := []string{text.String(), strings.Replace(text.String(), old, now, 1)}
				content := texts[0]
				if kind == "crlf" {
					content = strings.ReplaceAll(content, "\n", "\r\n")
				}
				put(b, dir, map[string]string{"a.go": content})
				s, err := New(Options{Dir: dir, AllRead: true})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { s.Close() })
				var edit tool.Tool
				for _, one := range s.All() {
					if one.Declaration().Name == name {
						edit = one
					}
				}
				anchors := []string{anchorOf(b, texts[0], "(15000)"), anchorOf(b, texts[1], "(15000)")}
				b.SetBytes(1 << 20)
				i := 0
				for b.Loop() {
					calls := map[string]args{
						editName:  {"file_path": path, "old_string": old, "new_string": now},
						patchName: {"input": "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "+" + now + "*** End Patch\n"},
						linesName: {"file_path": path, "edits": []args{{"first": anchors[i%2], "new_text": now}}},
					}
					tryOut(b, edit, calls[name])
					old, now = now, old
					i++
				}
			})
		}
	}
}

// The last 100 lines of a text of 1 GB (100 MB unless ADZE_SOAK=1). The goal is 100 MB of memory in all.
func BenchmarkReadEndOfLongFile(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "long.log")
	lines := soak.Count(1_400_000, 14_000_000)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range lines {
		fmt.Fprintf(w, "%08d some words of a log file, as they may be, and a few more\n", i)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	size, _ := f.Seek(0, 2)
	f.Close()
	b.SetBytes(size)
	read := one(b, "read_file")(dir)
	for b.Loop() {
		r := tryOut(b, read, args{"absolute_path": path, "offset": lines - 100, "limit": 100})
		if !strings.HasPrefix(r.Text(), fmt.Sprintf("Showing lines %d-%d of %d total lines.", lines-99, lines, lines)) {
			b.Fatal(r.Text()[:100])
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-sys")
}

// A directory of 10,000 files: what is read is bounded by the budget, not by the tree.
func BenchmarkReadManyOf10000(b *testing.B) {
	dir := b.TempDir()
	files := map[string]string{}
	content := numbered(300)
	for i := range 10_000 {
		files[fmt.Sprintf("d%02d/f%04d.txt", i/100, i)] = content
	}
	put(b, dir, files)
	many := one(b, "read_many_files")(dir)
	for b.Loop() {
		r := tryOut(b, many, args{"paths": []string{"."}})
		b.ReportMetric(float64(len(r.Text())), "bytes-shown")
	}
}
