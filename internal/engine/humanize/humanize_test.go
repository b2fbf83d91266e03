package humanize

import (
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	names := strings.Fields("a b c d")
	for _, tt := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(999), "999"}, {Number(1000), "1,000"}, {Number(-1234567), "-1,234,567"},
		{Count(0, "file"), "0 files"}, {Count(1, "file"), "1 file"}, {Count(1200, "file"), "1,200 files"},
		{Count(1, "file or directory"), "1 file or directory"},
		{Count(343, "file or directory"), "343 files or directories"}, // it was "directorys"
		{Bytes(0), "0 bytes"}, {Bytes(1), "1 byte"}, {Bytes(1023), "1,023 bytes"}, {Bytes(1536), "1.5 KB"},
		{Bytes(10 << 20), "10 MB"}, {Bytes(1<<20 - 1), "1 MB"}, {Bytes(5 << 29), "2.5 GB"},
		{Seconds(-time.Second), "0 s"}, {Seconds(59 * time.Second), "59 s"}, {Seconds(125 * time.Second), "2 min 5 s"},
		{Seconds(2*time.Hour + 5*time.Minute), "2 h 5 min"},
		{Duration(12 * time.Millisecond), "12 ms"}, {Duration(2100 * time.Millisecond), "2.1 s"}, {Duration(45 * time.Second), "45 s"},
		{Wait(10 * time.Millisecond), "10 ms"}, {Wait(400 * time.Millisecond), "0.4 s"}, {Wait(30 * time.Second), "30 s"},
		{Wait(50 * time.Millisecond), "50 ms"}, {Wait(1500 * time.Millisecond), "1.5 s"}, {Wait(time.Second), "1 s"},
		{Wait(2 * time.Minute), "2 min"}, {Wait(125 * time.Second), "2 min 5 s"},
		{List(nil, 2), ""}, {List(names[:3], 2), "a, b, c"}, {List(names, 2), "a, b, 2 more"},
		{Shorten("äöü", 3), "äöü"}, {Shorten("äöü€", 2), "äö… (2 more characters)"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Cut("short", 5), "short"},
		{Cut("longer", 5), "longe…"},
		{Cut("für", 2), "f…"}, // half a character is no text
		{Line(" two\n\twords ", 9), "two words"},
		{Line("für alle", 5), "für …"},
		{Line("", 5), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if n := LongestRun("a`b``c`", '`'); n != 2 || LongestRun("a", '`') != 0 {
		t.Errorf("%d, want 2", n)
	}
}
