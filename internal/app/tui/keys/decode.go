package keys

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	pasteEnd = "\x1b[201~"
	// maxSequence is the longest sequence that a terminal sends, apart from pasted text.
	maxSequence = 4096
)

// MaxPaste is the longest text that can be pasted at once. What exceeds it is dropped, and the text ends with a note.
const MaxPaste = 64 << 20

// Decoder divides input into events. The zero value is ready to use.
type Decoder struct {
	// Verbatim is set to get [Sent] in place of keys.
	Verbatim bool
	// Expects is set while an answer of the terminal may be on its way.
	Expects bool
	// Asked reports whether the terminal was asked for a position and hasn't answered yet. A position in the first row
	// looks like F3 with Shift or Ctrl. nil: it never is.
	Asked func() bool

	rest     []byte          // an incomplete sequence or character
	paste    strings.Builder // being pasted
	pasting  bool
	dropped  bool // a part of the paste
	returned bool // the last byte of the paste was "\r", which ended a line
}

// Feed adds input and returns the events that it completes.
func (d *Decoder) Feed(in []byte) []Event {
	d.rest = append(d.rest, in...)
	var out []Event
	for len(d.rest) > 0 {
		if d.pasting {
			e, done := d.pasted()
			if !done {
				break
			}
			out = append(out, e)
			continue
		}
		e, n := decode(d.rest)
		if n == 0 {
			break
		}
		sent := string(d.rest[:n])
		d.rest = d.rest[n:]
		switch e := e.(type) {
		case nil:
			if d.Verbatim {
				out = append(out, Sent{Bytes: sent})
			}
		case Key:
			if n := firstRow(sent); n != nil && d.Asked != nil && d.Asked() {
				out = append(out, Report{Kind: Position, Args: n})
			} else {
				out = append(out, d.key(e, sent))
			}
		case pasteStart:
			d.pasting = true
		default:
			out = append(out, e)
		}
	}
	if len(d.rest) == 0 {
		d.rest = nil
	}
	return out
}

// firstRow is the numbers of a sequence that can be a position in the first row; nil: it can't.
func firstRow(sent string) []int {
	params, ok := strings.CutPrefix(sent, "\x1b[")
	params, isR := strings.CutSuffix(params, "R")
	if n := numbers(params); ok && isR && len(n) == 2 {
		return n
	}
	return nil
}

// key is the event of a key.
func (d *Decoder) key(k Key, sent string) Event {
	if d.Verbatim {
		return Sent{k, sent}
	}
	return k
}

// Pending reports whether there is input that may be the start of a longer sequence, such as a single Esc.
func (d *Decoder) Pending() bool { return len(d.rest) > 0 && !d.pasting }

// Flush takes what is pending as it is: nothing follows.
func (d *Decoder) Flush() []Event {
	if !d.Pending() {
		return nil
	}
	rest := d.rest
	d.rest = nil
	if rest[0] != 0x1b {
		return nil // the first bytes of a character
	}
	if len(rest) == 1 {
		return []Event{d.key(Key{Name: "esc"}, "\x1b")}
	}
	if isAnswer(rest) || d.Expects && len(rest) == 2 && (rest[1] == ']' || rest[1] == 'P') {
		d.rest = rest // the rest of it is on its way, and none of it is text
		return nil
	}
	out := []Event{}
	if rest[1] == '[' || rest[1] == 'O' || rest[1] == ']' {
		out = append(out, d.key(typed(rune(rest[1]), Alt), string(rest[:2])))
		rest = rest[2:]
	} else {
		out = append(out, d.key(Key{Name: "esc"}, "\x1b"))
		rest = rest[1:]
	}
	return append(out, d.Feed(rest)...)
}

// isAnswer reports whether a pending sequence is the start of an answer of the terminal that is a text, such as the
// color of its background: a user who presses Alt+] types no number within the same moment.
func isAnswer(rest []byte) bool {
	return len(rest) > 2 && rest[1] == ']' && rest[2] >= '0' && rest[2] <= '9' || len(rest) > 2 && rest[1] == 'P' &&
		rest[2] == '>'
}

