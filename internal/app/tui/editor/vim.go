package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Vim is vim's normal mode for an Editor: motions, operators with counts, and the last change. There are no registers:
// what was deleted or copied last is what Yank inserts, too. The zero value is off.
type Vim struct {
	On, Normal bool

	next    command // that is being typed
	last    command // the last one that changed the text
	typed   string  // the text that it inserted
	began   state   // the text when insert mode began
	inserts bool    // a command began insert mode: its changes are undone at once
	undo    int     // how many changes could be undone before it
}

// command is a command of normal mode: an operator with a motion, a motion, or another key.
type command struct {
	before, count int    // before the operator, and before the motion; 0: none
	op            rune   // d, c or y; 0: none
	key           rune   // motion, or what else it is
	arg           string // the character after f, t and g
}

// maxCount bounds counts.
const maxCount = 999

// n is how often a command is carried out.
func (c command) n() int { return min(max(1, c.before)*max(1, c.count), maxCount) }

// aliases are keys that stand for an operator with a motion.
var aliases = map[rune]command{
	'x': {op: 'd', key: 'l'}, 'X': {op: 'd', key: 'h'}, 'D': {op: 'd', key: '$'}, 'C': {op: 'c', key: '$'},
	's': {op: 'c', key: 'l'}, 'S': {op: 'c', key: 'c'}, 'Y': {op: 'y', key: 'y'},
}

// Mode is the mode as vim names it; "": vim's keys are off.
func (v *Vim) Mode() string {
	return map[[2]bool]string{{true, true}: "NORMAL", {true, false}: "INSERT"}[[2]bool{v.On, v.Normal}]
}

// Key takes a key of normal mode. It returns by how many rows the caller should move the cursor, which may lead to
// other texts: below 0 is up.
func (v *Vim) Key(e *Editor, text string) (rows int) {
	v.Rest(e)
	r, _ := utf8.DecodeRuneInString(text)
	switch c := &v.next; {
	case c.key != 0:
		c.arg = text
	case r >= '1' && r <= '9' || r == '0' && c.count > 0:
		c.count = min(10*c.count+int(r-'0'), maxCount)
		return 0
	case c.op == 0 && strings.ContainsRune("dcy", r):
		c.op, c.before, c.count = r, c.count, 0
		return 0
	default:
		if c.key = r; strings.ContainsRune("gft", r) {
			return 0
		}
	}
	c := v.next
	v.next = command{}
	switch {
	case c.op == 0 && c.key == 'j':
		return c.n()
	case c.op == 0 && c.key == 'k':
		return -c.n()
	}
	v.run(e, c)
	v.Rest(e)
	return 0
}

// Cancel drops a command that is being typed. It reports whether there was one.
func (v *Vim) Cancel() bool {
	was := v.next
	v.next = command{}
	return was != command{}
}

// Insert switches to insert mode for a new text.
func (v *Vim) Insert() { v.Normal, v.inserts, v.next = false, false, command{} }

// Escape switches to normal mode.
func (v *Vim) Escape(e *Editor) {
	if v.inserts {
		v.inserts, v.typed = false, ""
		head, tail := v.began.text[:v.began.cursor], v.began.text[v.began.cursor:]
		if rest, ok := strings.CutPrefix(e.text, head); ok && strings.HasSuffix(rest, tail) {
			v.typed = strings.TrimSuffix(rest, tail)
		}
		if n := v.undo + 1; n < len(e.undo) && len(e.undo) < maxUndo {
			e.undo = e.undo[:n]
		}
	}
	v.Normal, v.next = true, command{}
	e.left()
	e.kind = other
}

// Rest moves the cursor onto a character: in normal mode it is never after the last one of a line.
func (v *Vim) Rest(e *Editor) {
	if line, at := e.Line(); v.On && v.Normal && at > 0 && at == len(line) {
		e.cursor = e.before()
	}
}

