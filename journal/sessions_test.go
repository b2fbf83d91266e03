package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

// record makes a session with one prompt and some turns.
func record(t testing.TB, s Sessions, id, prompt string, turns int, more ...Data) *File {
	t.Helper()
	f, err := s.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	w := newTestWriter(f, s.Store())
	all := []Data{
		Opened{ID: id, CWD: "/work", Model: "m1", Mode: "default", System: strings.Repeat("system ", 3000)},
		Message{Kind: News, Message: model.Prompt("news")},
		Message{Message: model.Prompt(prompt)},
	}
	for i := range turns {
		all = append(all, Asked{Turn: i + 1, Model: "m2"}, Answer{Turn: i + 1, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Text("done")}}})
	}
	for _, d := range append(all, more...) {
		if _, err := w.Write("", d); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestList(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Fatalf("an empty directory: %v, %v", all, err)
	}
	record(t, s, id(1), "\n  Fix the  \"parser\"\nplease", 2, Closed{Turns: 2, Model: "m2"}).Close()
	open := record(t, s, id(2), "Run "+strings.Repeat("é\n", 40_000), 1)
	defer open.Close()
	record(t, s, id(3), strings.Repeat("long word ", 5000), 0).Close()
	record(t, s, id(4), "Search", 1, Finished{ID: "a", Outcome: Outcome{Result: tool.TextResult(strings.Repeat("x", 60_000))}}, Mode{Mode: "plan"}).Close()
	os.MkdirAll(s.Dir(id(5)), 0o700) // killed at once
	os.MkdirAll(filepath.Join(s.Home, sessionsName, "other"), 0o700)
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Info{}
	for _, i := range all {
		got[i.ID] = i
	}
	want := map[string]Info{
		id(1): {Title: `Fix the "parser"`, Turns: 2, Model: "m2", State: StateClosed},
		id(2): {Title: "Run é", Turns: 1, Model: "m2", State: StateOpen},
		id(3): {Title: strings.Repeat("long word ", 8)[:79] + "…", Turns: 0, Model: "m1", State: StateInterrupted},
		id(4): {Title: "Search", Turns: 1, Model: "m2", State: StateInterrupted},
	}
	if len(got) != len(want) {
		t.Errorf("%d sessions, want %d", len(got), len(want))
	}
	for id, w := range want {
		g := got[id]
		if g.Title != w.Title || g.Turns != w.Turns || g.Model != w.Model || g.State != w.State || g.CWD != "/work" || g.Bytes == 0 {
			t.Errorf("%+v\nwant %+v", g, w)
		}
		_, state, err := s.View(id)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Created.Equal(state.Created) || !g.Updated.Equal(state.Updated) || g.Title != state.Title {
			t.Errorf("%s: the list has %v, %v, %q, the state %v, %v, %q", id, g.Created, g.Updated, g.Title, state.Created, state.Updated, state.Title)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b Info) int { return b.Updated.Compare(a.Updated) }) {
		t.Error("the newest is not the first")
	}
}

func TestFind(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for _, n := range []int{0x12345678, 0x12349999, 0x7bcdef01} {
		record(t, s, id(n), "x", 0).Close()
	}
	for prefix, want := range map[string]string{
		"7bcd": id(0x7bcdef01), "7BCD": id(0x7bcdef01), id(0x12345678): id(0x12345678), "123456": id(0x12345678),
	} {
		if got, err := s.Find(prefix); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", prefix, got, err, want)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := s.Find("1234"); !errors.As(err, &ambiguous) || len(ambiguous.Matches) != 2 {
		t.Errorf("two matches: %v", err)
	}
	for prefix, near := range map[string][]string{"1234567f": {id(0x12345678), id(0x12349999)}, "ffff": nil, "": nil, "../x": nil, "bbcdef": {id(0x7bcdef01)}} {
		var unknown *UnknownError
		if _, err := s.Find(prefix); !errors.As(err, &unknown) || !slices.Equal(unknown.Close, near) {
			t.Errorf("%q: %#v, want similar IDs %v", prefix, err, near)
		}
	}
}

func TestBadIDs(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	for _, bad := range []string{"", "x", "../../etc/passwd-0000-0000-0000-00000", strings.ToUpper(id(0xabc)), id(1) + "0"} {
		if f, err := s.Create(bad); err == nil {
			f.Close()
			t.Errorf("session %q was created", bad)
		}
		if _, _, err := s.Open(bad); err == nil {
			t.Errorf("session %q was opened", bad)
		}
		if err := s.Delete(bad); err == nil {
			t.Errorf("session %q was deleted", bad)
		}
	}
}

