package builtin

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/tool"
)

// op is a line of an intended change, as in a diff: ' ' stays, '-' is removed, '+' is added.
type op struct {
	mark byte
	line string
}

// nearMiss is a change of which the model remembers the file wrongly.
type nearMiss struct {
	kind      string
	now, want string // the file, and what it should become
	was       string // the file as the model knows it
	ops       []op
	skip      int               // lines of the file before ops
	fixed     map[string]string // for anchors: those that a message names
}

// sample returns a program with tabs, quotes, typographic characters and lines that repeat.
func sample(r *rand.Rand) []string {
	var lines []string
	for f := range 30 {
		lines = append(lines, fmt.Sprintf("// step%d isn't part of “setup” – it runs %d times.", f, r.IntN(90)),
			fmt.Sprintf("func step%d(name string, limit int) error {", f))
		for range 3 + r.IntN(5) {
			n := r.IntN(900)
			lines = append(lines, []string{
				fmt.Sprintf("\tif limit > %d {\n\t\treturn fmt.Errorf(\"step %d: %%s is over\", name)\n\t}", n, f),
				fmt.Sprintf("\tlog.Printf(\"%%s has %d of 'items'\", name)", n), "",
				fmt.Sprintf("\tlimit = min(limit, %d) // see %d", n, r.IntN(9)), "\tcount++",
			}[r.IntN(5)])
		}
		lines = append(lines, "\treturn nil", "}", "")
	}
	return strings.Split(strings.Join(lines, "\n"), "\n")
}

// misses are the ways in which a line of context, or the lines around the changed one, are remembered wrongly.
func misses() map[string]func(r *rand.Rand, lines []string, at int) []string {
	line := func(change func(string) string) func(*rand.Rand, []string, int) []string {
		return func(_ *rand.Rand, lines []string, at int) []string {
			lines[at] = change(lines[at])
			return lines
		}
	}
	return map[string]func(r *rand.Rand, lines []string, at int) []string{
		"tabs as spaces":     line(func(s string) string { return strings.ReplaceAll(s, "\t", "    ") }),
		"another indent":     line(func(s string) string { return "\t" + s }),
		"two spaces":         line(func(s string) string { return strings.Replace(s, " ", "  ", 1) + " x" }),
		"quotes":             line(func(s string) string { return strings.NewReplacer(`"`, "'", "'", `"`, "“", `"`).Replace(s) + ";" }),
		"typographic quotes": line(func(s string) string { return strings.NewReplacer(`"`, "”", "'", "’").Replace(s) }),
		"an old version": func(r *rand.Rand, lines []string, at int) []string {
			lines[at] = regexp.MustCompile(`\d+|[a-z]{4,}`).ReplaceAllString(lines[at], fmt.Sprint("v", r.IntN(90)))
			return lines
		},
		"a line too many": func(r *rand.Rand, lines []string, at int) []string {
			return slices.Insert(lines, at, fmt.Sprintf("\textra(%d)", r.IntN(90)))
		},
		"a missing line": func(_ *rand.Rand, lines []string, at int) []string { return slices.Delete(lines, at, at+1) },
		"trailing":       line(func(s string) string { return s + "  " }),
		"a paraphrase":   line(func(s string) string { return strings.Replace(s, "(", "(ctx, ", 1) + " // note" }),
	}
}

// newNearMiss generates a change of one line, between lines of which another one is remembered wrongly.
func newNearMiss(r *rand.Rand, kind string, miss func(*rand.Rand, []string, int) []string) nearMiss {
	for {
		lines := sample(r)
		start, n := 2+r.IntN(len(lines)-12), 4+r.IntN(5)
		changed, wrong := 1+r.IntN(n-2), 0
		for wrong = r.IntN(n); wrong == changed; wrong = r.IntN(n) {
		}
		at := start + changed
		now, next := strings.Join(lines, "\n")+"\n", slices.Clone(lines)
		next[at] = fmt.Sprintf("\tchanged(%d)", r.IntN(900))
		before, after := slices.Clone(lines[start:at]), slices.Clone(lines[at+1:start+n])
		if wrong < changed {
			before = miss(r, before, wrong)
		} else {
			after = miss(r, after, wrong-changed-1)
		}
		m := nearMiss{kind: kind, now: now, want: strings.Join(next, "\n") + "\n"}
		for _, line := range before {
			m.ops = append(m.ops, op{' ', line})
		}
		m.ops = append(m.ops, op{'-', lines[at]}, op{'+', next[at]})
		for _, line := range after {
			m.ops = append(m.ops, op{' ', line})
		}
		m.was = strings.Join(slices.Concat(lines[:start], before, lines[at:at+1], after, lines[start+n:]), "\n") + "\n"
		m.skip = start
		if strings.Count(now, strings.Join(lines[start:start+n], "\n")+"\n") == 1 && m.was != m.now {
			return m
		}
	}
}

