package permission_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// listener holds what was read in a line against what bash made of it.
type listener struct {
	box    *box
	calm   map[string]string // the state of a shell that nobody has changed, by language
	counts struct{ lines, unread, calls, literal, proved, late int }
}

func newListener(t testing.TB, b *box) *listener {
	l := &listener{box: b, calm: map[string]string{}}
	for _, lang := range languages {
		r := l.record(t, "ls", lang)
		if len(r.Calls) != 1 || !slices.Equal(r.Calls[0].Argv, []string{"ls"}) || r.Calls[0].Dir != root {
			t.Fatalf("the recorder does not record: %+v", r)
		}
		l.calm[lang] = calmed(r.Calls[0].State)
	}
	return l
}

var languages = []string{"C", "C.UTF-8"}

func (l *listener) record(t testing.TB, line, lang string) (r recording) {
	l.box.ask(t, take{[]byte(line), lang}, &r)
	return r
}

// compare says what bash did that was not read; "": nothing.
func (l *listener) compare(t testing.TB, line, lang string) string {
	l.counts.lines++
	script, err := shell.Read(line, bash.Options{Dir: root, Home: "/home/me", Deadline: time.Now().Add(time.Minute)})
	if err != nil {
		l.counts.unread++
		return ""
	}
	r := l.record(t, line, lang)
	if r.Late {
		l.counts.late++
	}
	proved := len(script.Notes) == 0
	for _, c := range script.Commands {
		proved = proved && (c.MayRun || prove.Prove(c).Why == "")
	}
	if proved {
		l.counts.proved++
	}
	for _, c := range r.Calls {
		l.counts.calls++
		if c.Dir = path.Clean(c.Dir); c.Script {
			c.Argv[0] = path.Base(c.Argv[0])
		}
		for i, a := range c.Argv {
			if strings.HasPrefix(a, "/dev/fd/6") { // <(…), of which the proof makes a file that is always there
				c.Argv[i] = "/dev/null"
			}
		}
		by := explanation(script, c)
		switch {
		case c.Argv[0] == "" && strings.Contains(strings.ReplaceAll(line, "\\\n", ""), "IFS=("):
			continue // then the recorder loses the words
		case by == nil && !proved && runsUnseen(script, line):
			continue
		case by == nil:
			return fmt.Sprintf("bash ran %q in %s", c.Argv, c.Dir)
		case proved && !c.Script && calmed(c.State) != l.calm[lang]:
			return fmt.Sprintf("bash ran %q in the state %q, which is not %q", c.Argv, calmed(c.State), l.calm[lang])
		case proved && !vague(script) && !strings.Contains(strings.Join(c.Argv, ""), "\r"):
			if why := harmful(script, c); why != "" {
				return fmt.Sprintf("bash ran %q in %s, but %s", c.Argv, c.Dir, why)
			}
		}
		if by != nil && match.IsLiteral(by) {
			l.counts.literal++
		}
	}
	for _, p := range r.Wrote {
		if !opens(script, p, true) && (proved || !runsUnseen(script, line)) && !finds(script) {
			return "bash opened " + p + " for writing"
		}
	}
	for _, p := range r.Opened {
		if !opens(script, p, false) && !readsFiles(script) && (proved || !runsUnseen(script, line)) {
			return "bash opened " + p
		}
	}
	return ""
}

// explanation is the command of a script that a call comes from. One that may or may not be run explains nothing.
func explanation(script *bash.Script, c call) *bash.Command {
	for _, cmd := range script.Commands {
		if cmd.By != nil && len(cmd.Words) > 0 && cmd.Words[0].Kind == bash.Unknown && !cmd.MayRun {
			return cmd // a text that is not known
		}
		if cmd.MayRun || cmd.Dirs != nil && !slices.ContainsFunc(cmd.Dirs, func(d string) bool { return physical(d) == c.Dir }) {
			continue
		}
		if len(cmd.Words) > 0 && !cmd.Filled() && fits(cmd.Words, c, cmd.AddsArgs) {
			return cmd
		}
	}
	return nil
}

