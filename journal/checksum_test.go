package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
)

// A flipped bit of a journal is found: every entry that is read is the one that was written. 47 of 60 flips used to be read
// without a word.
func TestFlippedBit(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	s, entries := newSession(t, 3, 6)
	path := filepath.Join(s.Dir(testID), journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []Entry
	for e := range entries.Read(1) {
		want = append(want, e)
	}
	for at := 0; at < len(text); at += 29 {
		damaged := bytes.Clone(text)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := s.Entries(testID)
		if err != nil {
			t.Fatal(err)
		}
		n, found := 0, false
		for e, err := range f.Read(1) {
			var broken *BrokenError
			if errors.As(err, &broken) {
				found = true
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if n >= len(want) || e.Seq != want[n].Seq || e.By != want[n].By || e.Type != want[n].Type || !e.At.Equal(want[n].At) || !bytes.Equal(e.Data, want[n].Data) {
				t.Fatalf("byte %d: entry %d was read as %s %s", at, n+1, e.Type, e.Data)
			}
			n++
		}
		f.Close()
		// A flip in the name of the checksum hides it, and changes nothing else.
		if around := text[max(0, at-12):min(len(text), at+12)]; !found && n == len(want) && !bytes.Contains(around, []byte("sum")) {
			t.Errorf("byte %d (%q): the flipped bit was not found", at, around)
		}
	}
}

// Lines of earlier versions have no checksum, and are read as before.
func TestLineWithoutChecksum(t *testing.T) {
	line := []byte(`{"v":1,"seq":4,"at":"2026-11-15T10:00:00Z","type":"message","data":{"a":1,"sum":"nested"}}`)
	for _, read := range []func([]byte) (Entry, bool){parse, func(b []byte) (Entry, bool) { return parseLine(b, true) }} {
		if e, ok := read(line); !ok || e.Seq != 4 || string(e.Data) != `{"a":1,"sum":"nested"}` {
			t.Errorf("%v, %v", e, ok)
		}
	}
}