// side returns the old or the new text of a change.
func (m nearMiss) side(without byte) string {
	var b strings.Builder
	for _, o := range m.ops {
		if o.mark != without {
			b.WriteString(o.line + "\n")
		}
	}
	return b.String()
}

// call returns the tool and the arguments in a dialect.
func (m nearMiss) call(dialect tool.Dialect, path string) (string, args) {
	switch dialect {
	case tool.ReplaceDialect:
		return editName, args{"file_path": path, "old_string": m.side('+'), "new_string": m.side('-')}
	case tool.PatchDialect:
		patch := "*** Begin Patch\n*** Update File: " + path + "\n@@\n"
		for _, o := range m.ops {
			patch += string(o.mark) + o.line + "\n"
		}
		return patchName, args{"input": patch + "*** End Patch\n"}
	}
	var edits []args
	for _, e := range m.lines() {
		edits = append(edits, args{"first": e.anchors[0], "last": e.anchors[1], "new_text": e.added})
	}
	return linesName, args{"file_path": path, "edits": edits}
}

// number returns the line number of an anchor.
func number(anchor string) int {
	text, _, _ := strings.Cut(anchor, ":")
	n, _ := strconv.Atoi(text)
	return n
}

// lineEdit is a run of changed lines: the anchors of the first and the last old one, their texts, and the new lines.
type lineEdit struct {
	anchors, texts [2]string
	added          string
}

// lines returns the change as edits of lines. What only adds lines replaces the line before it too, or the one after it.
func (m nearMiss) lines() []lineEdit {
	was := strings.Split(edit.Anchored(m.was, m.was, 1), "\n")
	var out []lineEdit
	n := m.skip // lines of the file before ops[i]
	for i := 0; i < len(m.ops); {
		end := i
		for end < len(m.ops) && m.ops[end].mark != ' ' {
			end++
		}
		if run := m.ops[i:end]; end > i {
			from := n
			if !slices.ContainsFunc(run, func(o op) bool { return o.mark == '-' }) {
				if i > 0 {
					run, from = m.ops[i-1:end], n-1
				} else {
					run, end = m.ops[i:end+1], end+1
				}
			}
			var e lineEdit
			for _, o := range run {
				if o.mark != '-' {
					e.added += o.line + "\n"
				}
				if o.mark == '+' {
					continue
				}
				anchor, _, _ := strings.Cut(was[from], "|")
				if from++; e.anchors[0] == "" {
					e.anchors[0], e.texts[0] = anchor, o.line
				}
				e.anchors[1], e.texts[1] = anchor, o.line
			}
			n = from
			out = append(out, e)
		}
		if i = end; i < len(m.ops) && m.ops[i].mark == ' ' {
			n, i = n+1, i+1
		}
	}
	for i := range out {
		for k, anchor := range out[i].anchors {
			out[i].anchors[k] = cmp.Or(m.fixed[anchor], anchor)
		}
	}
	return out
}

// repair corrects a change with what the message of its failure says, and nothing else. With shown it has 60 lines.
func (m nearMiss) repair(message string) nearMiss {
	m.fixed = m.shown(message)
	diff := regexp.MustCompile(`(?s)only in the file:\n(.*?)(?:\nline |$)`).FindStringSubmatch(message)
	if diff == nil {
		return m
	}
	for _, text := range regexp.MustCompile(`(?m)^@@.*\n`).Split(diff[1], -1) {
		var hunk []op
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) {
			hunk = append(hunk, op{line[0], line[1:]})
		}
		before, _, _ := strings.Cut("\n"+m.side('+'), "\n"+nearMiss{ops: hunk}.side('+'))
		i, removed := 0, []byte(nil) // what was to happen to lines that the file doesn't have
		for i < len(m.ops) && len(nearMiss{ops: m.ops[:i]}.side('+')) < len(before) {
			i++
		}
		fixed := slices.Clone(m.ops[:i])
		for _, o := range hunk {
			for (o.mark != '+' || len(removed) == 0) && i < len(m.ops) && m.ops[i].mark == '+' {
				fixed, i = append(fixed, m.ops[i]), i+1
			}
			switch {
			case o.mark == '+' && len(removed) > 0:
				fixed, removed = append(fixed, op{removed[0], o.line}), removed[1:]
			case o.mark == '+':
				fixed = append(fixed, op{' ', o.line})
			case i < len(m.ops) && o.mark == '-':
				removed, i = append(removed, m.ops[i].mark), i+1
			case i < len(m.ops):
				fixed, removed, i = append(fixed, m.ops[i]), nil, i+1
			}
		}
		m.ops = append(fixed, m.ops[i:]...)
	}
	return m
}

