package builtin

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/tool"
)

// written is a change as a model writes it: whole lines, and those that replace them.
type written struct{ old, now string }

// blocks returns generated blocks, or those of a file that ADZE_TEST_BLOCKS names, in the form of Aider's
// tests/fixtures/chat-history-search-replace-gold.txt.
func blocks(t *testing.T) []written {
	var out []written
	if path := os.Getenv("ADZE_TEST_BLOCKS"); path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		form := regexp.MustCompile(`(?ms)^@@@ SEARCH: [^\n]* @+\n(.*?)^@{20}\n(.*?)^@@@ REPLACE @+\n`)
		for _, m := range form.FindAllStringSubmatch(string(content), -1) {
			if strings.TrimSpace(m[1]) != "" && m[1] != m[2] {
				out = append(out, written{m[1], m[2]})
			}
		}
		return out
	}
	r := rand.New(rand.NewPCG(44, 9))
	for range 40 {
		lines := sample(r)
		start := r.IntN(len(lines) - 40)
		old := slices.Clone(lines[start : start+3+r.IntN(35)])
		now := slices.Clone(old)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(now))
			now[at] = []string{fmt.Sprintf("\tchanged(%d)", r.IntN(900)), now[at] + "\n\tadded()", "}", now[at] + " // seen"}[r.IntN(4)]
		}
		out = append(out, written{strings.Join(old, "\n") + "\n", strings.Join(now, "\n") + "\n"})
	}
	return out
}

// variant is how the file differs from what the model knows of it.
type variant struct {
	name     string
	file     func(lines string) string // as text
	encode   func(text string) []byte
	atEnd    bool // the block ends the file, without a newline
	anchored bool // also for anchors, with which a model sees the file as it is
}

func variants() []variant {
	same := func(s string) string { return s }
	plain := func(s string) []byte { return []byte(s) }
	crlf := func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
	each := func(change func(line string) string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for line := range strings.Lines(s) {
				if strings.TrimSpace(line) != "" {
					line = change(strings.TrimSuffix(line, "\n")) + "\n"
				}
				b.WriteString(line)
			}
			return b.String()
		}
	}
	return []variant{
		{"as it is", same, plain, false, true},
		{"CRLF", same, crlf, false, true},
		{"UTF-16 with CRLF", same, func(s string) []byte { return utf16le(string(crlf(s))) }, false, true},
		{"no final newline", same, plain, true, true},
		{"blanks at line ends", each(func(line string) string { return line + "  " }), plain, false, false},
		{"deeper in the file", each(func(line string) string { return "    " + line }), plain, false, false},
	}
}

// ops returns a block as the lines of a diff.
func (b written) ops() []op {
	old, now := strings.SplitAfter(b.old, "\n"), strings.SplitAfter(b.now, "\n")
	old, now = old[:len(old)-1], now[:len(now)-1]
	var out []op
	add := func(mark byte, lines []string) {
		for _, line := range lines {
			out = append(out, op{mark, strings.TrimSuffix(line, "\n")})
		}
	}
	at := 0
	for _, d := range edit.ChangedLines(old, now) {
		add(' ', old[at:d.Start])
		add('-', old[d.Start:d.End])
		add('+', now[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	add(' ', old[at:])
	return out
}

// Blocks land at the first call in each dialect, and change nothing else.
func TestBlocks(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	all := blocks(t)
	for _, dialect := range []tool.Dialect{tool.ReplaceDialect, tool.PatchDialect, tool.AnchorDialect} {
		calls, landed, wrong := 0, 0, 0
		for i, b := range all {
			for k, v := range variants() {
				if dialect == tool.AnchorDialect && !v.anchored || i%5 != k%5 && os.Getenv("ADZE_TEST_BLOCKS") == "" {
					continue
				}
				if v.atEnd && (strings.HasSuffix(b.old, "\n\n") || b.now == "") ||
					!v.anchored && strings.Contains(v.file(b.old), b.old) { // a part of a deeper line is exact
					continue
				}
				before, after := "# the first line of a file\n", "# and its last one\n"
				if v.atEnd {
					after = ""
				}
				was, want := before+v.file(b.old)+after, before+v.file(b.now)+after
				if v.atEnd {
					was, want = strings.TrimSuffix(was, "\n"), strings.TrimSuffix(want, "\n")
				}
				path := filepath.Join(dir, fmt.Sprint(dialect, i, k))
				if err := os.WriteFile(path, v.encode(was), 0o644); err != nil {
					t.Fatal(err)
				}
				name, a := nearMiss{was: was, ops: b.ops(), skip: 1}.call(dialect, path)
				o := callIn(t, x, dialect, name, a)
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				calls++
				kept := append(v.encode(want), '\n') // where anchors remove the last lines, the one before keeps its end
				switch {
				case bytes.Equal(got, v.encode(want)) || v.atEnd && dialect == tool.AnchorDialect && bytes.Equal(got, kept) ||
					v.name == "blanks at line ends" && bytes.Equal(bare(got), bare(v.encode(want))):
					landed++
				case !bytes.Equal(got, v.encode(was)):
					wrong++
					t.Errorf("%s, %s, block %d: wrong bytes:\n%s", dialect, v.name, i, edit.Compare(want, string(got)).Unified("want", "got"))
				case testing.Verbose():
					t.Logf("%s, %s, block %d: %s", dialect, v.name, i, o.Result.Text())
				}
			}
		}
		t.Logf("%s: %d calls, %d land, %d wrong", dialect, calls, landed, wrong)
		if landed < calls*99/100 {
			t.Errorf("%s: only %d of %d land", dialect, landed, calls)
		}
	}
}

// bare removes blanks at the ends of lines: those of changed lines go.
func bare(content []byte) []byte {
	return regexp.MustCompile(`[ \t]+\n`).ReplaceAll(content, []byte("\n"))
}

// Of blocks in which the model remembers one line wrongly, and which fail, nine of ten land at the second call.
func TestBlockMisses(t *testing.T) {
	serial.Test(t)
	r := rand.New(rand.NewPCG(44, 11))
	kinds := misses()
	names := slices.Sorted(maps.Keys(kinds))
	var all []nearMiss
	for i, b := range blocks(t) {
		m := nearMiss{kind: names[i%len(names)], now: "# first\n" + b.old + "# last\n", want: "# first\n" + b.now + "# last\n", skip: 1}
		m.ops = b.ops()
		var context []int // lines beside which none is added: a message can't tell on which side that would be
		for k, o := range m.ops {
			if o.mark == ' ' && (k == 0 || m.ops[k-1].mark != '+') && (k+1 == len(m.ops) || m.ops[k+1].mark != '+') {
				context = append(context, k)
			}
		}
		if len(context) == 0 {
			continue
		}
		at := context[r.IntN(len(context))]
		var fresh []op
		for _, line := range kinds[m.kind](r, []string{m.ops[at].line}, 0) {
			fresh = append(fresh, op{' ', line})
		}
		m.ops = slices.Replace(m.ops, at, at+1, fresh...)
		if m.was = "# first\n" + m.side('+') + "# last\n"; m.was != m.now {
			all = append(all, m)
		}
	}
	secondCalls(t, all)
}
