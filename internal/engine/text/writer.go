package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/lazy"
)

// writer builds a new body from the old one.
type writer struct {
	doc  *Document
	body []byte
	join bool // lines end in \n, whatever they end in on disk
	raw  int  // offset in the old body
	text int  // the same in the shown text
	out  []byte

	near   []byte // the last result of nearEnd
	nearAt int    // it is valid for positions up to here
}

func (w *writer) keepTo(offset int) error {
	from := w.raw
	if err := w.skipTo(offset); err != nil {
		return err
	}
	w.out = append(w.out, w.body[from:w.raw]...)
	return nil
}

// skipTo continues at an offset of the shown text.
func (w *writer) skipTo(offset int) error {
	if err := w.doc.betweenCharacters(offset); err != nil {
		return err
	}
	if w.doc.valid {
		w.raw += rawLen(w.body[w.raw:], offset-w.text)
		w.text = offset
		return nil
	}
	s := scanner{codec: w.doc.codec, rest: w.body[w.raw:], join: true}
	for w.text < offset && s.next() {
		w.raw += len(s.unit)
		w.text += utf8.RuneLen(s.r)
	}
	return nil
}

// betweenCharacters reports an offset of the shown text that is inside a character.
func (d *Document) betweenCharacters(offset int) error {
	if offset < len(d.Text) && !utf8.RuneStart(d.Text[offset]) {
		return fmt.Errorf("edit at byte %d: that is inside a character", offset)
	}
	return nil
}

// rawLen returns how many bytes of valid UTF-8 are shown as n: each \r\n is one more. It reads at most one byte beyond
// them, so that many edits take one pass.
func rawLen(body []byte, n int) int {
	raw := 0
	for {
		i := bytes.Index(body[raw:min(raw+n+1, len(body))], crlf)
		if i < 0 {
			return raw + n
		}
		raw, n = raw+i+len(crlf), n-i-1
	}
}

// line is one line as shown, including its ending, and its bytes.
type line struct {
	shown string
	raw   []byte
}

// lines splits body[from:to].
func (w *writer) lines(from, to int) []line {
	var out []line
	rest := w.body[from:to]
	if w.doc.valid {
		for len(rest) > 0 {
			n := bytes.IndexByte(rest, '\n') + 1
			if n == 0 {
				n = len(rest)
			}
			shown := string(rest[:n])
			if w.join {
				shown = joinLines(shown)
			}
			out = append(out, line{shown, rest[:n]})
			rest = rest[n:]
		}
		return out
	}
	var b strings.Builder
	start := rest
	for s := (scanner{codec: w.doc.codec, rest: rest, join: w.join}); s.next(); {
		b.WriteRune(s.r)
		if s.r == '\n' || len(s.rest) == 0 {
			out = append(out, line{b.String(), start[:len(start)-len(s.rest)]})
			start = s.rest
			b.Reset()
		}
	}
	return out
}

// write replaces body[from:to] by new text. Lines and characters that are the same before and after keep their bytes.
func (w *writer) write(from, to int, text string) error {
	old := w.lines(from, to)
	shown := make([]string, len(old))
	for i, l := range old {
		shown[i] = l.shown
	}
	now := strings.SplitAfter(text, "\n")
	if now[len(now)-1] == "" {
		now = now[:len(now)-1]
	}
	at := 0
	for _, h := range edit.ChangedLines(shown, now) {
		w.keep(old[at:h.Start])
		near := func() []byte { return w.endBeside(old, h.Start, h.End, to) }
		if err := w.hunk(old[h.Start:h.End], strings.Join(now[h.ReplStart:h.ReplEnd], ""), near); err != nil {
			return err
		}
		at = h.End
	}
	w.keep(old[at:])
	return nil
}

func (w *writer) keep(lines []line) {
	for _, l := range lines {
		w.out = append(w.out, l.raw...)
	}
}

// unit is one shown character with its bytes.
type unit struct {
	r   rune
	raw []byte
}

func (w *writer) units(lines []line) []unit {
	var out []unit
	for _, l := range lines {
		for s := (scanner{codec: w.doc.codec, rest: l.raw, join: w.join}); s.next(); {
			out = append(out, unit{s.r, s.unit})
		}
	}
	return out
}

