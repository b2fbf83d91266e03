package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
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
// prompts, answers, calls and results, as mask returns them. The error is about journals that can't be read to their
// ends; the others are searched.
func (s Sessions) Search(words []string, mask func(string) string) ([]Hit, error) {
	ids, err := s.IDs()
	hits, errs := make([]Hit, len(ids)), make([]error, len(ids)+1)
	errs[len(ids)] = err
	inParallel(len(ids), func() func(int) {
		w := newWordSearch(words, mask, s.Store())
		return func(i int) {
			if hits[i], errs[i] = w.session(s, ids[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("search session %s: %w", ids[i], errs[i])
			}
		}
	})
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return len(h.Texts) == 0 })
	sorted.By(hits, func(a, b Hit) int { return b.Updated.Compare(a.Updated) })
	return hits, errors.Join(errs...)
}

// wordSearch finds texts in journals.
type wordSearch struct {
	words  []string // in lower case
	pieces [][]byte // of the words: a line with the words has them in lower case
	mask   func(string) string
	blobs  Blobs
	// for reuse
	whole bytes.Buffer
	lines []byte
	lower []byte
}

func newWordSearch(words []string, mask func(string) string, blobs Blobs) *wordSearch {
	w := &wordSearch{mask: mask, blobs: blobs}
	for _, word := range words {
		word = strings.ToLower(word)
		w.words = append(w.words, word)
		pieces := strings.FieldsFunc(word, func(r rune) bool { // which JSON may escape, or which has several cases
			return r <= ' ' || r >= 0x7f && (!unicode.IsLetter(r) || unicode.SimpleFold(r) != r) ||
				strings.ContainsRune(`"\<>&`, r)
		})
		longest := slices.MaxFunc(append(pieces, ""), func(a, b string) int { return len(a) - len(b) })
		w.pieces = append(w.pieces, []byte(longest))
	}
	return w
}

// session searches one session. Sessions that can't be opened are skipped.
func (w *wordSearch) session(s Sessions, id string) (h Hit, err error) {
	w.whole.Reset()
	f, err := s.entries(id, &w.whole)
	if err != nil {
		return h, nil // it is another user's, or was deleted meanwhile
	}
	defer f.Close()
	in := f.lines()
	in.all = w.lines
	for !h.More && err == nil {
		var line []byte
		if line, _, _, err = in.next(); err == nil {
			w.line(&h, line)
		}
	}
	w.lines = in.all
	if err == io.EOF {
		err = nil
	}
	if len(h.Texts) > 0 {
		info, failed := s.Info(id)
		if failed != nil {
			return Hit{}, nil // it was deleted meanwhile
		}
		h.Info = info
	}
	return h, err
}

// line searches one line.
func (w *wordSearch) line(h *Hit, line []byte) {
	e, data, ok := head(line)
	if !ok || e.Type != TypeMessage && e.Type != TypeAnswer && e.Type != TypeResponses {
		return
	}
	w.lower = append(w.lower[:0], data...)
	for i, c := range w.lower {
		if 'A' <= c && c <= 'Z' {
			w.lower[i] = c + 'a' - 'A'
		}
	}
	missing := slices.ContainsFunc(w.pieces, func(p []byte) bool { return !bytes.Contains(w.lower, p) })
	if missing && !bytes.Contains(data, []byte(`{"blob":"`)) {
		return
	}
	if e, ok = parse(line); !ok {
		return
	}
	all, _, err := Recover(e, w.blobs)
	if err != nil {
		return
	}
	var m model.Message
	switch d := all.(type) {
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
		if h.More = len(h.Texts) == maxHitTexts; h.More {
			return
		}
		h.Texts = append(h.Texts, HitText{Seq: e.Seq, At: e.At, By: e.By, Role: m.Role, Text: text})
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
		return p.Text()
	}
	return ""
}