// run carries out a command.
func (v *Vim) run(e *Editor, c command) {
	if a, ok := aliases[c.key]; ok && c.op == 0 {
		c.op, c.key = a.op, a.key
	}
	v.undo = len(e.undo)
	switch {
	case c.op == 0 && c.key == 'u':
		for range c.n() {
			e.Undo()
		}
		return
	case c.op == 0 && c.key == '.':
		v.repeat(e)
		return
	case c.op == 0 && (c.key == 'p' || c.key == 'P'):
		e.put(c)
	case c.op == 0 && strings.ContainsRune("iaIAoO", c.key):
		e.open(c.key)
	default:
		m, end := motions[c.key], *e
		switch {
		case c.op == 'c' && c.key == 'w' && e.class(e.cursor) != 0: // cw leaves the space after the word alone
			m.kind = inclusive
			m.move = func(e *Editor, c command) bool {
				e.wordEnd()
				return c.n() == 1 || e.times(command{count: c.n() - 1}, (*Editor).nextEnd)
			}
		case c.key == c.op:
			m = motion{linewise, func(e *Editor, c command) bool { return e.lines(c.n() - 1) }}
		}
		if m.move == nil || !m.move(&end, c) {
			return
		}
		if c.op == 0 {
			e.moveTo(end.cursor)
			return
		}
		if e.operate(c.op, end.cursor, m.kind); c.op == 'y' {
			return
		}
	}
	v.last = c
	if c.op == 'c' || c.op == 0 && c.key != 'p' && c.key != 'P' {
		v.Normal, v.inserts, v.began = false, true, state{e.text, e.cursor}
	}
}

// repeat carries out the last change again.
func (v *Vim) repeat(e *Editor) {
	typed := v.typed
	if v.last.key == 0 {
		return
	}
	if v.run(e, v.last); !v.Normal {
		e.change(other)
		e.insert(typed)
		v.Escape(e)
	}
}

// open moves the cursor to where a key inserts text.
func (e *Editor) open(key rune) {
	if key == 'o' || key == 'O' {
		e.change(other)
	}
	switch key {
	case 'a':
		e.right()
	case 'I':
		e.first()
	case 'A':
		e.End()
	case 'o':
		e.End()
		e.insert("\n")
	case 'O':
		e.Home()
		e.insert("\n")
		e.Left()
	}
}

// put inserts what was deleted or copied last: lines below or above, other text after or before the cursor.
func (e *Editor) put(c command) {
	if e.killed == "" {
		return
	}
	put, lines := strings.CutSuffix(e.killed, "\n")
	below := 0 // where the first line begins
	e.change(other)
	switch {
	case lines && c.key == 'p':
		e.End()
		put, below = "\n"+put, 1
	case lines:
		e.Home()
		put += "\n"
	case c.key == 'p':
		e.right()
	}
	from := e.cursor
	if e.insert(strings.Repeat(put, c.n())); strings.Contains(put, "\n") || lines {
		e.cursor = from + below
	} else {
		e.left()
	}
	if lines {
		e.first()
	}
}

// operate deletes, changes or copies the text up to the end of a motion.
func (e *Editor) operate(op rune, to int, kind motionKind) {
	from, to, ending := min(e.cursor, to), max(e.cursor, to), ""
	top := from
	switch kind {
	case inclusive:
		end := Editor{text: e.text, cursor: to}
		end.right()
		to = end.cursor
	case linewise:
		from, to, ending = e.start(from), e.end(to), "\n"
	}
	if from < to || ending != "" && e.text != "" {
		e.killed = e.text[from:to] + ending
	}
	switch {
	case op == 'y':
		e.moveTo(top)
	case op == 'c' || kind != linewise:
		e.cut(from, to, false)
	default: // with a line ending
		if to++; to > len(e.text) {
			from, to = max(0, from-1), len(e.text)
		}
		e.cut(from, to, false)
		e.cursor = min(from, len(e.text))
		e.first()
	}
}

// motionKind is what an operator does with a motion: the character at its end belongs to it or not, or all lines do.
type motionKind uint8

const (
	exclusive motionKind = iota
	inclusive
	linewise
)

// motion moves the cursor. It reports whether that is possible.
type motion struct {
	kind motionKind
	move func(*Editor, command) bool
}