func TestInUse(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 1)
	var inUse *InUseError
	_, _, err := s.Open(testID)
	if !errors.As(err, &inUse) || inUse.Owner.PID != os.Getpid() || inUse.Owner.Host == "" || time.Since(inUse.Owner.Start) > 24*time.Hour {
		t.Errorf("open: %v", err)
	}
	if err := s.Delete(testID); !errors.As(err, &inUse) {
		t.Errorf("delete: %v", err)
	}
	var exists *ExistsError
	if _, err := s.Create(testID); !errors.As(err, &exists) {
		t.Errorf("create: %v", err)
	}
	view, _, err := s.View(testID)
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Append(Entry{V: 1, Seq: 6, Type: TypeMode, Data: []byte(`{}`)}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("append to a view: %v", err)
	}
	view.Close()
	f.Close()
	again, state, err := s.Open(testID)
	if err != nil || state.Seq != 5 {
		t.Fatalf("open again: %d, %v", state.Seq, err)
	}
	again.Close()
	if err := s.Delete(testID); err != nil {
		t.Error(err)
	}
	var unknown *UnknownError
	if _, _, err := s.Open(testID); !errors.As(err, &unknown) {
		t.Errorf("open after delete: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Home, sessionsName)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestNewerVersion(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 1)
	f.Close()
	b, _ := os.ReadFile(f.Path())
	more := `{"v":2,"seq":6,"at":"2026-11-16T06:00:00Z","type":"mode","data":["another shape"]}` + "\n" +
		`{"v":2,"seq":7,"at":"2026-11-16T06:00:00Z","type":"unheard.of","data":{}}` + "\n"
	os.WriteFile(f.Path(), append(b, more...), 0o600)
	if _, _, err := s.Open(testID); !errors.Is(err, ErrNewer) {
		t.Errorf("open: %v", err)
	}
	_, state, err := s.View(testID)
	if err != nil || state.Seq != 7 || state.Newest != 2 {
		t.Errorf("view: entry %d, version %d, %v", state.Seq, state.Newest, err)
	}
	if n := countEntries(t, s); n != 7 {
		t.Errorf("%d entries, want 7", n)
	}
	if after, _ := os.ReadFile(f.Path()); len(after) != len(b)+len(more) {
		t.Error("the journal was changed")
	}
	if _, err := NewWriter(&Memory{}, nil, state).Write("", Mode{}); !errors.Is(err, ErrNewer) {
		t.Errorf("write: %v", err)
	}
	// A torn line of a newer version isn't cut either.
	os.WriteFile(f.Path(), append(b, more+"{"...), 0o600)
	if _, _, err := s.Open(testID); !errors.Is(err, ErrNewer) {
		t.Errorf("open: %v", err)
	}
	if after, _ := os.ReadFile(f.Path()); len(after) != len(b)+len(more)+1 {
		t.Error("the journal was changed")
	}
}

func TestForeignSession(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	s := Sessions{Home: t.TempDir()}
	record(t, s, testID, "x", 0).Close()
	if err := os.Chown(filepath.Join(s.Dir(testID), journalName), 65534, 65534); err != nil {
		t.Skip(err)
	}
	var foreign *ForeignError
	if _, _, err := s.Open(testID); !errors.As(err, &foreign) || foreign.UID != 65534 {
		t.Errorf("open: %v", err)
	}
	if err := s.Delete(testID); !errors.As(err, &foreign) {
		t.Errorf("delete: %v", err)
	}
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Errorf("list: %v, %v", all, err)
	}
	if done, err := s.Clean(Limits{MaxAge: 1}); len(done.Sessions) > 0 || err != nil {
		t.Errorf("clean: %v, %v", done, err)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 0)
	f.Close()
	if err := os.MkdirAll(s.Dir(id(1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(f.Path(), filepath.Join(s.Dir(id(1)), journalName)); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(s.Dir(testID), s.Dir(id(2))); err != nil {
		t.Skip(err)
	}
	for _, linked := range []string{id(1), id(2)} {
		if _, _, err := s.Open(linked); err == nil {
			t.Errorf("session %s is a link, and was opened", linked)
		}
	}
}

func TestFork(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	f := record(t, s, testID, "x", 3) // 9 entries
	defer f.Close()                   // a session in use can be forked
	for at, want := range map[int64]int64{0: 9, 1: 1, 5: 5, 9: 9} {
		fork := id(int(at) + 1)
		if err := s.Fork(testID, at, fork); err != nil {
			t.Fatal(err)
		}
		opened, state, err := s.Open(fork)
		if err != nil {
			t.Fatal(err)
		}
		if state.Seq != want || state.Opened.ID != fork || *state.Opened.Parent != (Parent{ID: testID, Seq: want}) || !strings.HasPrefix(state.Opened.System, "system") {
			t.Errorf("fork at %d: %d entries of %s, parent %v", at, state.Seq, state.Opened.ID, state.Opened.Parent)
		}
		if _, err := NewWriter(opened, s.Store(), state).Write("", Resumed{}); err != nil {
			t.Error(err)
		}
		opened.Close()
		if i, err := s.Info(fork); err != nil || *i.Parent != (Parent{ID: testID, Seq: want}) || i.Updated.Before(i.Created) {
			t.Errorf("%+v, %v", i, err)
		}
	}
	if err := s.Fork(testID, 10, id(0x99)); err == nil {
		t.Error("forked at an entry that doesn't exist")
	}
	if _, err := os.Stat(s.Dir(id(0x99))); err == nil {
		t.Error("the failed fork left a session")
	}
	var exists *ExistsError
	if err := s.Fork(testID, 0, id(1)); !errors.As(err, &exists) {
		t.Errorf("fork to a taken ID: %v", err)
	}
	if d := cmp.Diff(int64(9), f.Last()); d != "" {
		t.Error(d)
	}
}
