package workspace

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func hashOf(s string) Hash { return sha256.Sum256([]byte(s)) }

func TestSeen(t *testing.T) {
	var s Seen
	v1, v2 := hashOf("1"), hashOf("2")
	check := func(step string, now Hash, want Reading) {
		t.Helper()
		if diff := cmp.Diff(want, s.Check("/f", now)); diff != "" {
			t.Errorf("%s:\n%s", step, diff)
		}
	}
	check("never read", v1, Reading{Knowledge: Unread})
	s.Record("/f", v1, 100, Range{1, 20}, Range{41, 60})
	check("two ranges", v1, Reading{Knowledge: Partly, Missing: []Range{{21, 40}, {61, 100}}, Lines: 100})
	check("changed", v2, Reading{Knowledge: Changed})
	s.Record("/f", v1, 100, Range{15, 45})
	check("ranges add up", v1, Reading{Knowledge: Partly, Missing: []Range{{61, 100}}, Lines: 100})
	s.Record("/f", v1, 100, Range{61, 200})
	check("until they cover the file", v1, Reading{Knowledge: Whole, Lines: 100})
	s.Record("/f", v2, 100, Range{1, 2})
	check("a new content forgets", v2, Reading{Knowledge: Partly, Missing: []Range{{3, 100}}, Lines: 100})
	check("and the old one is gone", v1, Reading{Knowledge: Changed})
	s.RecordWhole("/f", v1, 3)
	s.Record("/f", v1, 3, Range{1, 1})
	check("whole stays whole", v1, Reading{Knowledge: Whole, Lines: 3})
	s.Forget("/f")
	check("forgotten", v1, Reading{Knowledge: Unread})
	s.RecordOpaque("/f")
	check("not as text", v1, Reading{Knowledge: Opaque})
	s.Record("/f", v1, 3, Range{1, 2})
	check("then as text", v1, Reading{Knowledge: Partly, Missing: []Range{{3, 3}}, Lines: 3})
	s.RecordOpaque("/f")
	check("other content is not text", v2, Reading{Knowledge: Opaque})
	check("known content stays known", v1, Reading{Knowledge: Partly, Missing: []Range{{3, 3}}, Lines: 3})
	s.RecordWhole("/f", v1, 3)
	check("then changed", v2, Reading{Knowledge: Changed})
	s.Forget("/f")
	s.Record("/f", v1, 0)
	check("an empty file is read whole at once", v1, Reading{Knowledge: Whole})
}

// The text of a content is kept until the file is read again, and the oldest ones are dropped.
func TestSeenKeepsTexts(t *testing.T) {
	var s Seen
	v1, v2 := hashOf("1"), hashOf("2")
	was := func(path string) string { return s.Check(path, v2).Was }
	s.Keep("/f", v1, "never recorded")
	s.RecordWhole("/f", v1, 1)
	s.Keep("/f", v2, "another content")
	if was("/f") != "" {
		t.Errorf("kept %q", was("/f"))
	}
	s.Keep("/f", v1, "one")
	if was("/f") != "one" {
		t.Errorf("kept %q, want one", was("/f"))
	}
	s.RecordWhole("/f", v2, 1)
	if got := s.Check("/f", v1).Was; got != "" || s.kept != 0 {
		t.Errorf("kept %q, %d bytes", got, s.kept)
	}
	text := strings.Repeat("x", maxKept)
	for i := range 2 * maxKeptAll / maxKept {
		s.RecordWhole(fmt.Sprint(i), v1, 1)
		s.Keep(fmt.Sprint(i), v1, text)
	}
	s.RecordWhole("large", v1, 1)
	s.Keep("large", v1, text+"x")
	if s.kept != maxKeptAll || was("0") != "" || was("127") != text || was("large") != "" {
		t.Errorf("%d bytes are kept", s.kept)
	}
	s.Forget("127")
	if s.kept != maxKeptAll-maxKept {
		t.Errorf("%d bytes are kept", s.kept)
	}
}

