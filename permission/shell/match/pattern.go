// Package match compares rules with commands, and lists the paths that a command mentions.
package match

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Pattern is the specifier of a rule on commands: these words, and perhaps whatever follows.
type Pattern struct {
	words []string
	any   bool // every command
	open  bool // more words may follow

	program  string // the first word, without a directory
	mention  *regexp.Regexp
	flags    [][]string // the flags among the others, each with all its names
	operands []string
}

// ParsePattern reads a specifier: "git commit:*" or "git commit *" is these words and whatever follows, "git status"
// these words, "*" everything. loose is for deny and ask: a specifier without a star is open too, and one with a star
// elsewhere means all that begins with the words before the star.
func ParsePattern(s string, loose bool) (Pattern, error) {
	s = strings.TrimSpace(s)
	head, open := strings.CutSuffix(s, ":*")
	if !open {
		head, open = strings.CutSuffix(s, " *")
	}
	head, _, star := strings.Cut(head, "*")
	if star {
		head = head[:strings.LastIndexAny(head, " \t")+1] // a word that contains the star is not one of those before it
	}
	switch isEmpty := strings.TrimSpace(head) == ""; {
	case s == "*", loose && isEmpty && (star || open):
		return Pattern{any: true}, nil
	case star && !loose:
		return Pattern{}, errors.New("a wildcard (*) is allowed only at the end, after a space or a colon")
	}
	words, err := patternWords(head)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{words: words, open: open || loose, program: path.Base(words[0])}
	p.mention = regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(p.program) + `(?:\W|$)`)
	for _, w := range words[1:] {
		if len(w) > 1 && w[0] == '-' && w != "--" {
			p.flags = append(p.flags, spellings(program.RunnerOf(p.program), w)...)
		} else {
			p.operands = append(p.operands, w)
		}
	}
	return p, nil
}

