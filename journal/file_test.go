package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// newSession makes a session with random entries, closed without an end.
func newSession(t testing.TB, seed uint64, groups int) (Sessions, *Memory) {
	t.Helper()
	s := Sessions{Home: t.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(seed)
	g.long = seed%2 == 0
	g.fill(t, newTestWriter(f, s.Store()), groups)
	var m Memory
	for e, err := range f.Read(1) {
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return s, &m
}

func TestFoldIsTheSameFromFileMemoryAndTail(t *testing.T) {
	t.Parallel()
	serial.Test(t)
	for seed := range uint64(soak.Count(3, 40)) {
		s := Sessions{Home: t.TempDir()}
		f, err := s.Create(testID)
		if err != nil {
			t.Fatal(err)
		}
		var memory Memory
		g1, g2 := newGenerator(seed), newGenerator(seed)
		g1.long, g2.long = seed%3 == 0, seed%3 == 0
		w1, w2 := newTestWriter(f, s.Store()), newTestWriter(&memory, &MemoryBlobs{})
		g1.fill(t, w1, 60)
		g2.fill(t, w2, 60)
		fromFile, err := Fold(f.Read(1), s.Store())
		if err != nil {
			t.Fatal(err)
		}
		fromMemory, err := Fold(memory.Read(1), w2.blobs)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffStates(fromFile, fromMemory); d != "" {
			t.Fatalf("seed %d: file and memory (-file +memory):\n%s", seed, d)
		}
		w1.View(func(live *State) {
			if d := diffStates(*live, fromFile); d != "" {
				t.Fatalf("seed %d: the writer's state and the file's (-writer +file):\n%s", seed, d)
			}
		})
		f.Close()
		_, tail, err := s.View(testID)
		if err != nil {
			t.Fatal(err)
		}
		fromFile.past, tail.past = nil, nil // what no entry can return to
		if d := diffStates(tail, fromFile); d != "" {
			t.Fatalf("seed %d: the end of the file and all of it (-end +all):\n%s", seed, d)
		}
	}
}

// A file that is cut anywhere has all entries before the cut, and can be continued.
func TestTruncatedAnywhere(t *testing.T) {
	serial.Test(t)
	s, memory := newSession(t, 7, 25)
	path := filepath.Join(s.Dir(testID), journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(whole, '\n') + 1
	for cut := first; cut <= len(whole); cut += 1 + (len(whole)-first)/soak.Count(50, 1000) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		f, state, err := s.Open(testID)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		lines := int64(bytes.Count(whole[:cut], []byte("\n")))
		if cut < len(whole) && whole[cut] == '\n' {
			lines++ // only its newline is missing
		}
		if state.Seq != lines {
			t.Fatalf("cut at %d: the last entry is %d, want %d", cut, state.Seq, lines)
		}
		torn := cut - 1 - bytes.LastIndexByte(whole[:cut], '\n')
		if cut < len(whole) && whole[cut] == '\n' {
			torn = 0
		}
		if f.Repair.Torn != int64(torn) || f.Repair.Broken != 0 {
			t.Fatalf("cut at %d: reported %+v, want %d bytes torn", cut, f.Repair, torn)
		}
		var prefix Memory
		for e := range memory.Read(1) {
			if e.Seq <= lines {
				prefix.Append(e)
			}
		}
		want, err := Fold(prefix.Read(1), s.Store())
		if err != nil {
			t.Fatal(err)
		}
		want.past, state.past = nil, nil
		if d := diffStates(state, want); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
		if _, err := NewWriter(f, s.Store(), state).Write("", Mode{Mode: "yolo"}); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if n := countEntries(t, s); n != lines+1 {
			t.Fatalf("cut at %d: %d entries after one more, want %d", cut, n, lines+1)
		}
	}
}

func countEntries(t *testing.T, s Sessions) int64 {
	t.Helper()
	f, err := s.Entries(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var n int64
	for _, err := range f.Read(1) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestBrokenLineInTheMiddle(t *testing.T) {
	breaks := map[string]func(line string) string{
		"not JSON":  func(string) string { return "garbage" },
		"empty":     func(string) string { return "" },
		"zeros":     func(l string) string { return strings.Repeat("\x00", len(l)) },
		"half":      func(l string) string { return l[:len(l)/2] },
		"wrong seq": func(l string) string { return strings.Replace(l, `"seq":`, `"seq":9`, 1) },
		"another shape": func(l string) string {
			return l[:strings.Index(l, `"data":`)] + `"data":{"turn":"x","id":5,"kind":[],"to":"","cwd":0}}`
		},
	}
	for name, change := range breaks {
		t.Run(name, func(t *testing.T) {
			s := Sessions{Home: t.TempDir()}
			f, err := s.Create(testID)
			if err != nil {
				t.Fatal(err)
			}
			w := newTestWriter(f, s.Store())
			for i := range 10 {
				var d Data = Asked{Turn: i}
				if i == 0 {
					d = Opened{ID: testID}
				}
				if _, err := w.Write("", d); err != nil {
					t.Fatal(err)
				}
			}
			f.Close()
			b, _ := os.ReadFile(f.Path())
			lines := strings.SplitAfter(string(b), "\n")
			lines[5] = change(strings.TrimSuffix(lines[5], "\n")) + "\n"
			if err := os.WriteFile(f.Path(), []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			checkBroken(t, s, strings.Join(lines[5:], ""))
		})
	}
}

func checkBroken(t *testing.T, s Sessions, rest string) {
	t.Helper()
	read, err := s.Entries(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if state, err := Fold(read.Read(1), s.Store()); err == nil || state.Seq != 5 {
		t.Errorf("reading gives %d entries and %v, want 5 and an error", state.Seq, err)
	}
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if state.Seq != 5 || f.Repair.Broken != 6 {
		t.Errorf("last entry %d, broken %d; want 5, 6", state.Seq, f.Repair.Broken)
	}
	kept, err := os.ReadFile(f.Repair.Kept)
	if err != nil || string(kept) != rest {
		t.Errorf("kept %q (%v), want %q", kept, err, rest)
	}
	if filepath.Dir(f.Repair.Kept) != s.Dir(testID) {
		t.Errorf("%s is not beside the journal", f.Repair.Kept)
	}
	if err := f.Append(Entry{V: 1, Seq: 6, Type: TypeMode, Data: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
}

// If the last compaction can't be read, what it replaced counts.
func TestBrokenCompaction(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f, _ := s.Create(testID)
	w := newTestWriter(f, s.Store())
	for _, d := range []Data{Opened{ID: testID}, Mode{Mode: "plan"}, Compacted{}, Asked{Turn: 1}} {
		if _, err := w.Write("", d); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	b, _ := os.ReadFile(f.Path())
	b = bytes.Replace(b, []byte(`"messages":null`), []byte(`"messages":nu`), 1)
	os.WriteFile(f.Path(), b, 0o600)
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if state.Seq != 2 || state.Agent("").Mode != "plan" || f.Repair.Broken != 3 {
		t.Errorf("last entry %d, mode %q, broken %d", state.Seq, state.Agent("").Mode, f.Repair.Broken)
	}
}

func TestAppendConflicts(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, log := range map[string]Log{"file": f, "memory": &Memory{}} {
		for _, step := range []struct {
			seq  int64
			want error
		}{{2, ErrConflict}, {1, nil}, {1, ErrConflict}, {3, ErrConflict}, {2, nil}, {0, ErrConflict}} {
			err := log.Append(Entry{V: 1, Seq: step.seq, Type: TypeMode, Data: []byte(`{}`)})
			if !errors.Is(err, step.want) || (err == nil) != (step.want == nil) {
				t.Errorf("%s: append %d: %v, want %v", name, step.seq, err, step.want)
			}
		}
		if last, err := Last(log); last != 2 || err != nil {
			t.Errorf("%s: last %d, %v", name, last, err)
		}
	}
	if err := f.Append(Entry{V: 1, Seq: 3, Type: TypeMode, Data: []byte("{}\n{}")}); err == nil {
		t.Error("data of two lines was appended")
	}
	if err := f.Append(Entry{V: 1, Seq: 3, Type: TypeMode, Data: []byte(`"` + strings.Repeat("x", MaxLine) + `"`)}); err == nil {
		t.Error("an entry over the limit was appended")
	}
	if err := f.Append(Entry{V: 2, Seq: 3, Type: TypeMode, Data: []byte(`{}`)}); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer entry: %v", err)
	}
}

func TestSyncFromManyGoroutines(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		t.Fatal(err)
	}
	w := newTestWriter(f, s.Store())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := w.Write(fmt.Sprint("agent-", i), Mode{Mode: "plan"}); err != nil {
					t.Error(err)
				}
				if err := w.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if n := countEntries(t, s); n != 161 {
		t.Errorf("%d entries, want 161", n)
	}
	if _, err := w.Write("", Mode{}); !errors.Is(err, ErrClosed) {
		t.Errorf("write after the end: %v", err)
	}
}