type pasteStart struct{}

func (pasteStart) event() {}

// pasted moves input to the paste, up to its end.
func (d *Decoder) pasted() (Event, bool) {
	i := bytes.Index(d.rest, []byte(pasteEnd))
	n := i
	if i < 0 { // all but what may be the start of the end
		n = max(0, len(d.rest)-len(pasteEnd)+1)
	}
	d.keep(d.rest[:n])
	d.rest = d.rest[n:]
	if i < 0 {
		d.rest = append([]byte(nil), d.rest...) // don't keep what was read
		return nil, false
	}
	d.rest = d.rest[len(pasteEnd):]
	text := d.paste.String()
	if d.dropped {
		text = strings.ToValidUTF8(text, "") + "\n[the rest of the pasted text is missing: it was over 64 MB]"
	}
	d.paste, d.pasting, d.dropped, d.returned = strings.Builder{}, false, false, false
	return Paste{text}, true
}

// keep adds to the paste. Lines end with "\n", whatever the terminal sends.
func (d *Decoder) keep(piece []byte) {
	if room := MaxPaste - d.paste.Len(); len(piece) > room {
		piece, d.dropped = piece[:max(0, room)], true
	}
	for len(piece) > 0 {
		if d.returned = d.returned && piece[0] == '\n'; d.returned {
			piece, d.returned = piece[1:], false
			continue
		}
		i := bytes.IndexByte(piece, '\r')
		if i < 0 {
			d.paste.Write(piece)
			return
		}
		d.paste.Write(piece[:i])
		d.paste.WriteByte('\n')
		piece, d.returned = piece[i+1:], true
	}
}

// decode returns the first event of the input and its length: 0 if it is incomplete. The event is nil for what means
// nothing.
func decode(in []byte) (Event, int) {
	if in[0] == 0x1b {
		return decodeEscape(in)
	}
	if in[0] < ' ' || in[0] == 0x7f {
		return control(in[0]), 1
	}
	if !utf8.FullRune(in) {
		return nil, 0
	}
	r, n := utf8.DecodeRune(in)
	if r == utf8.RuneError && n == 1 {
		return nil, 1
	}
	return typed(r, 0), n
}

// control is the key of a control character.
func control(c byte) Key {
	switch c {
	case '\r':
		return Key{Name: "enter"}
	case '\n':
		return Key{Name: "j", Mods: Ctrl}
	case '\t':
		return Key{Name: "tab"}
	case 0x7f, '\b':
		return Key{Name: "backspace"}
	case 0:
		return Key{Name: "space", Mods: Ctrl}
	case 0x1b:
		return Key{Name: "esc"}
	}
	if c >= 0x1c {
		return Key{Name: string(rune(c + 0x40)), Mods: Ctrl}
	}
	return Key{Name: string(rune(c + 0x60)), Mods: Ctrl}
}

func decodeEscape(in []byte) (Event, int) {
	if len(in) == 1 {
		return nil, 0
	}
	switch in[1] {
	case '[':
		return decodeCSI(in)
	case 'O':
		if len(in) < 3 {
			return nil, 0
		}
		if name := letters[in[2]]; name != "" {
			return Key{Name: name}, 3
		}
		if in[2] == 'M' {
			return Key{Name: "enter"}, 3
		}
		return nil, 3
	case ']', 'P', '_', '^':
		return decodeString(in)
	case 0x1b:
		if len(in) > 2 && in[2] != 0x1b { // Alt with a key that is a sequence
			if e, n := decodeEscape(in[1:]); n > 0 {
				if k, ok := e.(Key); ok && n > 2 {
					k.Mods |= Alt
					return k, n + 1
				}
			} else {
				return nil, 0
			}
		}
		return Key{Name: "esc"}, 1
	}
	e, n := decode(in[1:])
	if n == 0 {
		return nil, 0
	}
	k, ok := e.(Key)
	if !ok {
		return nil, n + 1
	}
	k.Mods |= Alt
	k.Text = ""
	if len(k.Name) == 1 && in[1] >= 'A' && in[1] <= 'Z' {
		k.Mods |= Shift
	}
	return k, n + 1
}

