package keys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// An answer of the terminal that arrives in pieces, with time between them, never becomes text.
func TestAnswerInPieces(t *testing.T) {
	const answer = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
	want := []keys.Event{keys.Report{Kind: keys.Color, Text: "rgb:ffff/ffff/ffff"}, keys.Key{Name: "a", Text: "a"}}
	for i := 2; i < len(answer); i++ {
		d := keys.Decoder{Expects: true}
		got := d.Feed([]byte(answer[:i]))
		got = append(got, d.Flush()...)
		got = append(got, d.Feed([]byte(answer[i:]+"a"))...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut after %q: %s", answer[:i], diff)
		}
	}
	// One that breaks off takes no key with it.
	d := keys.Decoder{}
	got := append(d.Feed([]byte("\x1b]11;rgb:ff")), d.Flush()...)
	got = append(got, d.Feed([]byte("\r"))...)
	if diff := cmp.Diff([]keys.Event{keys.Key{Name: "enter"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerbatim(t *testing.T) {
	d := keys.Decoder{Verbatim: true}
	got := append(d.Feed([]byte("a\x1b[999z\x1b[15~\x1b[I\x1b")), d.Flush()...)
	want := []keys.Event{
		keys.Sent{Key: keys.Key{Name: "a", Text: "a"}, Bytes: "a"}, keys.Sent{Bytes: "\x1b[999z"},
		keys.Sent{Key: keys.Key{Name: "f5"}, Bytes: "\x1b[15~"}, keys.Focus{In: true}, keys.Sent{Key: keys.Key{Name: "esc"}, Bytes: "\x1b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A position in the first row looks like F3 with Shift or Ctrl. It was taken for that key in a terminal of one row.
func TestPositionInTheFirstRow(t *testing.T) {
	asked := 0
	d := keys.Decoder{Asked: func() bool { return asked > 0 }}
	if diff := cmp.Diff([]keys.Event{keys.Key{Name: "f3", Mods: keys.Ctrl}}, d.Feed([]byte("\x1b[1;5R"))); diff != "" {
		t.Error(diff)
	}
	asked = 1
	want := []keys.Event{keys.Report{Kind: keys.Position, Args: []int{1, 5}}, keys.Report{Kind: keys.Position, Args: []int{1, 1}}}
	if diff := cmp.Diff(want, d.Feed([]byte("\x1b[1;5R\x1b[1;1R"))); diff != "" {
		t.Error(diff)
	}
}
