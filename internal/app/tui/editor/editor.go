// Package editor is the text that a user types: a cursor in lines, words, a clipboard, and pasted text that is folded.
//
//	var e editor.Editor
//	e.Insert("hello")
//	e.Paste(long)                     // shown as [paste 1: 240 lines]
//	lines, row, column := e.Layout(80)
//	send(e.Text())                    // with the pasted text
package editor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Pastes over one of these are folded.
const (
	foldLines = 5
	foldRunes = 800
)

// longest is the number of bytes that are shown as they are, because each key lays the text out again.
const longest = 32 << 10

// folded is the first of the characters that stand for a pasted text. They are for private use; typed ones are dropped.
const folded = 0xf0000

// maxFolds is the number of such characters.
const maxFolds = 0xfffd

// Editor is a text with a cursor. The zero value is empty.
type Editor struct {
	text   string
	cursor int // in bytes
	folds  []fold
	killed string
	column int // that moving up and down keeps, plus 1; 0: none

	undo []state
	kind edit
}

// fold is a text that one character stands for, and what is shown instead.
type fold struct{ text, label string }

// state is what an undo restores.
type state struct {
	text   string
	cursor int
}

// edit is the kind of the last change: typing in a row is undone at once.
type edit uint8

const (
	other edit = iota
	typing
)

// Text is the text with all that was pasted.
func (e *Editor) Text() string { return e.expand(e.text) }

// Empty reports whether there is no text.
func (e *Editor) Empty() bool { return e.text == "" }

// Line returns the line with the cursor, and the cursor's place in it.
func (e *Editor) Line() (line string, cursor int) {
	from := e.start(e.cursor)
	return e.text[from:e.end(e.cursor)], e.cursor - from
}

// start and end are the start and the end of the line of a place.
func (e *Editor) start(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

func (e *Editor) end(at int) int { return at + strings.IndexByte(e.text[at:]+"\n", '\n') }

// Set replaces the text. The cursor goes to its end. Undo restores the old one. A very long text is folded.
func (e *Editor) Set(text string) {
	if len(text) > longest {
		e.change(other)
		e.text, e.cursor = "", 0
		e.Paste(text)
		return
	}
	e.change(other)
	e.text = clean(text)
	e.cursor = len(e.text)
}

// Clear removes everything.
func (e *Editor) Clear() {
	killed := e.killed
	*e = Editor{killed: killed}
}

// Insert types text at the cursor.
func (e *Editor) Insert(text string) {
	kind := typing
	if strings.ContainsAny(text, " \n") || utf8.RuneCountInString(text) > 1 {
		kind = other
	}
	e.change(kind)
	e.insert(clean(text))
}

// Paste inserts text, folded if it is long.
func (e *Editor) Paste(text string) {
	e.change(other)
	text = strings.ToValidUTF8(text, "�")
	if strings.Count(text, "\n") < foldLines && utf8.RuneCountInString(text) <= foldRunes || len(e.folds) == maxFolds {
		e.insert(clean(text))
		return
	}
	e.folds = append(e.folds, fold{text, label(len(e.folds)+1, text)})
	e.insert(string(rune(folded + len(e.folds) - 1)))
}

// Attach inserts a label that is moved over and deleted as a whole.
func (e *Editor) Attach(label string) {
	e.change(other)
	if label = clean(label); len(e.folds) == maxFolds {
		e.insert(label)
		return
	}
	e.folds = append(e.folds, fold{label, label})
	e.insert(string(rune(folded + len(e.folds) - 1)))
}

// Replace replaces the n bytes before the cursor, as completion does.
func (e *Editor) Replace(n int, text string) {
	e.change(other)
	n = min(n, e.cursor)
	e.text = e.text[:e.cursor-n] + clean(text) + e.text[e.cursor:]
	e.cursor += len(clean(text)) - n
}

func (e *Editor) insert(text string) {
	e.text = e.text[:e.cursor] + text + e.text[e.cursor:]
	e.cursor += len(text)
}

// Backspace deletes the character before the cursor.
func (e *Editor) Backspace() { e.cut(e.before(), e.cursor, false) }

// Delete deletes the character at the cursor.
func (e *Editor) Delete() { e.cut(e.cursor, e.after(), false) }

// KillWord deletes the word before the cursor, for Yank.
func (e *Editor) KillWord() { e.cut(e.wordBefore(), e.cursor, true) }

// KillNextWord deletes the word after the cursor, for Yank.
func (e *Editor) KillNextWord() { e.cut(e.cursor, e.wordAfter(), true) }

// KillToEnd deletes to the end of the line, for Yank; at the end, the line break.
func (e *Editor) KillToEnd() {
	e.cut(e.cursor, max(e.end(e.cursor), min(e.cursor+1, len(e.text))), true)
}

// KillToStart deletes to the start of the line, for Yank.
func (e *Editor) KillToStart() { e.cut(e.start(e.cursor), e.cursor, true) }

// Yank inserts what was killed last.
func (e *Editor) Yank() {
	e.change(other)
	e.insert(e.killed)
}

// Undo undoes the last change, and reports whether there was one.
func (e *Editor) Undo() bool {
	if len(e.undo) == 0 {
		return false
	}
	s := e.undo[len(e.undo)-1]
	e.undo = e.undo[:len(e.undo)-1]
	e.text, e.cursor, e.kind, e.column = s.text, s.cursor, other, 0
	return true
}

// cut deletes a range of bytes.
func (e *Editor) cut(from, to int, kill bool) {
	if from == to {
		return
	}
	e.change(other)
	if kill {
		e.killed = e.text[from:to]
	}
	e.text = e.text[:from] + e.text[to:]
	e.cursor = from
}

// maxUndo is the number of changes that can be undone.
const maxUndo = 200

// change remembers the text before a change.
func (e *Editor) change(kind edit) {
	if kind != typing || e.kind != typing {
		e.undo = append(e.undo, state{e.text, e.cursor})
		if len(e.undo) > maxUndo {
			e.undo = slices.Delete(e.undo, 0, 1)
		}
	}
	e.kind, e.column = kind, 0
}

// expand replaces folded text by itself.
func (e *Editor) expand(s string) string {
	if len(e.folds) == 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if f := e.fold(r); f != nil {
			b.WriteString(f.text)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fold is the text that a character stands for; nil if it is itself.
func (e *Editor) fold(r rune) *fold {
	if i := int(r) - folded; i >= 0 && i < len(e.folds) {
		return &e.folds[i]
	}
	return nil
}

// label shows a folded text. It is made once: the text can be long.
func label(number int, text string) string {
	if n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; n > 1 {
		return fmt.Sprintf("[paste %d: %d lines]", number, n)
	}
	return fmt.Sprintf("[paste %d: %d characters]", number, utf8.RuneCountInString(text))
}

// clean removes what can't be shown or would stand for a folded text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || r >= folded:
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\t", "    "))
}

// shown is how a character looks.
func (e *Editor) shown(g string) string {
	if r, _ := utf8.DecodeRuneInString(g); e.fold(r) != nil {
		return e.fold(r).label
	}
	return cell.Clean(g)
}

// graphemes calls f with each character, its first byte and its width, until f returns false.
func (e *Editor) graphemes(f func(g string, at, width int) bool) {
	it := displaywidth.StringGraphemes(e.text)
	at := 0
	for it.Next() {
		g := it.Value()
		if !f(g, at, cell.Width(e.shown(g))) {
			return
		}
		at += len(g)
	}
}
