package editor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/editor"
)

// keys are operations by a letter, for tests.
var keys = map[rune]func(*editor.Editor){
	'<': (*editor.Editor).Left, '>': (*editor.Editor).Right, '[': (*editor.Editor).WordLeft, ']': (*editor.Editor).WordRight,
	'^': (*editor.Editor).Home, '$': (*editor.Editor).End, 'X': (*editor.Editor).Backspace, 'D': (*editor.Editor).Delete,
	'W': (*editor.Editor).KillWord, 'N': (*editor.Editor).KillNextWord, 'K': (*editor.Editor).KillToEnd, 'U': (*editor.Editor).KillToStart, 'Y': (*editor.Editor).Yank,
	'Z': func(e *editor.Editor) { e.Undo() }, '\\': func(e *editor.Editor) { e.Insert("\n") },
	'↑': func(e *editor.Editor) { e.Up(10) }, '↓': func(e *editor.Editor) { e.Down(10) },
}

// run types letters and carries out operations.
func run(e *editor.Editor, script string) {
	for _, r := range script {
		if f := keys[r]; f != nil {
			f(e)
		} else {
			e.Insert(string(r))
		}
	}
}

func TestEditing(t *testing.T) {
	for script, want := range map[string]string{
		"abc":                `abc|`,
		"abc<<x":             `ax|bc`,
		"one two[x":          `one x|two`,
		"one two^]x":         `onex| two`,
		"one, two[[W":        `|one, two`,
		"one twoWW":          `|`,
		"one two^N":          `| two`,
		"one two<<<KY":       `one two|`,
		"one twoUYY":         `one twoone two|`,
		"ab\\cd^X":           `ab|cd`,
		"ab\\cd↑^K":          "|\ncd",
		"ab\\cd↑K":           "ab|cd",
		"abcX":               `ab|`,
		"abc<D":              `ab|`,
		"abc defZ":           `abc |`,
		"abc defZZZZ":        `|`,
		"ae\u0301X":          `a|`,
		"漢字<x":               `漢x|字`,
		"👩‍👩‍👧X":             `|`,
		"abcdefghijkl↑x":     `abcx|defghijkl`,
		"long line\\a↑$x":    "long linex|\na",
		"abcdef\\a\\ghi↑↑^↓": "abcdef\n|a\nghi",
	} {
		var e editor.Editor
		run(&e, script)
		if got := mark(&e); got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}

// mark is the text with the cursor.
func mark(e *editor.Editor) string {
	text := e.Text()
	e.Replace(0, "|")
	out := e.Text()
	e.Undo()
	if e.Text() != text {
		return "undo failed"
	}
	return out
}

func TestPaste(t *testing.T) {
	var e editor.Editor
	e.Insert("see ")
	e.Paste("short")
	long := strings.Repeat("line\n", 240)
	e.Paste(long)
	e.Insert("!")
	lines, row, column := e.Layout(80)
	if got := lines[0].String(); got != "see short[paste 1: 240 lines]!" || row != 0 || column != 30 {
		t.Errorf("shows %q, cursor at %d, %d", got, row, column)
	}
	if e.Text() != "see short"+long+"!" {
		t.Error("the pasted text is lost")
	}
	e.Backspace()
	e.Backspace()
	if e.Text() != "see short" {
		t.Errorf("text %q", e.Text())
	}
	e.Paste(strings.Repeat("x", 900))
	if lines, _, _ := e.Layout(80); lines[0].String() != "see short[paste 2: 900 characters]" {
		t.Errorf("shows %q", lines[0])
	}
}

func TestLayout(t *testing.T) {
	var e editor.Editor
	e.Insert("abcdefghij\n漢字漢字漢字\n")
	lines, row, column := e.Layout(10)
	var got []string
	for _, l := range lines {
		got = append(got, l.String())
	}
	if d := cmp.Diff([]string{"abcdefghi", "j", "漢字漢字", "漢字", ""}, got); d != "" || row != 4 || column != 0 {
		t.Errorf("%s, cursor at %d, %d", d, row, column)
	}
}

// Whatever is typed, rows fit, the cursor is inside, and undoing everything gives the empty text.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e editor.Editor
		run(&e, rapid.StringOf(rapid.SampledFrom([]rune("ab 漢é👍\u0301<>[]^$XDWNKUYZ\\↑↓"))).Draw(t, "script"))
		width := rapid.IntRange(4, 20).Draw(t, "width")
		lines, row, column := e.Layout(width)
		if row >= len(lines) || column > width {
			t.Fatalf("cursor at %d, %d of %d lines", row, column, len(lines))
		}
		for _, l := range lines {
			if l.Width() > width {
				t.Fatalf("%q has %d cells", l, l.Width())
			}
		}
		for e.Undo() {
		}
		if !e.Empty() {
			t.Fatalf("%q is left", e.Text())
		}
	})
}
