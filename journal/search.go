package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Hit is a session with texts that have all words of a search.
type Hit struct {
	Info
	Texts []HitText `json:"texts"`
	More  bool      `json:"more,omitempty"` // there are more than these
}

// HitText is a prompt, an answer with its calls, or a result.
type HitText struct {
	Seq  int64      `json:"seq"`
	At   time.Time  `json:"at"`
	By   string     `json:"by,omitempty"`
	Role model.Role `json:"role"`
	Text string     `json:"text"`
}

// maxHitTexts is the maximum number of texts of a Hit.
const maxHitTexts = 3

// Search returns the sessions of this user with texts that have all words, in any case, the newest first. It searches
// prompts, answers, calls and results, as mask returns them. Lines that can't have the words are not decoded. The error
// is about journals that can't be read; the others are searched.
func (s Sessions) Search(words []string, mask func(string) string) ([]Hit, error) {
	ids, err := s.IDs()
	hits, errs := make([]Hit, len(ids)), make([]error, len(ids)+1)
	errs[len(ids)] = err
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		wg.Go(func() {
			w := newWordSearch(words, mask, s.Store())
			var r infoReader
			for i := next.Add(1) - 1; i < int64(len(ids)); i = next.Add(1) - 1 {
				if errs[i] = s.searchIn(ids[i], w); len(w.hit.Texts) == 0 {
					continue
				}
				if info, err := r.read(s, ids[i]); err == nil {
					w.hit.Info = info
					hits[i] = w.hit
				}
			}
		})
	}
	wg.Wait()
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return len(h.Texts) == 0 })
	sorted.By(hits, func(a, b Hit) int { return b.Updated.Compare(a.Updated) })
	return hits, errors.Join(errs...)
}

// searchIn searches one session.
func (s Sessions) searchIn(id string, w *wordSearch) error {
	for range 2 { // another process may restore an archive meanwhile
		w.hit, w.tail = Hit{}, w.tail[:0]
		f, err := s.journal(id, os.O_RDONLY)
		if err != nil {
			return nil // it is another user's, or deleted meanwhile
		}
		if isArchived(f) {
			err = s.unpackTo(w, id)
		} else {
			_, err = io.CopyBuffer(w, struct{ io.Reader }{f}, w.buf)
		}
		f.Close()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil && !w.hit.More {
			return fmt.Errorf("search session %s: %w", id, err)
		}
		return nil
	}
	return nil
}

// wordSearch finds texts in the lines that are written to it.
type wordSearch struct {
	words []string // in lower case
	needs []needle // that each line with the words has
	mask  func(string) string
	blobs Blobs
	buf   []byte
	tail  []byte // of a line
	hit   Hit
}

func newWordSearch(words []string, mask func(string) string, blobs Blobs) *wordSearch {
	w := &wordSearch{mask: mask, blobs: blobs, buf: make([]byte, 256<<10)}
	for _, word := range words {
		word = strings.ToLower(word)
		w.words = append(w.words, word)
		if n := needleOf(word); len(n.text) > 0 {
			w.needs = append(w.needs, n)
		}
	}
	return w
}

var (
	errEnough = errors.New("enough texts were found")
	errLong   = errors.New("a line is too long")
)

// Write takes the next bytes of a journal.
func (w *wordSearch) Write(p []byte) (int, error) {
	size := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if !ended {
			break
		}
		p = rest
		if len(w.tail) > 0 {
			w.tail = append(w.tail, line...)
			line, w.tail = w.tail, w.tail[:0]
		}
		if w.line(line); w.hit.More {
			return 0, errEnough
		}
	}
	if w.tail = append(w.tail, p...); len(w.tail) > maxRead {
		return 0, errLong
	}
	return size, nil
}

// line searches one line.
func (w *wordSearch) line(line []byte) {
	missing := slices.ContainsFunc(w.needs, func(n needle) bool { return !n.in(line) })
	if missing && !bytes.Contains(line, []byte(`{"blob":"`)) {
		return
	}
	e, _, ok := head(line)
	if !ok || e.Type != TypeMessage && e.Type != TypeAnswer && e.Type != TypeResponses {
		return
	}
	if e, ok = parse(line); !ok {
		return
	}
	data, _, err := Recover(e, w.blobs)
	if err != nil {
		return
	}
	var m model.Message
	switch d := data.(type) {
	case Message:
		m = d.Message
	case Answer:
		m = d.Message
	case Responses:
		m = d.Message
	}
	for _, p := range m.Parts {
		text := w.mask(textOf(p))
		lower := strings.ToLower(text)
		if slices.ContainsFunc(w.words, func(word string) bool { return !strings.Contains(lower, word) }) {
			continue
		}
		if w.hit.More = len(w.hit.Texts) == maxHitTexts; w.hit.More {
			return
		}
		w.hit.Texts = append(w.hit.Texts, HitText{Seq: e.Seq, At: e.At, By: e.By, Role: m.Role, Text: text})
	}
}

// textOf returns what a part says.
func textOf(p model.Part) string {
	switch p := p.(type) {
	case model.Text:
		return string(p)
	case model.Call:
		return p.Name + " " + string(p.Args)
	case model.Response:
		var b strings.Builder
		for _, c := range p.Content {
			if t, ok := c.(tool.Text); ok {
				b.WriteString(string(t))
			}
		}
		return b.String()
	}
	return ""
}

// needle is a piece of a word that has the same bytes in a journal, except for the case of ASCII letters.
type needle struct {
	text  []byte
	at    int    // of the rarest byte,
	rares []byte // in both cases
}

// needleOf returns the longest piece of a word without characters that JSON may escape or that have several cases.
func needleOf(word string) needle {
	var n needle
	for _, piece := range strings.FieldsFunc(word, func(r rune) bool {
		if r < utf8.RuneSelf {
			return r <= ' ' || strings.ContainsRune(`"\<>&`, r) || r == 0x7f
		}
		return !unicode.IsLetter(r) || unicode.SimpleFold(r) != r
	}) {
		if len(piece) > len(n.text) {
			n.text = []byte(piece)
		}
	}
	const common = `etaoinsrhldcumfpgwyb,.:-_/kvxjqz` // the most frequent first
	rank := func(c byte) int {
		if i := strings.IndexByte(common, c); i >= 0 {
			return i
		}
		return len(common)
	}
	for i, c := range n.text {
		if rank(c) > rank(n.text[n.at]) {
			n.at = i
		}
	}
	if len(n.text) > 0 {
		rare := n.text[n.at : n.at+1]
		n.rares = slices.Compact(append(bytes.ToUpper(rare), rare...))
	}
	return n
}

// in reports whether a line has the piece.
func (n needle) in(line []byte) bool {
	for _, c := range n.rares {
		for from := 0; ; from++ {
			i := bytes.IndexByte(line[from:], c)
			if i < 0 {
				break
			}
			from += i
			start := from - n.at
			if start >= 0 && start+len(n.text) <= len(line) && bytes.EqualFold(line[start:start+len(n.text)], n.text) {
				return true
			}
		}
	}
	return false
}
