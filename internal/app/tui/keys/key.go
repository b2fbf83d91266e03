// Package keys reads what a terminal sends: keys, pasted text, focus changes, and answers to requests.
//
//	var d keys.Decoder
//	for _, e := range d.Feed(bytes) { … }
//	if d.Pending() { … } // an Esc that may be the start of a longer sequence: call Flush if nothing follows
//
// It understands the sequences of xterm, the kitty keyboard protocol and modifyOtherKeys.
package keys

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Event is a [Key], [Paste], [Focus], [Report] or [Sent].
type Event interface{ event() }

// Mods are the modifier keys that are held.
type Mods uint8

// Modifier keys, in the bits that terminals use.
const (
	Shift Mods = 1 << iota
	Alt
	Ctrl
	Super
)

// Key is a key press. Text is what it types; it is empty for keys that type nothing.
type Key struct {
	Name string // "a", "enter", "f5": what the key is called, in lower case
	Mods Mods
	Text string
}

// String is the key's name with its modifiers, as settings write it: "ctrl+shift+left".
func (k Key) String() string {
	var b strings.Builder
	for _, m := range [...]struct {
		mod  Mods
		name string
	}{{Ctrl, "ctrl+"}, {Alt, "alt+"}, {Shift, "shift+"}, {Super, "super+"}} {
		if k.Mods&m.mod != 0 {
			b.WriteString(m.name)
		}
	}
	b.WriteString(k.Name)
	return b.String()
}

// Paste is text that was pasted at once.
type Paste struct{ Text string }

// Focus reports that the terminal's window got or lost the focus.
type Focus struct{ In bool }

// Report is an answer of the terminal to a request.
type Report struct {
	Kind ReportKind
	Args []int  // Position: row and column; Mode: number and state
	Text string // Version, Color
}

// Sent is what the terminal sent for a key: see [Decoder.Verbatim]. Key is the zero value if it means nothing.
type Sent struct {
	Key   Key
	Bytes string
}

// ReportKind says which request a report answers.
type ReportKind uint8

// Kinds of reports.
const (
	Position  ReportKind = iota + 1 // CSI 6 n
	Mode                            // CSI ? n $ p
	Version                         // CSI > q
	Color                           // OSC 11 ; ?
	Attribute                       // CSI c
	Kitty                           // CSI ? u
)

func (Key) event()    {}
func (Paste) event()  {}
func (Focus) event()  {}
func (Report) event() {}
func (Sent) event()   {}

// Parse reads a key as settings write it.
func Parse(s string) (Key, bool) {
	var k Key
	rest := strings.ToLower(strings.TrimSpace(s))
	for {
		mod, after, ok := strings.Cut(rest, "+")
		if !ok || after == "" {
			break
		}
		m, known := modNames[mod]
		if !known {
			return Key{}, false
		}
		k.Mods |= m
		rest = after
	}
	if rest == "" || utf8.RuneCountInString(rest) > 1 && !named[rest] {
		return Key{}, false
	}
	k.Name = rest
	return k, true
}

var modNames = map[string]Mods{
	"ctrl": Ctrl, "control": Ctrl, "alt": Alt, "option": Alt, "shift": Shift, "super": Super, "cmd": Super,
}

// named are the keys that have more than one letter.
var named = func() map[string]bool {
	m := map[string]bool{"enter": true, "tab": true, "esc": true, "space": true, "backspace": true}
	for _, n := range letters {
		m[n] = true
	}
	for _, n := range tildes {
		m[n] = true
	}
	return m
}()

// letters are the keys by the final letter of their sequence: CSI A, SS3 A.
var letters = map[byte]string{
	'A': "up", 'B': "down", 'C': "right", 'D': "left", 'H': "home", 'F': "end", 'E': "begin",
	'P': "f1", 'Q': "f2", 'R': "f3", 'S': "f4",
}

// tildes are the keys by the number of their sequence: CSI 3 ~.
var tildes = map[int]string{
	1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end",
	11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11",
	24: "f12",
}

// coded is the key of a character code, as the kitty protocol numbers them.
func coded(code int, mods Mods) (Key, bool) {
	switch code {
	case 9:
		return Key{Name: "tab", Mods: mods}, true
	case 13, 57414:
		return Key{Name: "enter", Mods: mods}, true
	case 27:
		return Key{Name: "esc", Mods: mods}, true
	case 127, 8:
		return Key{Name: "backspace", Mods: mods}, true
	case 32:
		return typed(' ', mods), true
	}
	if code < ' ' || code >= 0xe000 && code <= 0xf8ff || code > unicode.MaxRune { // private use: keys that type nothing
		return Key{}, false
	}
	return typed(rune(code), mods), true
}

// typed is the key of a character.
func typed(r rune, mods Mods) Key {
	k := Key{Name: strings.ToLower(string(r)), Mods: mods}
	if r == ' ' {
		k.Name = "space"
	}
	if mods&^Shift == 0 {
		k.Text = string(r)
		if mods == Shift && unicode.IsLetter(r) {
			k.Text = strings.ToUpper(string(r))
		}
		if unicode.IsUpper(r) || mods == Shift && !unicode.IsLetter(r) && r != ' ' {
			k.Mods &^= Shift // the text says it
		}
		if !unicode.IsLetter(r) && r != ' ' {
			k.Name = k.Text
		}
	}
	return k
}

// modsOf are the modifiers of a parameter: 1 is none.
func modsOf(n int) Mods {
	if n < 1 {
		return 0
	}
	return Mods(n-1) & (Shift | Alt | Ctrl | Super)
}

// numbers are the parameters of a sequence. Of "97:65" it is 97.
func numbers(s string) []int {
	var out []int
	for p := range strings.SplitSeq(s, ";") {
		p, _, _ = strings.Cut(p, ":")
		n, _ := strconv.Atoi(p)
		out = append(out, n)
	}
	return out
}