func TestSeenEdits(t *testing.T) {
	var s Seen
	v1, v2, v3 := hashOf("1"), hashOf("2"), hashOf("3")
	s.Record("/f", v1, 100, Range{10, 20})
	s.RecordEdit("/f", v1, v2, 102, LineChange{At: 15, Removed: 1, Added: 3})
	want := Reading{Knowledge: Partly, Missing: []Range{{1, 9}, {23, 102}}, Lines: 102}
	if diff := cmp.Diff(want, s.Check("/f", v2)); diff != "" {
		t.Error(diff)
	}
	s.RecordWhole("/f", v2, 102)
	s.RecordEdit("/f", v2, v3, 101, LineChange{At: 5, Removed: 1})
	if got := s.Check("/f", v3); got.Knowledge != Whole {
		t.Errorf("an edit of a file read whole leaves %+v", got)
	}
}

func TestSeenAtFirstSight(t *testing.T) {
	s := Seen{AtFirstSight: true}
	if got := s.Check("/f", hashOf("1")); got.Knowledge != Whole {
		t.Errorf("first sight: %+v", got)
	}
	if got := s.Check("/f", hashOf("2")); got.Knowledge != Changed {
		t.Errorf("changed after first sight: %+v", got)
	}
}

func TestSeenIsBounded(t *testing.T) {
	s := Seen{Limit: 10}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() { s.RecordWhole(fmt.Sprint(i), hashOf("x"), 1) })
	}
	wg.Wait()
	known := 0
	for i := range 100 {
		if s.Check(fmt.Sprint(i), hashOf("x")).Knowledge == Whole {
			known++
		}
	}
	if known != 10 {
		t.Errorf("%d files are known, want 10", known)
	}
	var rs ranges
	for i := range maxRanges + 100 {
		rs = rs.add(Range{2 * i, 2 * i})
	}
	if len(rs) > maxRanges {
		t.Errorf("%d ranges are kept", len(rs))
	}
}

// Ranges agree with a plain set of lines, through edits too.
func TestRangesAgainstSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(0, 30).Draw(t, "lines")
		var rs ranges
		set := make([]bool, lines+1)
		for range rapid.IntRange(0, 8).Draw(t, "reads") {
			first := rapid.IntRange(1, 30).Draw(t, "first")
			last := rapid.IntRange(first, 31).Draw(t, "last")
			rs = rs.add(Range{first, min(last, lines)})
			for i := first; i <= min(last, lines); i++ {
				set[i] = true
			}
		}
		same(t, rs, set)
		at := rapid.IntRange(1, lines+1).Draw(t, "at")
		c := LineChange{At: at, Removed: rapid.IntRange(0, lines+1-at).Draw(t, "removed"), Added: rapid.IntRange(0, 5).Draw(t, "added")}
		after := append([]bool{}, set[:at]...)
		for range c.Added {
			after = append(after, true)
		}
		after = append(after, set[at+c.Removed:]...)
		same(t, rs.shift([]LineChange{c}), after)
	})
}

func same(t *rapid.T, rs ranges, set []bool) {
	var want []Range
	for i := 1; i < len(set); i++ {
		if set[i] {
			continue
		}
		if n := len(want); n > 0 && want[n-1].Last == i-1 {
			want[n-1].Last = i
		} else {
			want = append(want, Range{i, i})
		}
	}
	if diff := cmp.Diff(want, rs.missing(len(set)-1)); diff != "" {
		t.Fatalf("missing lines of %v:\n%s", rs, diff)
	}
}

func TestLines(t *testing.T) {
	if got := Lines([]Range{{1, 20}, {35, 35}}); got != "1-20, 35" {
		t.Errorf("%q", got)
	}
	var many []Range
	for i := range 30 {
		many = append(many, Range{2 * i, 2 * i})
	}
	if got := Lines(many); len(got) > 120 {
		t.Errorf("%q is not cut", got)
	}
}