var motions = map[rune]motion{
	'h': {exclusive, func(e *Editor, c command) bool { return e.times(c, (*Editor).left) }},
	'l': {exclusive, func(e *Editor, c command) bool { return e.times(c, (*Editor).right) }},
	' ': {exclusive, func(e *Editor, c command) bool { return e.times(c, (*Editor).right) }},
	'w': {exclusive, (*Editor).nextWords},
	'e': {inclusive, func(e *Editor, c command) bool { return e.times(c, (*Editor).nextEnd) }},
	'b': {exclusive, func(e *Editor, c command) bool { return e.cursor > 0 && e.times(c, (*Editor).wordStart) }},
	'0': {exclusive, func(e *Editor, c command) bool { e.Home(); return true }},
	'^': {exclusive, func(e *Editor, c command) bool { e.first(); return true }},
	'$': {inclusive, func(e *Editor, c command) bool { e.End(); e.left(); return true }},
	'f': {inclusive, (*Editor).find},
	't': {inclusive, func(e *Editor, c command) bool { ok := e.find(c); e.left(); return ok }},
	'j': {linewise, func(e *Editor, c command) bool { return e.lines(c.n()) }},
	'k': {linewise, func(e *Editor, c command) bool { return e.lines(-c.n()) }},
	'g': {linewise, func(e *Editor, c command) bool { return c.arg == "g" && e.line(c, 0) }},
	'G': {linewise, func(e *Editor, c command) bool { return e.line(c, len(e.text)) }},
}

// left and right move the cursor in its line, and first moves it to the first character that isn't blank.
func (e *Editor) left() {
	if e.start(e.cursor) < e.cursor {
		e.moveTo(e.before())
	}
}

func (e *Editor) right() {
	if e.cursor < e.end(e.cursor) {
		e.moveTo(e.after())
	}
}

func (e *Editor) first() {
	for e.Home(); e.class(e.cursor) == 0 && e.cursor < e.end(e.cursor); {
		e.right()
	}
}

// lines moves the cursor by lines, as many as there are. It reports whether it could.
func (e *Editor) lines(n int) bool {
	const wide = 1 << 20 // rows are lines
	left := n
	for left > 0 && e.Down(wide) {
		left--
	}
	for left < 0 && e.Up(wide) {
		left++
	}
	return n == 0 || left != n
}

// line moves the cursor to the line that a count says, or to a place.
func (e *Editor) line(c command, to int) bool {
	if e.cursor = to; c.before > 0 || c.count > 0 {
		e.cursor = 0
		e.lines(c.n() - 1)
	}
	e.first()
	return true
}

// find moves the cursor to the n-th occurrence of a character in the line.
func (e *Editor) find(c command) bool {
	for n := c.n(); n > 0; {
		was := e.cursor
		if e.right(); e.cursor == was {
			return false
		}
		if e.text[e.cursor:e.after()] == c.arg {
			n--
		}
	}
	return true
}

// times moves the cursor as often as a count says.
func (e *Editor) times(c command, step func(*Editor)) bool {
	for range c.n() {
		step(e)
	}
	return true
}

// class is which words a character is part of; 0: none.
func (e *Editor) class(at int) rune {
	switch r, n := utf8.DecodeRuneInString(e.text[at:]); {
	case n == 0 || unicode.IsSpace(r):
		return 0
	case isWord(r):
		return 1
	case r >= folded: // each one is a word
		return r
	}
	return 2
}

// skip moves the cursor over characters of a class.
func (e *Editor) skip(class rune, step func()) {
	for was := -1; e.cursor != was && e.class(e.cursor) == class; step() {
		was = e.cursor
	}
}

// nextWords moves the cursor to the starts of words. For an operator, the last word ends with its line.
func (e *Editor) nextWords(c command) bool {
	for n := c.n(); n > 0; n-- {
		if class := e.class(e.cursor); class != 0 {
			e.skip(class, e.Right)
		}
		end := e.end(e.cursor)
		if e.skip(0, e.Right); c.op != 0 && n == 1 && e.cursor > end {
			e.moveTo(end)
		}
	}
	return true
}

// nextEnd moves the cursor to the end of a word after it, wordEnd to the end of the word that it is on.
func (e *Editor) nextEnd() {
	if e.class(e.after()) != e.class(e.cursor) || e.class(e.cursor) == 0 {
		e.Right()
		e.skip(0, e.Right)
	}
	e.wordEnd()
}

func (e *Editor) wordEnd() {
	if e.skip(e.class(e.cursor), e.Right); e.start(e.cursor) < e.end(e.cursor) {
		e.Left()
	}
}

// wordStart moves the cursor to the start of the word before it.
func (e *Editor) wordStart() {
	e.Left()
	e.skip(0, e.Left)
	for class := e.class(e.cursor); class != 0 && e.cursor > 0 && e.class(e.before()) == class; {
		e.Left()
	}
}
