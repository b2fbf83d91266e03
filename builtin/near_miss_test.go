package builtin

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	kind            string
	now, want       string // the file, and what it should become
	was             string // the file as the model knows it
	ops             []op
	first, wantLine string // for anchors: as the model writes it, and the line that it means
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
		m.wantLine = lines[at]
		m.first, _, _ = strings.Cut(strings.Split(edit.Anchored(m.was, m.was, 1), "\n")[start+len(before)], "|")
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
	return linesName, args{"file_path": path, "edits": []args{{"first": m.first, "new_text": strings.TrimSuffix(m.added(), "\n")}}}
}

func (m nearMiss) added() string {
	return m.ops[slices.IndexFunc(m.ops, func(o op) bool { return o.mark == '+' })].line
}

// repair corrects a change with what the message of its failure says, and nothing else.
func (m nearMiss) repair(message string) nearMiss {
	number := func(anchor string) int { n, _, _ := strings.Cut(anchor, ":"); i, _ := strconv.Atoi(n); return i }
	near, said := 1<<30, number(m.first) // of equal lines, the nearest one is meant
	for _, found := range regexp.MustCompile(`(?m)^(\d+:\w{3})\| `+regexp.QuoteMeta(m.wantLine)+`$`).FindAllStringSubmatch(message, -1) {
		if d := number(found[1]) - said; max(d, -d) < near {
			near, m.first = max(d, -d), found[1]
		}
	}
	_, diff, ok := strings.Cut(message, "only in the file:\n")
	if !ok {
		return m
	}
	diff, _, _ = strings.Cut(diff, "\nline ") // what follows only names the differences
	for _, hunk := range regexp.MustCompile(`(?m)^@@.*\n`).Split(strings.TrimSuffix(diff, "\n"), -1) {
		lines := strings.Split(hunk, "\n")
		i := 0
		for i < len(m.ops) && !m.fits(i, lines) {
			i++
		}
		fixed := slices.Clone(m.ops[:min(i, len(m.ops))])
		var removed []byte // what was to happen to lines that the file doesn't have
		for _, line := range lines {
			for line != "" && (line[0] != '+' || len(removed) == 0) && i < len(m.ops) && m.ops[i].mark == '+' {
				fixed, i = append(fixed, m.ops[i]), i+1
			}
			switch {
			case line == "" || i >= len(m.ops) && line[0] != '+':
			case line[0] == ' ':
				fixed, i, removed = append(fixed, m.ops[i]), i+1, nil
			case line[0] == '-':
				removed, i = append(removed, m.ops[i].mark), i+1
			case line[0] == '+' && len(removed) > 0:
				fixed, removed = append(fixed, op{removed[0], line[1:]}), removed[1:]
			case line[0] == '+':
				fixed = append(fixed, op{' ', line[1:]})
			}
		}
		m.ops = append(fixed, m.ops[min(i, len(m.ops)):]...)
	}
	return m
}

// fits reports whether the lines of a diff begin at a line of the old text.
func (m nearMiss) fits(at int, diff []string) bool {
	for _, line := range diff {
		if line == "" || line[0] != ' ' && line[0] != '-' {
			continue
		}
		for at < len(m.ops) && m.ops[at].mark == '+' {
			at++
		}
		if at >= len(m.ops) || m.ops[at].line != line[1:] {
			return false
		}
		at++
	}
	return true
}

// Of near misses that fail, the message of the failure is enough to repair nine of ten, and no call writes wrong bytes.
func TestNearMisses(t *testing.T) {
	const count = 300
	kinds := misses()
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	dir := t.TempDir()
	s, err := New(Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	for _, dialect := range []tool.Dialect{tool.ReplaceDialect, tool.PatchDialect, tool.AnchorDialect} {
		r := rand.New(rand.NewPCG(44, 6))
		first, second, wrong := 0, 0, 0
		failed := map[string]int{}
		for i := range count {
			name := names[i%len(names)]
			m := newNearMiss(r, name, kinds[name])
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
					t.Errorf("%s, %s: wrong bytes:\n%s", dialect, name, edit.Compare(m.want, string(got)).Unified("want", "got"))
				}
				return o.Result.Text(), landed
			}
			message, landed := try(m)
			if landed {
				first++
				continue
			}
			if len(message) > 2048 {
				t.Errorf("%s, %s: %d bytes", dialect, name, len(message))
			}
			fixed := m.repair(message)
			if again, landed := try(fixed); landed {
				second++
			} else if failed[name]++; testing.Verbose() {
				t.Logf("%s, %s:\n%s\n---\n%s%s", dialect, name, message, fixed.side('+'), again)
			}
		}
		t.Logf("%s: %d of %d at the first call, %d of the other %d at the second, %d wrong; not: %v", dialect, first, count,
			second, count-first, wrong, failed)
		if 10*second < 9*(count-first) {
			t.Errorf("%s: only %d of %d land at the second call", dialect, second, count-first)
		}
	}
}