// patternWords reads the words of one simple command.
func patternWords(s string) ([]string, error) {
	line := s
	if s != "" && program.IsLetter(s[0]) {
		line = `\` + s // not a keyword such as let or export
	}
	script, err := bash.Read(line, bash.Options{Dir: "/"}, nil)
	if err != nil {
		return nil, err
	}
	if len(script.Commands) != 1 || len(script.Notes) > 0 {
		return nil, fmt.Errorf("%q is not one simple command", s)
	}
	c := script.Commands[0]
	if len(c.Words) == 0 || len(c.Redirs)+len(c.Prefix) > 0 || strings.Contains(c.Name(), "=") {
		return nil, fmt.Errorf("%q is not one simple command", s)
	}
	for _, w := range c.Words {
		if w.Kind != bash.Literal {
			return nil, fmt.Errorf("%s expands at run time; use literal words", w.Text)
		}
	}
	return c.Argv(), nil
}

// spellings are the flags in a word, each with the names that mean the same: -rf is -r and -f.
func spellings(r program.Runner, word string) (flags [][]string) {
	for _, same := range r.Same {
		if slices.Contains(same, word) {
			return [][]string{same}
		}
	}
	if len(word) == 2 || r.Dashed || !program.Cluster(word) {
		return [][]string{{word}}
	}
	for _, letter := range word[1:] {
		flags = append(flags, spellings(r, "-"+string(letter))...)
	}
	return flags
}

// Words returns the words of the pattern; none if it means every command.
func (p *Pattern) Words() []string { return p.words }

// Exact reports whether the pattern means its words and no more.
func (p *Pattern) Exact() bool { return !p.any && !p.open }

// Covers reports whether the pattern, as an allow rule, covers the words of a command: exactly, word by word.
func (p *Pattern) Covers(c *bash.Command) bool {
	n := len(p.words)
	if p.any || len(c.Words) < n || !p.open && (len(c.Words) > n || c.AddsArgs) {
		return p.any
	}
	return slices.EqualFunc(c.Words[:n], p.words, func(w bash.Word, word string) bool {
		return w.Kind == bash.Literal &&
			w.Text == word
	})
}

// Match is how sure it is that a command is meant by a deny or ask rule.
type Match int

// The matches.
const (
	No Match = iota
	Maybe
	Undecided // which program it is, or what text a shell runs, is known only at run time
	Yes
)

// Match says whether a deny or ask rule means a command. It ignores the directory of the program, and finds the rule's
// flags in any place and spelling. A word that expands at run time may be any word.
func (p *Pattern) Match(c *bash.Command) Match {
	switch {
	case p.any:
		return Yes
	case c.Undetermined():
		return Undecided
	case len(c.Words) > 0 && c.Words[0].Kind != bash.Literal:
		return Maybe
	case sameProgram(c.Base(), p.program):
		return p.matchWords(c)
	case p.mayRun(c):
		return Maybe
	}
	return No
}

// sameProgram compares names as the disk would.
func sameProgram(a, b string) bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.EqualFold(strings.TrimSuffix(strings.ToLower(a), ".exe"),
			strings.TrimSuffix(strings.ToLower(b), ".exe"))
	}
	return a == b || len(a) == len(b)+1 && a[0] == 'g' && a[1:] == b && slices.Contains(program.RunnerOf("*").Renamed,
		b)
}

// matchWords looks for the rule's operands and flags in a call of its program.
func (p *Pattern) matchWords(c *bash.Command) Match {
	m := matchOperands(c, p.operands)
	if m == No && p.program == "git" && aliases(c) {
		return Maybe
	}
	unknown := c.AddsArgs || slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Kind != bash.Literal })
	for _, names := range p.flags {
		switch {
		case given(c, program.RunnerOf(p.program), names):
		case unknown:
			m = min(m, Maybe)
		default:
			return No
		}
	}
	return m
}

// matchOperands looks for the rule's operands at the front of the command's. A word right after a flag may be that
// flag's value, and is skipped.
func matchOperands(c *bash.Command, want []string) Match {
	afterFlag := false
	for i := 1; i < len(c.Words) && len(want) > 0; i++ {
		w := c.Words[i]
		switch isFlag := len(w.Text) > 1 && w.Text[0] == '-'; {
		case w.Kind != bash.Literal:
			return Maybe
		case w.Text == want[0]:
			want, afterFlag = want[1:], false
		case isFlag || afterFlag:
			afterFlag = isFlag && !strings.Contains(w.Text, "=")
		default:
			return No
		}
	}
	switch {
	case len(want) == 0:
		return Yes
	case c.AddsArgs:
		return Maybe
	}
	return No
}

// aliases reports whether git may replace words of c: its subcommand is not git's own, or a word sets an alias.
func aliases(c *bash.Command) bool {
	if slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		return strings.Contains(strings.ToLower(w.Text), "alias.") || strings.HasPrefix(w.Text, "--config-env")
	}) {
		return true
	}
	_, words := program.SplitGit(c)
	return len(words) > 0 && !program.RunnerOf("git "+words[0].Text).Data
}

// given reports whether one of the words or flags is among those of a command: also in a cluster, or abbreviated.
func given(c *bash.Command, r program.Runner, flags []string) bool {
	for i, w := range c.Words[1:] {
		head, _, _ := strings.Cut(w.Text, "=")
		if i == 0 && r.Bundled && program.Cluster("-"+head) {
			head = "-" + head // tar xf
		}
		if slices.ContainsFunc(flags, func(flag string) bool {
			abbreviated := strings.HasPrefix(flag, "--") && len(head) > 2 && strings.HasPrefix(flag, head)
			clustered := len(flag) == 2 && flag[0] == '-' && !r.Dashed && program.Cluster(head) &&
				strings.Contains(head, flag[1:])
			return flag == head || flag == w.Text || abbreviated || clustered
		}) {
			return true
		}
	}
	return slices.Contains(flags, program.Always)
}

// IsLiteral reports whether every word is known exactly, or is a glob that can only match file names.
func IsLiteral(c *bash.Command) bool {
	ended := slices.Index(c.Words, bash.Word{Text: "--"}) // what follows isn't a flag
	for i, w := range c.Words {
		isFile := w.Kind == bash.Glob && i > 0 && // no name that it matches is read as a flag, or none does harm
			(strings.IndexByte("-*?[", w.Text[0]) < 0 || ended > 0 && ended < i || program.RunnerOf(c.Name()).Safe)
		if w.Kind != bash.Literal && !isFile {
			return false
		}
	}
	return true
}

// mayRun reports whether a command may run the one that the rule means: by its words, its input, or a variable that it
// is given (GIT_EDITOR, PAGER).
func (p *Pattern) mayRun(c *bash.Command) bool {
	if slices.ContainsFunc(c.Prefix, func(a bash.Assign) bool { return p.inText(a.Value.Text) }) {
		return true
	}
	if len(c.Words) == 0 {
		return false
	}
	r, uses := program.RunnerOf(c.Base()), program.RunsOf(c)
	isCommand := !uses.Interprets && !uses.Data && !uses.Own // the next words may be one
	isSetting := false                                       // they are settings, as those of git config
	for i, w := range c.Words[1:] {
		before := c.Words[i].Text
		if p.inText(w.Text) && (isSetting || p.inFlag(r, before, w.Text)) ||
			(isCommand || uses.Interprets) && p.named(before, w.Text, uses) {
			return true
		}
		isSetting = isSetting || slices.Contains(r.Runs, w.Text) && !strings.HasPrefix(w.Text, "-")
		isCommand = isCommand || uses.Own && slices.Contains(program.RunnerOf("*").Before, w.Text)
	}
	input := c.Input()
	runsInput := uses.Interprets || isCommand && (!uses.Own || program.StartsShell(c))
	return input != nil && (runsInput && p.inText(input.Text) && !form.ReadsOnly(c) || input.Kind == bash.Unknown &&
		program.ReadsProgram(c))
}

// named reports whether a command may run the rule's program because of a word: the word is the program, or a text that
// contains it. Only texts of interpreters may have it right after a letter: tar -Irm, sed erm.
func (p *Pattern) named(before, word string, r program.Runner) bool {
	switch {
	case sameProgram(path.Base(word), p.program):
		return !r.Interprets || strings.HasPrefix(before, "-")
	case r.Interprets:
		return p.inText(word) || regexp.MustCompile(`(^-[a-zA-Z]+|(^|\W)\w?e)`+regexp.QuoteMeta(p.program)+`\b`).MatchString(word)
	}
	return strings.ContainsAny(word, " \t\n;|&") && p.inText(word)
}

// inText reports whether a text contains the rule's program as a word.
func (p *Pattern) inText(text string) bool {
	return strings.Contains(text, p.program) && p.mention.MatchString(text)
}

// inFlag reports whether a word is the value of a flag or setting that is a program: go test -exec rm,
// git fetch --upload-pack=rm, docker run --entrypoint rm, env EDITOR=rm git commit.
func (p *Pattern) inFlag(r program.Runner, before, word string) bool {
	name, value, attached := strings.Cut(word, "=")
	switch {
	case strings.Contains(word, "ext::"), attached && (r.Assigns || namesProgram(name)) && p.inText(value):
		return true
	case slices.Contains(r.Exec, before): // what it runs is read on its own
		return false
	}
	return strings.HasPrefix(before, "-") && !strings.Contains(before, "=") &&
		(namesProgram(before) || slices.Contains(r.Runs, before))
}

// namesProgram reports whether a flag or setting with this name has a program for a value.
func namesProgram(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(program.RunnerOf("*").Runs,
		func(part string) bool { return strings.Contains(name, part) })
}
