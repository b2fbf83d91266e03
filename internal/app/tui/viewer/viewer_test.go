package viewer_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/app/tui/viewer"
)

// list is a source of items: a head, and lines that can be folded.
type list struct {
	items []item
	asked int // how often lines were made
}

type item struct {
	head   string
	more   []string
	folded bool
}

func (l *list) Len() int { return len(l.items) }

func (l *list) Lines(i, _ int) []cell.Line {
	l.asked++
	out := []cell.Line{cell.Text(l.items[i].head)}
	if !l.items[i].folded {
		for _, m := range l.items[i].more {
			out = append(out, cell.Text(m))
		}
	}
	return out
}

func (l *list) Has(i int, text string) viewer.Match {
	it := l.items[i]
	switch {
	case strings.Contains(strings.ToLower(it.head), text):
		return viewer.Shown
	case !strings.Contains(strings.ToLower(strings.Join(it.more, "\n")), text):
		return viewer.Nowhere
	case it.folded:
		return viewer.Folded
	}
	return viewer.Shown
}

func (l *list) Fold(i int, dry bool) bool {
	if len(l.items[i].more) == 0 {
		return false
	}
	if !dry {
		l.items[i].folded = !l.items[i].folded
	}
	return true
}

func (l *list) Copy(i int) string { return l.items[i].head }
func (l *list) Prompt(i int) bool { return strings.HasPrefix(l.items[i].head, "›") }
func press(v *viewer.View, s string) viewer.Action {
	var d keys.Decoder
	var a viewer.Action
	for _, e := range append(d.Feed([]byte(s)), d.Flush()...) {
		a = v.Key(e.(keys.Key))
	}
	return a
}

func shown(v *viewer.View, columns, rows int) string {
	lines, _ := v.Frame(columns, rows)
	var out []string
	for _, l := range lines[:len(lines)-1] {
		out = append(out, l.String())
	}
	return strings.TrimRight(strings.Join(out, "|"), "|")
}

func conversation() *list {
	return &list{items: []item{
		{head: "› one"}, {head: "answer one", more: []string{"a", "b"}}, {head: "call", more: []string{"Hidden text", "x", "hidden again"}, folded: true},
		{head: "› two"}, {head: "漢字漢字漢字"}, {head: "end"},
	}}
}

func TestKeys(t *testing.T) {
	for _, test := range []struct{ name, keys, want string }{
		{"start", "", "› one|answer one|a|b"},
		{"down and up", "jjk", "answer one|a|b|call"},
		{"end", "G", "call|› two|漢字漢字漢字|end"},
		{"no further than the end", "Gjj", "call|› two|漢字漢字漢字|end"},
		{"page", " ", "a|b|call|› two"},
		{"start again", "Gg", "› one|answer one|a|b"},
		{"next prompt", "}", "call|› two|漢字漢字漢字|end"},
		{"previous prompt", "G{{", "› one|answer one|a|b"},
		{"search", "/TWO\r", "call|› two|漢字漢字漢字|end"},
		{"search in a folded part, and unfold", "/again\r\r", "x|hidden again|› two|漢字漢字漢字"},
		{"search backwards", "G/one\rN", "› one|answer one|a|b"},
		{"unfold the only one on the screen", "G\r", "call|Hidden text|x|hidden again"},
		{"select and fold", "\t\r", "› one|answer one|call|› two"},
		{"cancel a search", "/two\x1b", "› one|answer one|a|b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := viewer.New("t", conversation())
			shown(v, 40, 5)
			for _, k := range strings.Split(test.keys, "") {
				press(v, k)
			}
			got := shown(v, 40, 5)
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	v := viewer.New("t", conversation())
	shown(v, 40, 5)
	for _, want := range []string{"› two", "› two", "› one"} {
		press(v, map[string]string{"› two": "}", "› one": "{"}[want])
		if got := v.Source().Copy(v.Selected(false)); got != want {
			t.Errorf("selected %q, not %q", got, want)
		}
	}
	for _, k := range []string{"q", "\x1b", "\x03", "\x0f"} {
		if a := press(viewer.New("t", conversation()), k); a != viewer.Leave {
			t.Errorf("%q: %v", k, a)
		}
	}
}

// What is visible is made into lines, and nothing else: a long conversation opens at once.
func TestLazy(t *testing.T) {
	l := &list{}
	for i := range 100_000 {
		l.items = append(l.items, item{head: fmt.Sprint("item ", i)})
	}
	v := viewer.New("t", l)
	v.End()
	if got := shown(v, 80, 4); got != "item 99997|item 99998|item 99999" {
		t.Fatal(got)
	}
	for _, k := range strings.Split("gGkkb/item 50000\r", "") {
		press(v, k)
		shown(v, 80, 4)
	}
	if l.asked > 200 {
		t.Errorf("%d items were made into lines", l.asked)
	}
}

// Whatever happens, a frame has as many lines as the screen, none of them too wide.
func TestAnyKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := conversation()
		if rapid.Bool().Draw(t, "empty") {
			l.items = l.items[:1]
		}
		v := viewer.New("title", l)
		for range rapid.IntRange(1, 30).Draw(t, "keys") {
			columns, rows := rapid.IntRange(1, 30).Draw(t, "columns"), rapid.IntRange(1, 8).Draw(t, "rows")
			press(v, rapid.SampledFrom(strings.Split("j k g G f b { } / n N \r \t h i \x7f", " ")).Draw(t, "key"))
			lines, _ := v.Frame(columns, rows)
			if len(lines) != rows {
				t.Fatalf("%d lines in %d rows", len(lines), rows)
			}
			for _, line := range lines {
				if line.Width() > max(columns, 2) {
					t.Fatalf("%q is wider than %d", line, columns)
				}
			}
		}
	})
}
