package keys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// show is an event in words.
func show(e keys.Event) string {
	switch e := e.(type) {
	case keys.Key:
		if e.Text != "" && e.Text != e.Name {
			return fmt.Sprintf("%v=%s", e, e.Text)
		}
		return e.String()
	case keys.Paste:
		return fmt.Sprintf("paste %q", e.Text)
	case keys.Focus:
		return fmt.Sprintf("focus %v", e.In)
	case keys.Report:
		return fmt.Sprintf("report %d %v %s", e.Kind, e.Args, e.Text)
	}
	return "?"
}

func feed(d *keys.Decoder, in string) []string {
	var out []string
	for _, e := range append(d.Feed([]byte(in)), d.Flush()...) {
		out = append(out, show(e))
	}
	return out
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		"a":                            "a",
		"A":                            "a=A",
		"é漢":                           "é, 漢",
		" ":                            "space= ",
		"\r":                           "enter",
		"\n":                           "ctrl+j",
		"\t":                           "tab",
		"\x7f":                         "backspace",
		"\x03":                         "ctrl+c",
		"\x00":                         "ctrl+space",
		"\x1b":                         "esc",
		"\x1b\x1b":                     "esc, esc",
		"\x1b\r":                       "alt+enter",
		"\x1bu":                        "alt+u",
		"\x1bU":                        "alt+shift+u",
		"\x1b[A":                       "up",
		"\x1bOA":                       "up",
		"\x1b[1;5C":                    "ctrl+right",
		"\x1b\x1b[D":                   "alt+left",
		"\x1b[Z":                       "shift+tab",
		"\x1b[3~":                      "delete",
		"\x1b[5;2~":                    "shift+pageup",
		"\x1b[15~":                     "f5",
		"\x1b[[A":                      "f1",
		"\x1bOP":                       "f1",
		"\x1b[13;2u":                   "shift+enter",
		"\x1b[27;2;13~":                "shift+enter",
		"\x1b[13;5u":                   "ctrl+enter",
		"\x1b[97;5u":                   "ctrl+a",
		"\x1b[97:65;2u":                "shift+a=A",
		"\x1b[27u":                     "esc",
		"\x1b[97;1:3u":                 "",
		"\x1b[57441u":                  "",
		"\x1b[200~one\r\ntwo\x1b[201~": `paste "one\ntwo"`,
		"\x1b[200~\x1b[2J\x1b[201~x":   `paste "\x1b[2J", x`,
		"\x1b[I\x1b[O":                 "focus true, focus false",
		"\x1b[24;80R":                  "report 1 [24 80] ",
		"\x1b[1;2R":                    "shift+f3",
		"\x1b[?2026;2$y":               "report 2 [2026 2] ",
		"\x1bP>|tmux 3.3a\x1b\\":       "report 3 [] tmux 3.3a",
		"\x1b]11;rgb:0/0/0\x07":        "report 4 [] rgb:0/0/0",
		"\x1b[?62;22c":                 "report 5 [62 22] ",
		"\x1b[<0;3;4M":                 "",
		"\xff":                         "",
		"\x1b[":                        "alt+[",
		"\x1b[12":                      "alt+[, 1, 2",
	} {
		var d keys.Decoder
		if got := strings.Join(feed(&d, in), ", "); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"alt+u": "alt+u", "Ctrl+Shift+Left": "ctrl+shift+left", "enter": "enter", "ctrl++": "ctrl++", "?": "?", "f12": "f12",
		"hyper+x": "", "ctrl+": "", "": "", "entr": "",
	} {
		k, ok := keys.Parse(in)
		if ok != (want != "") || ok && k.String() != want {
			t.Errorf("Parse(%q) = %v, %v", in, k, ok)
		}
	}
}

// Input that arrives in pieces means the same as in one piece.
func TestPieces(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "é", "\x1b[A", "\x1b[1;5C", "\x1b[200~a\rb\x1b[201~", "\x1b[24;80R", "\x1b]11;rgb:0/0/0\x1b\\", "\x1bx", "\r"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(piece).Draw(t, "input"), "")
		var whole, parts keys.Decoder
		var got []string
		for rest := in; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			for _, e := range parts.Feed([]byte(rest[:n])) {
				got = append(got, show(e))
			}
			rest = rest[n:]
		}
		if d := cmp.Diff(feed(&whole, in), got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x1b[200~x\x1b[201~\x1b[1;5A\x1b]11;x\x07"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var d keys.Decoder
		d.Feed(in)
		d.Flush()
	})
}

// A paste of any size takes memory for its text only, and is cut at the limit.
func TestLongPaste(t *testing.T) {
	var d keys.Decoder
	d.Feed([]byte("\x1b[200~"))
	block := []byte(strings.Repeat("x", 1<<20))
	for range keys.MaxPaste>>20 + 2 {
		d.Feed(block)
	}
	events := d.Feed([]byte("\x1b[201~y"))
	p, ok := events[0].(keys.Paste)
	if !ok || len(events) != 2 || len(p.Text) > keys.MaxPaste+100 || !strings.HasSuffix(p.Text, "over 64 MB]") {
		t.Errorf("%d events, text of %d bytes", len(events), len(p.Text))
	}
}