// calmed is a state without what only ends a shell earlier or tells more.
func calmed(state string) string {
	for _, option := range []string{"errexit", "nounset", "pipefail", "xtrace"} {
		state = strings.ReplaceAll(state, ":"+option, "")
	}
	return state
}

// runsUnseen reports whether a line runs what stands in a file, calculates with a text, or has a word for a command
// that is not known: all that count as running anything.
func runsUnseen(script *bash.Script, line string) bool {
	line = strings.ReplaceAll(line, "\\\n", "")
	if calculating.MatchString(line) {
		return true
	}
	for _, s := range []string{"$0", "${0}", "$BASH", "SHELL", "PROMPT_COMMAND", "BASH_ENV", "ENV=", "PS4", "posix", "@P}", ".sh", "braceexpand", "+B", "globstar", "nocaseglob"} {
		if strings.Contains(line, s) {
			return true
		}
	}
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		return len(c.Words) > 1 && c.Words[0].Kind != bash.Literal || c.Name() == "." || c.Name() == "source" || c.Name() == "mapfile" || c.Name() == "readarray" || strings.Contains(c.Name(), "/") || c.AddsArgs && slices.Contains(realPrograms, c.Name()) ||
			(c.Name() == "bash" || c.Name() == "sh") && slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Text == "-i" || recorderFiles[w.Text] != "" })
	})
}

// calculating is an index that runs a command.
var calculating = regexp.MustCompile("(?s)\\[.*(\\$\\(|`)")

// physical is a folder of the workspace without links.
func physical(dir string) string {
	dir = path.Clean(dir)
	if rest, ok := strings.CutPrefix(dir, root+"/link"); ok && (rest == "" || rest[0] == '/') {
		return root + "/src" + rest
	}
	return dir
}

// fits reports whether words may have become the words of a call.
func fits(words []bash.Word, c call, extra bool) bool {
	argv := c.Argv
	first := words[0]
	if first.Kind == bash.Literal {
		if len(argv) == 0 || first.Text != argv[0] && !(c.Script && path.Base(first.Text) == argv[0]) {
			return false
		}
		if extra {
			return true // xargs puts anything anywhere
		}
		words, argv = words[1:], argv[1:]
	}
	if c.Script && first.Kind == bash.Glob {
		return true // of its path the name alone is known
	}
	return become(words, argv, first.Text == "echo" || first.Text == "printf")
}

func become(words []bash.Word, argv []string, prints bool) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	w, rest := words[0], words[1:]
	switch {
	case w.Kind == bash.Literal:
		return len(argv) > 0 && argv[0] == w.Text && become(rest, argv[1:], prints)
	default:
		for n := 0; ; n++ {
			if become(rest, argv[n:], prints) {
				return true
			}
			if n == len(argv) || w.Kind == bash.Glob && !globbed(w.Text, argv[n]) {
				return false
			}
		}
	}
}

