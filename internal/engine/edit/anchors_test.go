package edit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// An anchor is of one line of one text: it is found there, and in no text in which a line before it differs.
func TestAnchorNames(t *testing.T) {
	same := 0
	for _, text := range []string{
		"a\nb\nc\n", "a\nb", "\n\n\n", "x", strings.Repeat("}\n", 5000), strings.Repeat("x", 40<<10) + "\ny\n",
		strings.Repeat("0123456789abcdef", 1024) + "\n" + strings.Repeat("line\n", 4000) + "end",
	} {
		lines := linesOf(text)
		all := strings.SplitAfter(Anchored(text, text, 1), "\n")
		r := rand.New(rand.NewPCG(44, uint64(len(text))))
		var a anchors
		a.text = text
		for range 200 { // in no order
			n := 1 + r.IntN(len(lines))
			p, name := a.name(n)
			if want := name + "| " + lines[n-1]; text[p.Start:p.End] != lines[n-1] || all[n-1] != want {
				t.Fatalf("line %d of %.20q: %q, %q", n, text, text[p.Start:p.End], all[n-1])
			}
			other := anchors{text: "x" + text}
			if found, _ := other.find(name); found.Line != 0 {
				same++ // one of 46,656
			}
		}
		for _, n := range []int{0, -1, len(lines) + 1, math.MaxInt} {
			if _, name := a.name(n); name != "" {
				t.Errorf("line %d of %d: %s", n, len(lines), name)
			}
		}
	}
	if same > 3 {
		t.Errorf("%d anchors are in other texts", same)
	}
}

// A line keeps its anchors, of all texts since it was read, until it is changed: also among equal lines, and when lines
// before it are added and removed. An anchor made all below it stale.
func TestEarlierAnchors(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 2))
	type line struct {
		text    string
		anchors []string
	}
	accepted, stale := 0, 0
	for range 300 {
		var file []line
		for range 1 + r.IntN(12) {
			file = append(file, line{text: []string{"a\n", "b\n", "}\n", "\n"}[r.IntN(4)]})
		}
		var versions []Version
		var gone []line
		for range 6 {
			text := ""
			for _, l := range file {
				text += l.text
			}
			a := anchors{text: text}
			for i := range file {
				_, name := a.name(i + 1)
				file[i].anchors = append(file[i].anchors, name)
			}
			if len(file) == 0 {
				break
			}
			if len(gone) > 0 {
				old := gone[r.IntN(len(gone))]
				res, err := ApplyLines(text, versions, []LineEdit{{First: old.anchors[r.IntN(len(old.anchors))], New: "never"}})
				var no *StaleError
				if p := res.Matches; err == nil && text[p[0].Places[0].Start:p[0].Places[0].End] != old.text || err != nil && !errors.As(err, &no) {
					t.Fatalf("%q for a line that was %q: %+v, %v", text, old.text, p, err)
				} else if err != nil {
					stale++
				}
			}
			first := r.IntN(len(file))
			last := min(len(file)-1, first+r.IntN(3))
			name := func(i int) string { return file[i].anchors[r.IntN(len(file[i].anchors))] }
			e := LineEdit{First: name(first), Last: name(last)}
			var fresh []line
			for range r.IntN(4) {
				fresh = append(fresh, line{text: fmt.Sprintf("new %d\n", r.IntN(3))})
				e.New += fresh[len(fresh)-1].text
			}
			res, err := ApplyLines(text, versions, []LineEdit{e})
			var same *NoChangeError
			if errors.As(err, &same) {
				continue
			}
			gone = append(gone, file[first:last+1]...)
			file = slices.Concat(file[:first], fresh, file[last+1:])
			want := ""
			for _, l := range file {
				want += l.text
			}
			if got := replace(text, res.Spans); err != nil || got != want {
				t.Fatalf("%q: %+v: %q, want %q (%v)", text, e, got, want, err)
			}
			accepted++
			versions = append(versions, Version{text, res.Spans})
		}
	}
	if accepted < 1000 || stale < 100 {
		t.Errorf("%d edits, %d stale anchors", accepted, stale)
	}
}
