package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func replace(text string, spans []Span) string { return Splice("", text, spans) }

func TestApply(t *testing.T) {
	text := "one\ntwo\nthree\n"
	got, err := Apply(text, []Edit{
		{Old: "two", New: "2\n2½"},
		{Old: "2½\nthree", New: "2½\n3"}, // reaches into what the first edit made
		{Old: "one", New: "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "1\n2\n2½\n3\n"; replace(text, got.Spans) != want {
		t.Errorf("got %q, want %q", replace(text, got.Spans), want)
	}
	want := []Span{{0, 3, "1"}, {4, 7, "2\n2½"}, {8, 13, "3"}}
	if diff := cmp.Diff(want, got.Spans); diff != "" {
		t.Error(diff)
	}
}

func TestApplyAllOrNothing(t *testing.T) {
	_, err := Apply("a b c", []Edit{{Old: "a", New: "x"}, {Old: "b", New: "y"}, {Old: "zzz", New: "q"}})
	var batch *BatchError
	var notFound *NotFoundError
	if !errors.As(err, &batch) || batch.Index != 2 || !errors.As(err, &notFound) {
		t.Fatalf("got %v", err)
	}
	if !strings.HasPrefix(err.Error(), "edits[2]: text to replace not found in the file") || !strings.HasSuffix(err.Error(), "\nNo edits were made.") {
		t.Errorf("got %q", err)
	}
	_, err = Apply("a", []Edit{{Old: "zzz", New: "q"}})
	if errors.As(err, &batch) {
		t.Errorf("a lone edit is not one of several: %v", err)
	}
	_, err = Apply("a b", []Edit{{Old: "a", New: "x"}, {Old: "x", New: "a"}})
	var noChange *NoChangeError
	if !errors.As(err, &noChange) {
		t.Errorf("edits that undo each other: %v", err)
	}
}

// The composed spans do at once what the edits do one after the other.
func TestApplyComposes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t, "text", 20)
		var edits []Edit
		now := text
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			letters := lettersOf(now, 0)
			if len(letters) == 0 {
				break
			}
			i := rapid.IntRange(0, len(letters)-1).Draw(t, "i")
			j := rapid.IntRange(i, len(letters)-1).Draw(t, "j")
			e := Edit{Old: now[letters[i].at:letters[j].end], New: rapid.StringOfN(rapid.RuneFrom([]rune("xy\nab")), 0, 4, -1).Draw(t, "new"), All: true}
			m, err := Find(now, e)
			if err != nil {
				continue
			}
			if want := strings.ReplaceAll(now, e.Old, e.New); m.Apply(now) != want {
				t.Fatalf("%q %+v: got %q, want %q", now, e, m.Apply(now), want)
			}
			now = m.Apply(now)
			edits = append(edits, e)
		}
		got, err := Apply(text, edits)
		var none *NoChangeError
		if len(edits) > 0 && errors.As(err, &none) != (now == text) {
			t.Fatalf("%q %+v: %v, but the result is %q", text, edits, err, now)
		}
		if err != nil {
			return
		}
		if replace(text, got.Spans) != now {
			t.Fatalf("%q %+v: got %q, want %q", text, edits, replace(text, got.Spans), now)
		}
		for i := 1; i < len(got.Spans); i++ {
			if got.Spans[i].Start < got.Spans[i-1].End {
				t.Fatalf("spans overlap: %+v", got.Spans)
			}
		}
	})
}
