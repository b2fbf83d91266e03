package text

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, raw, old, new, want string
	}{
		{"plain", "a\nb\nc\n", "b", "X", "a\nX\nc\n"},
		{"crlf stays", "a\r\nb\r\nc\r\n", "b\n", "X\nY\n", "a\r\nX\r\nY\r\nc\r\n"},
		{"crlf given", "a\nb\n", "b", "X\r\nY", "a\nX\nY\n"},
		{"mixed stays mixed", "a\r\nb\nc\r\n", "b\nc", "b\nC", "a\r\nb\nC\r\n"},
		{"new line in a crlf line", "a\nb\r\nc\n", "b", "b1\nb2", "a\nb1\r\nb2\r\nc\n"},
		{"new line in an lf line", "a\r\nb\nc\r\n", "b", "b1\nb2", "a\r\nb1\nb2\nc\r\n"},
		{"at the end without a line end", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"},
		{"mark", "\xef\xbb\xbfa\n", "a", "b", "\xef\xbb\xbfb\n"},
		{"trailing blanks", "a  \nb\t\n", "b", "B", "a  \nB\t\n"},
		{"lone cr", "a\rb\nc", "c", "d", "a\rb\nd"},
		{"unknown byte elsewhere", "éèà ok\nbad \xff\nold\n", "old", "new", "éèà ok\nbad \xff\nnew\n"},
		{"unknown byte inside stays", "éèà ok\nbad \xff here\n", "bad \ufffd here", "good \ufffd there", "éèà ok\ngood \xff there\n"},
		{"unknown byte removed", "éèà ok\nbad \xff here\n", " \ufffd here", "", "éèà ok\nbad\n"},
	} {
		d, err := Decode([]byte(c.raw))
		if err != nil {
			t.Fatal(c.name, err)
		}
		at := strings.Index(d.Text, c.old)
		if at < 0 {
			t.Fatalf("%s: %q is not in %q", c.name, c.old, d.Text)
		}
		next, err := d.Replace(Edit{Start: at, End: at + len(c.old), New: c.new})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := string(next.Bytes()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReplaceSeveral(t *testing.T) {
	d, err := Decode([]byte("one\r\ntwo\r\nthree\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	next, err := d.Replace(Edit{Start: 8, End: 13, New: "3"}, Edit{Start: 0, End: 3, New: "1\n1"})
	if err != nil || string(next.Bytes()) != "1\r\n1\r\ntwo\r\n3\r\n" {
		t.Errorf("%q, %v", next.Bytes(), err)
	}
	for _, bad := range [][]Edit{{{End: 3}, {Start: 2, End: 4}}, {{Start: -1}}, {{Start: 5, End: 4}}, {{End: 99}}} {
		if _, err := d.Replace(bad...); err == nil {
			t.Errorf("%v was applied", bad)
		}
	}
}

func TestUnencodable(t *testing.T) {
	for _, c := range []struct {
		enc  Encoding
		text string
		char rune
	}{
		{GBK, "中文\n第二行\n", '😀'},
		{Latin1, "café\n", '中'},
		{Windows1252, "“x”\n", 'ж'},
		{ShiftJIS, "日本語\n", '한'},
		{Big5, "中文測試\n", 'ひ' + 0x20000},
	} {
		d, err := DecodeAs(encodeAll(t, c.enc, c.text), c.enc)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Replace(Edit{Start: len(d.Text), End: len(d.Text), New: "ab\nxy" + string(c.char) + "\n"})
		var got *UnencodableError
		if !errors.As(err, &got) {
			t.Errorf("%s holds %q: %v", c.enc, c.char, err)
			continue
		}
		want := &UnencodableError{c.enc, c.char, Position{strings.Count(c.text, "\n") + 2, 3}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, raw, content, want string }{
		{"lf", "a\nb\n", "a\nc\n", "a\nc\n"},
		{"crlf stays", "a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n"},
		{"crlf in the content", "a\nb\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"some crlf in the content", "a\r\nb\r\n", "a\r\nc\n", "a\r\nc\n"},
		{"mixed: unchanged lines keep theirs", "a\r\nb\nc\r\nd\n", "a\nB\nc\nd\ne\n", "a\r\nB\nc\r\nd\ne\n"},
		{"mixed: insertion ends as the line before", "a\r\nb\nc\r\n", "a\nb\nx\nc\n", "a\r\nb\nx\nc\r\n"},
		{"mixed: insertion at the start ends as the line after", "a\r\nb\n", "x\na\nb\n", "x\r\na\r\nb\n"},
		{"mixed: appended lines end as the last", "a\nb\r\n", "a\nb\nc\nd\n", "a\nb\r\nc\r\nd\r\n"},
		{"no last line end", "a\r\nb\r\n", "a\nb", "a\r\nb"},
		{"mark", "\xef\xbb\xbfa\n", "b\n", "\xef\xbb\xbfb\n"},
		{"mark given again", "\xef\xbb\xbfa\n", "\ufeffb\n", "\xef\xbb\xbfb\n"},
		{"mark given to a file without", "a\n", "\ufeffb\n", "\xef\xbb\xbfb\n"},
		{"emptied", "a\r\nb\r\n", "", ""},
		{"from empty", "", "a\n", "a\n"},
		{"unknown byte in an unchanged line", "éèà\nbad \xff\nx\n", "éèà\nbad \ufffd\ny\n", "éèà\nbad \xff\ny\n"},
	} {
		d, err := Decode([]byte(c.raw))
		if err != nil {
			t.Fatal(c.name, err)
		}
		next, err := d.Rewrite(c.content)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := string(next.Bytes()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRewriteInEveryEncoding(t *testing.T) {
	for _, c := range corpus {
		d, err := DecodeAs(encodeAll(t, c.enc, c.text+"\r\nend\r\n"), c.enc)
		if err != nil {
			t.Fatal(err)
		}
		next, err := d.Rewrite(c.text + "\nnew\nend\n")
		if err != nil {
			t.Errorf("%s: %v", c.enc, err)
			continue
		}
		if want := encodeAll(t, c.enc, c.text+"\r\nnew\r\nend\r\n"); string(next.Bytes()) != string(want) {
			t.Errorf("%s: % x, want % x", c.enc, next.Bytes(), want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for raw, want := range map[string]string{
		"":                          "",
		"a\nb\n":                    "",
		"a\r\nb\r\n":                "CRLF line ends",
		"a\r\nb\n":                  "mixed line ends (LF and CRLF)",
		"a\rb\r":                    "CR line ends",
		"\xef\xbb\xbfa\r\n":         "byte order mark, CRLF line ends",
		"\xff\xfea\x00\r\x00\n\x00": "utf-16le, byte order mark, CRLF line ends",
	} {
		d, err := Decode([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Describe(); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func ExampleDocument_Replace() {
	doc, _ := Decode([]byte("hello\r\nworld\r\n"))
	next, _ := doc.Replace(Edit{Start: 6, End: 11, New: "you\nthere"})
	fmt.Printf("%q", next.Bytes())
	// Output: "hello\r\nyou\r\nthere\r\n"
}

// joinLines is quick; this is what it means.
func TestJoinLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[\r\nab]{0,20}`).Draw(t, "text")
		if got, want := joinLines(s), strings.ReplaceAll(s, "\r\n", "\n"); got != want {
			t.Fatalf("%q: got %q, want %q", s, got, want)
		}
	})
}