// hunk writes changed lines; the common parts at their start and end are unchanged.
func (w *writer) hunk(lines []line, text string, near func() []byte) error {
	old, now := w.units(lines), []rune(text)
	head := 0
	for head < len(old) && head < len(now) && old[head].r == now[head] {
		w.out = append(w.out, old[head].raw...)
		head++
	}
	old, now = old[head:], now[head:]
	tail := 0
	for tail < len(old) && tail < len(now) && old[len(old)-1-tail].r == now[len(now)-1-tail] {
		tail++
	}
	kept := old[len(old)-tail:]
	if err := w.middle(old[:len(old)-tail], now[:len(now)-tail], near); err != nil {
		return err
	}
	for _, u := range kept {
		w.out = append(w.out, u.raw...)
	}
	return nil
}

// middle encodes new characters. The n-th new line ends like the n-th old one did. If the new text has as many unknown
// characters as the old one, they keep their bytes.
func (w *writer) middle(old []unit, now []rune, near func() []byte) error {
	unknown, same := unknownUnits(old, now)
	var ends [][]byte
	for _, u := range old {
		if u.r == '\n' {
			ends = append(ends, u.raw)
		}
	}
	n := 0
	for _, r := range now {
		switch {
		case r == '\n' && w.join:
			if len(ends) == 0 {
				ends = append(ends, near())
			}
			w.out = append(w.out, ends[min(n, len(ends)-1)]...)
			n++
		case r == utf8.RuneError && same:
			w.out = append(w.out, unknown[0]...)
			unknown = unknown[1:]
		default:
			out, ok := w.doc.codec.encode(w.out, r)
			if !ok || r == utf8.RuneError && len(unknown) > 0 {
				return w.unencodable(r)
			}
			w.out = out
		}
	}
	return nil
}

// unknownUnits collects the bytes that are shown as U+FFFD, and reports whether the new text has as many.
func unknownUnits(old []unit, now []rune) (unknown [][]byte, same bool) {
	for _, u := range old {
		if u.r == utf8.RuneError {
			unknown = append(unknown, u.raw)
		}
	}
	n := 0
	for _, r := range now {
		if r == utf8.RuneError {
			n++
		}
	}
	return unknown, n > 0 && n == len(unknown)
}

// endBeside returns the line ending for a change of old[from:end] that replaces none: that of the line before it, else
// of the line after, else that near the end of the old text.
func (w *writer) endBeside(old []line, from, end, to int) []byte {
	for _, i := range []int{from - 1, end} {
		if i < 0 || i >= len(old) {
			continue
		}
		if us := w.units(old[i : i+1]); us[len(us)-1].r == '\n' {
			return us[len(us)-1].raw
		}
	}
	return w.nearEnd(to)
}

// nearEnd returns the ending of the line at the position, else of the line before it, else \n. Positions are in
// ascending order: the result is reused for later ones on the same line.
func (w *writer) nearEnd(to int) []byte {
	if w.near == nil || w.nearAt < to {
		w.near, w.nearAt = w.findEnd(to)
	}
	return w.near
}

// findEnd finds the line ending of nearEnd. It is valid for positions up to at.
func (w *writer) findEnd(to int) (end []byte, at int) {
	at = to
	for s := (scanner{codec: w.doc.codec, rest: w.body[to:], join: true}); s.next(); at += len(s.unit) {
		if s.r == '\n' {
			return s.unit, at
		}
	}
	end, _ = w.doc.codec.encode(nil, '\n')
	for s := (scanner{codec: w.doc.codec, rest: w.body[:to], join: true}); s.next(); {
		if s.r == '\n' {
			end = s.unit
		}
	}
	return end, at
}

func (w *writer) unencodable(r rune) error {
	so, err := w.doc.withBody(w.out)
	if err != nil {
		return err
	}
	return &UnencodableError{Encoding: w.doc.Encoding, Char: r, At: PositionOf(so.Text, len(so.Text))}
}

// finish makes the new document and checks that it decodes as intended. It doesn't if new characters combine with an
// adjacent unknown byte.
func (w *writer) finish(body []byte, want string) (*Document, error) {
	next, err := w.doc.withBody(body)
	if err != nil {
		return nil, err
	}
	if !sameLines(next.Text, want) {
		return nil, fmt.Errorf("the change can't be written as %s: it is next to bytes that aren't valid in that "+
			"encoding and would combine with them. Keep a character in between", w.doc.Encoding)
	}
	return next, nil
}

// endRuns matches a line ending, with every \r before it.
var endRuns = lazy.Regexp("\r+\n")

// sameLines reports whether texts are equal except for each \r before a \n: one that a change moves there ends the line
// with it.
func sameLines(a, b string) bool {
	return a == b || joinLines(a) == joinLines(b) ||
		endRuns().ReplaceAllString(a, "\n") == endRuns().ReplaceAllString(b, "\n")
}
