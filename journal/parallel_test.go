package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/model"
)

// A journal that several processors decode gives the same state, and is cut at the first line that can't be read.
func TestLinesDecodedInParts(t *testing.T) {
	t.Parallel()
	s := Sessions{Home: t.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		t.Fatal(err)
	}
	w := newTestWriter(f, s.Store())
	benchWrite(t, w, Opened{ID: testID})
	for n := range 1300 {
		benchTurn(t, w, n+1)
	}
	benchWrite(t, w, Called{Call: testCall("x")}, Started{ID: "x", Name: "edit", Args: []byte(`{"a":1}`)}, finished("x", "[7]"))
	f.Close()
	path := filepath.Join(s.Dir(testID), journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	view, state, err := s.View(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	want, err := Fold(view.Read(1), s.Store())
	if err != nil {
		t.Fatal(err)
	}
	if d := diffStates(state, want); d != "" {
		t.Fatal(d)
	}
	if c := state.Agent("").Calls; len(c) != 1 || string(c[0].Started.Args) != `{"a":1}` || c[0].Finished.Outcome.Result.Text() != "done" {
		t.Errorf("%+v", c)
	}
	places := soak.Count(4, 40)
	for n := range places {
		at := len(whole) * (n + 1) / (places + 1)
		at += bytes.IndexByte(whole[at:], '\n') + 1
		broken := bytes.Clone(whole)
		copy(broken[at:], "garbage")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		f, state, err := s.Open(testID)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		lines := int64(bytes.Count(whole[:at], []byte("\n")))
		if state.Seq != lines || f.Repair.Broken != lines+1 {
			t.Errorf("broken at %d: entry %d, line %d; want %d", at, state.Seq, f.Repair.Broken, lines)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(at) {
			t.Errorf("%d bytes are left, want %d", info.Size(), at)
		}
	}
}

// A line without an end is one broken line, however long it is.
func TestEndlessLine(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 1, Message{Message: model.Prompt("y")})
	f.Close()
	b, _ := os.ReadFile(f.Path())
	os.WriteFile(f.Path(), append(b, bytes.Repeat([]byte("x"), maxRead+5<<20)...), 0o600)
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if state.Seq != 6 || f.Repair.Broken != 7 {
		t.Errorf("entry %d, %+v", state.Seq, f.Repair)
	}
	if info, _ := os.Stat(f.Path()); info.Size() != int64(len(b)) {
		t.Errorf("%d bytes are left, want %d", info.Size(), len(b))
	}
}
