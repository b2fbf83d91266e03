package builtin

import (
	"bytes"
	"crypto/sha256"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace"
)

// Limits of the files that a search records as read.
const (
	creditFiles = 100
	creditSize  = 4 << 20
)

// credit records the lines that a search showed as read, so that the files can be edited. A file that has changed since
// the search is skipped, because its lines may differ from those shown. The files are read concurrently: the search
// waits for it.
func (f *files) credit(shown []search.FileMatches) {
	shown = shown[:min(len(shown), creditFiles)]
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(shown), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(shown)); i = next.Add(1) - 1 {
				f.creditFile(&shown[i])
			}
		})
	}
	wg.Wait()
}

func (f *files) creditFile(m *search.FileMatches) {
	ranges := make([]workspace.Range, 0, len(m.Lines))
	for _, s := range m.Shown() {
		ranges = append(ranges, workspace.Range{First: s.First, Last: s.Last})
	}
	if m.Encoding != "" || len(ranges) == 0 {
		return // its lines were shown transcoded, or none completely
	}
	p, err := f.ws.Resolve(m.Path)
	if err != nil {
		return
	}
	r, err := p.Open()
	if err != nil {
		return
	}
	defer r.Close()
	var content bytes.Buffer
	if info, err := r.Stat(); err == nil && info.Size() <= creditSize {
		content.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = content.ReadFrom(io.LimitReader(r, creditSize+1))
	if err != nil || content.Len() > creditSize {
		return
	}
	if total, ok := stillThere(content.Bytes(), m.Lines); ok {
		f.seen.Record(p.Abs, sha256.Sum256(content.Bytes()), total, ranges...)
	}
}

// stillThere reports whether the content has these lines, and how many lines it has.
func stillThere(content []byte, lines []search.Line) (total int, ok bool) {
	rest, number := content, 1 // rest begins with line number
	for _, l := range lines {
		for ; number < l.Number; number++ {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				return 0, false
			}
			rest = rest[end+1:]
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if !l.Cut && string(bytes.TrimSuffix(line, []byte("\r"))) != strings.TrimSuffix(l.Text, "\r") {
			return 0, false
		}
	}
	total = bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		total++
	}
	return total, true
}