// decodeString reads an answer that is a text: OSC or DCS.
func decodeString(in []byte) (Event, int) {
	for i := 2; i < len(in); i++ {
		switch {
		case in[i] == 7:
			return report(in[1], string(in[2:i])), i + 1
		case in[i] == 0x1b && i+1 < len(in) && in[i+1] == '\\':
			return report(in[1], string(in[2:i])), i + 2
		case in[i] == 0x1b && i+1 == len(in):
			return nil, 0
		case in[i] < ' ': // a key: the answer broke off
			return nil, i
		case i > maxSequence:
			return nil, i
		}
	}
	return nil, 0
}

func report(kind byte, text string) Event {
	switch {
	case kind == ']' && strings.HasPrefix(text, "11;"):
		return Report{Kind: Color, Text: text[3:]}
	case kind == 'P' && strings.HasPrefix(text, ">|"):
		return Report{Kind: Version, Text: text[2:]}
	}
	return nil
}

func decodeCSI(in []byte) (Event, int) {
	for i := 2; i < len(in); i++ {
		c := in[i]
		switch {
		case c >= 0x40 && c <= 0x7e:
			if i == 2 && c == '[' { // the Linux console: CSI [ A is F1
				if len(in) < 4 {
					return nil, 0
				}
				if in[3] >= 'A' && in[3] <= 'E' {
					return Key{Name: "f" + string(rune(in[3]-'A'+'1'))}, 4
				}
				return nil, 4
			}
			return sequence(string(in[2:i]), c), i + 1
		case c < ' ' || c > 0x7e || i > maxSequence: // not a sequence
			return nil, i
		}
	}
	return nil, 0
}

// sequence is the event of CSI params final.
func sequence(params string, final byte) Event {
	if strings.HasPrefix(params, "?") {
		return privateReport(params[1:], final)
	}
	if strings.HasPrefix(params, "<") || strings.HasPrefix(params, ">") {
		return nil
	}
	n := numbers(params)
	mods := Mods(0)
	if len(n) > 1 {
		mods = modsOf(n[1])
	}
	switch {
	case final == 'R' && len(n) == 2 && (n[0] != 1 || n[1] > 16):
		return Report{Kind: Position, Args: n}
	case final == 'I' && params == "":
		return Focus{true}
	case final == 'O' && params == "":
		return Focus{false}
	case final == 'Z':
		return Key{Name: "tab", Mods: mods | Shift}
	case final == 'u':
		return codedKey(params, n, mods)
	case final == '~' && n[0] == 200:
		return pasteStart{}
	case final == '~' && n[0] == 27 && len(n) == 3:
		if k, ok := coded(n[2], mods); ok {
			return k
		}
	case final == '~' && tildes[n[0]] != "":
		return Key{Name: tildes[n[0]], Mods: mods}
	case letters[final] != "":
		return Key{Name: letters[final], Mods: mods}
	}
	return nil
}

// codedKey is a key of the kitty protocol: CSI code ; mods u. Releases mean nothing.
func codedKey(params string, n []int, mods Mods) Event {
	if parts := strings.Split(params, ";"); len(parts) > 1 && strings.HasSuffix(parts[1], ":3") {
		return nil
	}
	if k, ok := coded(n[0], mods); ok {
		return k
	}
	return nil
}

func privateReport(params string, final byte) Event {
	switch final {
	case 'y':
		return Report{Kind: Mode, Args: numbers(strings.TrimSuffix(params, "$"))}
	case 'c':
		return Report{Kind: Attribute, Args: numbers(params)}
	case 'u':
		return Report{Kind: Kitty, Args: numbers(params)}
	}
	return nil
}
