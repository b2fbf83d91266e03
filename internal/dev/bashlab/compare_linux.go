package bashlab

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/match"
)

// Locales are the locales in which lines run.
var Locales = []string{"C", "C.UTF-8"}

// Recorder runs lines with real bash and a few real wrappers. All other programs only write down how they are called.
type Recorder struct {
	process *process
	initial map[string]string // state of a shell before its first command, by locale
	counts  struct{ lines, unread, calls, literal, proved, late int }

	differences int
}

// Shortening a line can take seconds, so there are limits.
const (
	maxDifferences = 5
	maxTries       = 300
)

// StartRecorder starts a recorder until the end of a test. It skips the test where the system allows no namespaces.
func StartRecorder(t testing.TB) *Recorder {
	t.Helper()
	r := &Recorder{process: startProcess(t, recorderKind), initial: map[string]string{}}
	for _, locale := range Locales {
		got := r.record(t, "ls", locale, time.Minute)
		if len(got.Calls) != 1 || !slices.Equal(got.Calls[0].Argv, []string{"ls"}) || got.Calls[0].Dir != Root {
			t.Fatalf("the recorder doesn't record: %+v", got)
		}
		r.initial[locale] = importantState(got.Calls[0].State)
	}
	return r
}

// String says how many lines were compared, and what they ran.
func (r *Recorder) String() string {
	c := r.counts
	return fmt.Sprintf("%d lines, %d not read, %d calls by bash, %d of them known exactly, %d lines proved "+
		"read-only, %d without end", c.lines, c.unread, c.calls, c.literal, c.proved, c.late)
}

// Check fails the test if bash does something in a line that permission/shell didn't read in it: a command with other
// arguments or in another directory, or a file that it opens. It also reports a shorter line with a difference, and
// ends the test after a few of them.
func (r *Recorder) Check(t testing.TB, line, locale string) {
	t.Helper()
	why := r.compare(t, line, locale)
	if why == "" {
		return
	}
	t.Errorf("%q (%s): %s", line, locale, why)
	t.Logf("shorter: %q", r.shorten(t, line, locale))
	if r.differences++; r.differences == maxDifferences {
		t.FailNow()
	}
}

// shorten removes parts of a line that its difference doesn't need.
func (r *Recorder) shorten(t testing.TB, line, locale string) string {
	tries := 0
	for size := len(line) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(line) && tries < maxTries; tries++ {
			if less := line[:i] + line[i+size:]; r.compare(t, less, locale) != "" {
				line = less
			} else {
				i++
			}
		}
	}
	return line
}

func (r *Recorder) record(t testing.TB, line, locale string, maxTime time.Duration) (got recording) {
	r.process.ask(t, recordedLine{[]byte(line), locale, maxTime}, &got)
	return got
}

// compare says what bash did that wasn't read; it is empty for nothing.
func (r *Recorder) compare(t testing.TB, line, locale string) string {
	r.counts.lines++
	script, err := shell.Read(line, bash.Options{Dir: Root, Home: Home})
	if err != nil {
		r.counts.unread++
		return ""
	}
	got := r.record(t, line, locale, time.Second) // a line that is killed was recorded until then
	if got.Late {
		r.counts.late++
	}
	proved := len(script.Notes) == 0
	for _, c := range script.Commands {
		proved = proved && (c.MayRun || form.ReadsOnly(c))
	}
	if proved {
		r.counts.proved++
	}
	for _, c := range got.Calls {
		r.counts.calls++
		if c.Dir = path.Clean(c.Dir); c.Script {
			c.Argv[0] = path.Base(c.Argv[0])
		}
		for i, a := range c.Argv {
			if strings.HasPrefix(a, "/dev/fd/6") { // <(…), for which the proof takes a file that always exists
				c.Argv[i] = "/dev/null"
			}
		}
		by := explanation(script, c)
		switch {
		case c.Argv[0] == "" && strings.Contains(strings.ReplaceAll(line, "\\\n", ""), "IFS=("):
			continue // the recorder can't separate the words then
		case by == nil && !proved && runsUnseen(script, line):
			continue
		case by == nil:
			return fmt.Sprintf("bash ran %q in %s", c.Argv, c.Dir)
		case proved && !c.Script && importantState(c.State) != r.initial[locale]:
			return fmt.Sprintf("bash ran %q in the state %q, which is not %q", c.Argv, importantState(c.State),
				r.initial[locale])
		case proved && !hasGlobs(script) && !strings.Contains(strings.Join(c.Argv, ""), "\r"):
			if why := unproved(script, by, c); why != "" {
				return fmt.Sprintf("bash ran %q in %s, but %s", c.Argv, c.Dir, why)
			}
		}
		if by != nil && match.IsLiteral(by) {
			r.counts.literal++
		}
	}
	for _, p := range got.Wrote {
		if !opens(script, p, true) && (proved || !runsUnseen(script, line)) && !runsFind(script) {
			return "bash opened " + p + " for writing"
		}
	}
	for _, p := range got.Opened {
		if !opens(script, p, false) && !readsFiles(script) && (proved || !runsUnseen(script, line)) {
			return "bash opened " + p
		}
	}
	return ""
}