// shown returns the anchors that a message shows for stale ones: of lines between the same lines, and of equals the nearest.
func (m nearMiss) shown(message string) map[string]string {
	out, was := map[string]string{}, strings.Split(m.was, "\n")
	now := regexp.MustCompile(`(?m)^(\d+:\w{3})\| (.*)$`).FindAllStringSubmatch(message, -1)
	for _, e := range m.lines() {
		for i, anchor := range e.anchors {
			best, said := 0, number(anchor)
			for k, line := range now {
				if line[2] != e.texts[i] || !strings.Contains(message, strconv.Quote(anchor)) {
					continue // another line, or an anchor that isn't stale
				}
				score := 100_000 - max(said-number(line[1]), number(line[1])-said)
				for _, step := range []int{-1, 1} {
					for d := step; k+d >= 0 && k+d < len(now) && said-1+d >= 0 && said-1+d < len(was) && now[k+d][2] == was[said-1+d]; d += step {
						score += 1000
					}
				}
				if score > best {
					best, out[anchor] = score, line[1]
				}
			}
		}
	}
	return out
}

// Of near misses that fail, the message of the failure is enough to repair nine of ten, and no call writes wrong bytes.
func TestNearMisses(t *testing.T) {
	serial.Test(t)
	kinds := misses()
	names := slices.Sorted(maps.Keys(kinds))
	r := rand.New(rand.NewPCG(44, 6))
	var all []nearMiss
	for i := range 300 {
		all = append(all, newNearMiss(r, names[i%len(names)], kinds[names[i%len(names)]]))
	}
	secondCalls(t, all)
}

// secondCalls tries near misses in each dialect, and those that fail again as their messages say.
func secondCalls(t *testing.T, all []nearMiss) {
	dir := t.TempDir()
	s, err := New(Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	for _, dialect := range []tool.Dialect{tool.ReplaceDialect, tool.PatchDialect, tool.AnchorDialect} {
		first, second, wrong := 0, 0, 0
		failed := map[string]int{}
		for i, m := range all {
			path := filepath.Join(dir, fmt.Sprintf("%s%d.go", dialect, i))
			if err := os.WriteFile(path, []byte(m.now), 0o644); err != nil {
				t.Fatal(err)
			}
			try := func(m nearMiss) (string, bool) {
				tool, a := m.call(dialect, path)
				o := callIn(t, x, dialect, tool, a)
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				landed := string(got) == m.want
				if !landed && string(got) != m.now {
					wrong++
					t.Errorf("%s, %s: wrong bytes:\n%s", dialect, m.kind, edit.Compare(m.want, string(got)).Unified("want", "got"))
				}
				return o.Result.Text(), landed
			}
			message, landed := try(m)
			if landed {
				first++
				continue
			}
			if len(message) > 2048 {
				t.Errorf("%s, %s: %d bytes", dialect, m.kind, len(message))
			}
			fixed := m.repair(message)
			if again, landed := try(fixed); landed {
				second++
			} else if failed[m.kind]++; testing.Verbose() {
				t.Logf("%s, %s:\n%s\n---\n%s%s", dialect, m.kind, message, fixed.side('+'), again)
			}
		}
		t.Logf("%s: %d of %d at the first call, %d of the other %d at the second, %d wrong; not: %v", dialect, first, len(all),
			second, len(all)-first, wrong, failed)
		if 10*second < 9*(len(all)-first) {
			t.Errorf("%s: only %d of %d land at the second call", dialect, second, len(all)-first)
		}
	}
}