// globbed reports whether a name may come from a pattern, or is the pattern itself.
func globbed(pattern, name string) bool {
	if i := strings.IndexAny(pattern, `*?[\`); strings.Contains(pattern, "[") {
		return strings.HasPrefix(name, pattern[:i])
	}
	matched, err := filepath.Match(pattern, name)
	return err == nil && matched || strings.ReplaceAll(pattern, `\`, "") == strings.ReplaceAll(name, `\`, "")
}

// vague reports whether words stand for names of files or for any text.
func vague(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		return slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Kind == bash.Glob })
	})
}

// harmful says why a call of a line that was proved harmless is not, had it been written down as it ran: it cannot be
// proved, or it looks at what the line was not known to look at.
func harmful(script *bash.Script, c call) string {
	var quoted []string
	for _, a := range c.Argv {
		quoted = append(quoted, bash.Quote(a))
	}
	plain, err := shell.Read(strings.Join(quoted, " "), bash.Options{Dir: c.Dir, Home: "/home/me", Deadline: time.Now().Add(time.Minute)})
	if err != nil {
		return err.Error()
	}
	known := map[string]bool{}
	for _, cmd := range script.Commands {
		for _, t := range prove.Prove(cmd).Touches {
			known[physical(t.Path)] = true
		}
	}
	for _, cmd := range plain.Commands {
		p := prove.Prove(cmd)
		if cmd.MayRun {
			continue
		}
		if p.Why != "" {
			return p.Why
		}
		for _, t := range p.Touches {
			if !known[physical(t.Path)] {
				return "it touches " + t.Path
			}
		}
	}
	return ""
}

// opens reports whether a redirection of a script may open a file.
func opens(script *bash.Script, file string, write bool) bool {
	for _, c := range script.Commands {
		if c.By != nil && len(c.Words) > 0 && c.Words[0].Kind == bash.Unknown {
			return true // a text that is not known
		}
		for _, d := range c.Redirs {
			if c.MayRun || !d.File || write && !d.Write {
				continue
			}
			if d.Target.Kind != bash.Literal || d.Dirs == nil && path.Base(d.Target.Text) == path.Base(file) {
				return true
			}
			for _, dir := range d.Dirs {
				if !path.IsAbs(d.Target.Text) {
					dir += "/" + d.Target.Text
				} else {
					dir = d.Target.Text
				}
				if physical(dir) == file {
					return true
				}
			}
		}
	}
	return false
}

// finds reports whether find is run, which opens the files in its words for writing.
func finds(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool { return c.Name() == "find" })
}

// readsFiles reports whether there are commands that open the files in their words: real ones, and programs themselves.
func readsFiles(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		name := c.Name()
		return len(c.Words) > 0 && (name == "" || strings.Contains(name, "/") || name == "." || name == "source" || slices.Contains(realPrograms, name))
	})
}

// What bash runs is what was read, in the folder that was read, and what it opens is what was read: the argv of every
// command, to the byte where the reading says that it is known.
func TestReadingIsBash(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("ADZE_SEED"), 10, 64); err == nil {
		seed = s
	}
	l := newListener(t, startBoxAs(t, recorderVariable))
	s := newBashGen(t, seed)
	for range int(50000 * share()) {
		line, lang := s.line(), pick(s.lineGen, languages)
		if why := l.compare(t, line, lang); why != "" {
			small := l.smaller(t, line, lang)
			t.Errorf("%q (%s): %s\n\tfrom %q", small, lang, l.compare(t, small, lang), line)
		}
	}
	c := l.counts
	t.Logf("%d lines, %d not read, %d calls by bash, %d of them known to the byte, %d lines proved harmless, %d without end", c.lines, c.unread, c.calls, c.literal, c.proved, c.late)
}

// smaller takes away from a line what the difference does not need.
func (l *listener) smaller(t testing.TB, line, lang string) string {
	for size := len(line) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(line); {
			less := line[:i] + line[i+size:]
			if l.compare(t, less, lang) != "" {
				line = less
			} else {
				i++
			}
		}
	}
	return line
}

// FuzzReadingIsBash does the same with whatever a fuzzer comes up with.
func FuzzReadingIsBash(f *testing.F) {
	lines, _ := attacks(f)
	for _, n := range sortedLines(lines) {
		f.Add(lines[n])
	}
	open := sync.OnceValues(func() (*box, error) { return openBox(recorderVariable) })
	var l *listener
	n, every := 0, oneIn(10)
	f.Fuzz(func(t *testing.T, line string) {
		if n++; n%every != 0 || share() < 0.1 {
			return
		}
		b, err := open()
		if err != nil {
			t.Skipf("no box here, so nothing is run: %v", err)
		}
		if l == nil {
			l = newListener(t, b)
		}
		if why := l.compare(t, line, languages[1]); why != "" {
			t.Errorf("%q: %s", line, why)
		}
	})
}