// explanation returns the command of a script that a call comes from. A command that may or may not run explains
// nothing.
func explanation(script *bash.Script, c call) *bash.Command {
	for _, cmd := range script.Commands {
		if cmd.By != nil && len(cmd.Words) > 0 && cmd.Words[0].Kind == bash.Unknown && !cmd.MayRun {
			return cmd // it runs an unknown text
		}
		if cmd.MayRun || cmd.Dirs != nil && !slices.ContainsFunc(cmd.Dirs,
			func(d string) bool { return physical(d) == c.Dir }) {
			continue
		}
		if len(cmd.Words) > 0 && fits(cmd.Words, c, cmd.AddsArgs) {
			return cmd
		}
	}
	return nil
}

// importantState returns the state of a shell without options that only end it earlier or print more.
func importantState(state string) string {
	for _, option := range []string{"errexit", "nounset", "pipefail", "xtrace"} {
		state = strings.ReplaceAll(state, ":"+option, "")
	}
	return state
}

// runsUnseen reports whether a line runs the contents of a file, evaluates a text as a number, or has an unknown word
// as the name of a command. The policy takes all of these for running anything.
func runsUnseen(script *bash.Script, line string) bool {
	line = strings.ReplaceAll(line, "\\\n", "")
	if calculating.MatchString(line) {
		return true
	}
	for _, s := range []string{"$0", "${0}", "$BASH", "SHELL", "PROMPT_COMMAND", "BASH_ENV", "ENV=", "PS4", "posix",
		"@P}", ".sh", "braceexpand", "+B", "globstar", "nocaseglob"} {
		if strings.Contains(line, s) {
			return true
		}
	}
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		return len(c.Words) > 1 && c.Words[0].Kind != bash.Literal || c.Name() == "." || c.Name() == "source" ||
			c.Name() == "mapfile" || c.Name() == "readarray" || strings.Contains(c.Name(), "/") || c.AddsArgs &&
			slices.Contains(realPrograms, c.Name()) ||
			(c.Name() == "bash" || c.Name() == "sh") &&
				slices.ContainsFunc(c.Words, func(w bash.Word) bool {
					return w.Text == "-i" ||
						recorderFiles[w.Text] != ""
				})
	})
}

// calculating matches an index that runs a command.
var calculating = regexp.MustCompile("(?s)\\[.*(\\$\\(|`)")

// physical returns a path without links.
func physical(name string) string {
	at := ""
	for element := range strings.SplitSeq(name, "/") {
		at = path.Join("/", at, element)
		if target, ok := recorderLinks[at]; ok {
			at = target
		}
	}
	return at
}

// fits reports whether bash may have expanded words to those of a call.
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
		return true // only the name of its path is known
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

// globbed reports whether a pattern may expand to a name, which may be the pattern itself.
func globbed(pattern, name string) bool {
	if i := strings.IndexAny(pattern, `*?[\`); strings.Contains(pattern, "[") {
		return strings.HasPrefix(name, pattern[:i])
	}
	matched, err := filepath.Match(pattern, name)
	return err == nil && matched || strings.ReplaceAll(pattern, `\`, "") == strings.ReplaceAll(name, `\`, "")
}

// hasGlobs reports whether a script has patterns of file names.
func hasGlobs(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		return slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Kind == bash.Glob })
	})
}

// unproved says why a call that is explained by a command, written as its own line, isn't read-only although its
// line was proved read-only: the proof fails, or it has a path that the proof of the line doesn't have.
func unproved(script *bash.Script, by *bash.Command, c call) string {
	var quoted []string
	for _, a := range c.Argv {
		quoted = append(quoted, shellwords.Quote(a))
	}
	plain, err := shell.Read(strings.Join(quoted, " "), bash.Options{Dir: c.Dir, Home: Home})
	if err != nil {
		return err.Error()
	}
	known := map[string]bool{}
	for _, cmd := range script.Commands {
		reading, _ := form.Read(cmd)
		for _, t := range reading.Paths {
			known[physical(t.Path)] = true
		}
	}
	for _, cmd := range plain.Commands {
		reading, why := form.Read(cmd)
		if cmd.MayRun {
			continue
		}
		test := slices.Contains([]string{"[", "test"}, cmd.Name())
		switch {
		case why != "":
			return why
		case test:
			// the proof takes a text that is known for a path, also in [ -n a ]; of others it knows that they are none
			continue
		}
		for _, t := range reading.Paths {
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
			return true // it runs an unknown text
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

// runsFind reports whether a script runs find, which opens the files in its arguments for writing.
func runsFind(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool { return c.Name() == "find" })
}

// readsFiles reports whether a script has commands that open the files in their arguments: real programs, and scripts.
func readsFiles(script *bash.Script) bool {
	return slices.ContainsFunc(script.Commands, func(c *bash.Command) bool {
		name := c.Name()
		return len(c.Words) > 0 && (name == "" || strings.Contains(name, "/") || name == "." || name == "source" ||
			slices.Contains(realPrograms, name))
	})
}
