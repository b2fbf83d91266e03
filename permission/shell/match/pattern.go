// Package match compares rules with commands, and lists the paths that a command mentions.
package match

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Pattern is the specifier of a rule on commands: these words, and perhaps whatever follows.
type Pattern struct {
	words []string
	any   bool // every command
	open  bool // more words may follow

	program         string // the first word, without a folder
	flags, operands []string
}

// ErrStar says that a star stands where an allow rule may have none.
var ErrStar = errors.New("a wildcard (*) is allowed only at the end, after a space or a colon")

// ParsePattern reads a specifier: "git commit:*" or "git commit *" is these words and whatever follows, "git status"
// these words, "*" everything. loose is for deny and ask: a specifier without a star is open too, and one with a star
// elsewhere means all that begins with the words before the star.
func ParsePattern(s string, loose bool) (Pattern, error) {
	s = strings.TrimSpace(s)
	if s == "*" || s == ":*" && loose {
		return Pattern{any: true}, nil
	}
	p := Pattern{open: loose}
	for _, end := range []string{":*", " *"} {
		if head, ok := strings.CutSuffix(s, end); ok {
			s, p.open = head, true
			break
		}
	}
	if head, _, star := strings.Cut(s, "*"); star {
		if !loose {
			return Pattern{}, ErrStar
		}
		// The words before the star; a word that the star stands in is not one of them.
		s = head[:strings.LastIndexAny(head, " \t")+1]
		if strings.TrimSpace(s) == "" {
			return Pattern{any: true}, nil
		}
	}
	words, err := patternWords(s)
	if err != nil {
		return Pattern{}, err
	}
	p.words, p.program = words, path.Base(words[0])
	p.flags, p.operands = sortWords(words[1:])
	return p, nil
}

// patternWords reads the words of one simple command.
func patternWords(s string) ([]string, error) {
	// A rule is no attack: on a busy machine a rule must not stop the start because it took MaxTime.
	script, err := bash.Read(s, bash.Options{Dir: "/", Deadline: time.Now().Add(time.Minute)}, nil)
	if err != nil {
		if bash.IsName(s) { // a word of the shell's grammar, such as let
			return []string{s}, nil
		}
		return nil, err
	}
	var simple []*bash.Command
	for _, c := range script.Commands {
		if c.By == nil && c.Place == bash.Plain {
			simple = append(simple, c)
		}
	}
	declares := len(simple) == 1 && len(script.Notes) == 1 && slices.Contains(declaring, simple[0].Name())
	if len(simple) != 1 || len(simple[0].Words) == 0 || len(simple[0].Redirs) > 0 || (len(script.Notes) > 0 || len(simple[0].Prefix) > 0) && !declares {
		return nil, fmt.Errorf("%q is not one simple command", s)
	}
	words := make([]string, len(simple[0].Words))
	for i, w := range simple[0].Words {
		if w.Kind != bash.Literal {
			return nil, fmt.Errorf("%s expands at run time; use literal words", w.Text)
		}
		words[i] = w.Text
	}
	return words, nil
}

// declaring are the builtins that the parser does not take for simple commands.
var declaring = strings.Fields("export declare typeset local readonly nameref let")

// Exact reports whether the pattern means its words and no more.
func (p *Pattern) Exact() bool { return !p.any && !p.open }

// Covers reports whether the pattern, as an allow rule, covers the words of a command: exactly, word by word.
func (p *Pattern) Covers(c *bash.Command) bool {
	if p.any {
		return true
	}
	if len(c.Words) < len(p.words) || !p.open && (len(c.Words) > len(p.words) || c.AddsArgs) {
		return false
	}
	for i, word := range p.words {
		if c.Words[i].Kind != bash.Literal || c.Words[i].Text != word {
			return false
		}
	}
	return true
}

// Match is how sure it is that a command is meant by a deny or ask rule.
type Match int

// The matches.
const (
	No Match = iota
	Maybe
	Undecided // which program it is, or what text a shell runs, only the shell knows
	Yes
)

// Match says whether a deny or ask rule means a command. It looks through the folder of the command word and through
// flags that stand before, between or in another order than the rule's words; what is not known may be it.
func (p *Pattern) Match(c *bash.Command) Match {
	switch {
	case p.any:
		return Yes
	case len(c.Words) == 0:
		return p.mentioned(c)
	case c.Undetermined():
		return Undecided
	case c.Words[0].Kind != bash.Literal:
		return Maybe
	case !sameProgram(c.Base(), p.program):
		if same := asGit(c); same != nil && p.program == "git" {
			return p.Match(same)
		}
		return p.mentioned(c)
	}
	m := matchOperands(c, p.operands)
	if m == No && p.program == "git" && aliases(c) {
		return Maybe
	}
	if m == No {
		return No
	}
	for _, f := range p.flags {
		if m = min(m, matchFlag(c, f)); m == No {
			return No
		}
	}
	return m
}

// sameProgram compares names as the disk would.
func sameProgram(a, b string) bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.EqualFold(strings.TrimSuffix(strings.ToLower(a), ".exe"), strings.TrimSuffix(strings.ToLower(b), ".exe"))
	}
	return a == b || len(a) == len(b)+1 && a[0] == 'g' && a[1:] == b && slices.Contains(program.Renamed, b)
}

func sortWords(words []string) (flags, operands []string) {
	for _, w := range words {
		if len(w) > 1 && w[0] == '-' && w != "--" {
			flags = append(flags, w)
		} else {
			operands = append(operands, w)
		}
	}
	return flags, operands
}

// matchOperands looks for the rule's operands at the front of the command's. A word right after a flag may be that
// flag's value and is passed over.
func matchOperands(c *bash.Command, want []string) Match {
	after := false
	for i := 1; i < len(c.Words) && len(want) > 0; i++ {
		w := c.Words[i]
		switch {
		case w.Kind != bash.Literal:
			return Maybe
		case w.Text == want[0]:
			want = want[1:]
			after = false
		case len(w.Text) > 1 && w.Text[0] == '-':
			after = !strings.Contains(w.Text, "=") && !slices.Contains(bareFlags, w.Text)
		case after:
			after = false
		default:
			return No
		}
	}
	if len(want) > 0 {
		if c.AddsArgs {
			return Maybe
		}
		return No
	}
	return Yes
}

// bareFlags are well-known flags that take no value.
var bareFlags = []string{
	"--", "--no-pager", "-P", "-p", "--paginate", "--bare", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--verbose", "--quiet", "-v", "-q",
}

// matchFlag looks for a flag of the rule anywhere in the command: also in a cluster, abbreviated, or by its other name.
func matchFlag(c *bash.Command, want string) Match {
	r := program.RunnerOf(c.Base())
	found := given(c, r, spellings(r, want))
	if !found && program.Cluster(want) && !r.Dashed { // -rf is -r and -f
		found = !slices.ContainsFunc([]byte(want[1:]), func(letter byte) bool { return !given(c, r, spellings(r, "-"+string(letter))) })
	}
	switch {
	case found:
		return Yes
	case c.AddsArgs || slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Kind != bash.Literal }):
		return Maybe
	}
	return No
}

// spellings are the flags that mean the same as one.
func spellings(r program.Runner, flag string) []string {
	for _, same := range r.Same {
		if slices.Contains(same, flag) {
			return same
		}
	}
	return []string{flag}
}

// given reports whether one of the words or flags is among those of a command.
func given(c *bash.Command, r program.Runner, flags []string) bool {
	for i, w := range c.Words[1:] {
		text := w.Text
		if i == 0 && r.Bundled && program.Cluster("-"+text) {
			text = "-" + text // tar xf
		}
		if slices.ContainsFunc(flags, func(flag string) bool { return sameFlag(r, text, flag) }) {
			return true
		}
	}
	return slices.Contains(flags, program.Always)
}

// sameFlag reports whether the word of a command is, or contains, a flag.
func sameFlag(r program.Runner, word, flag string) bool {
	head, _, _ := strings.Cut(word, "=")
	switch {
	case head == flag || word == flag:
		return true
	case strings.HasPrefix(flag, "--"): // an abbreviation
		return len(head) > 2 && strings.HasPrefix(flag, head)
	}
	return len(flag) == 2 && flag[0] == '-' && program.Cluster(head) && !r.Dashed && strings.Contains(head[1:], flag[1:])
}

// IsLiteral reports whether every word is known to the byte or is a glob that can only stand for file names.
func IsLiteral(c *bash.Command) bool {
	for i, w := range c.Words {
		switch w.Kind {
		case bash.Literal:
		case bash.Glob:
			if i == 0 || w.CanBeFlag() && !ended(c, i) && !program.ReadOnly().Safe(c.Name()) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ended reports whether a "--" stands before word i.
func ended(c *bash.Command, i int) bool {
	for _, w := range c.Words[1:i] {
		if w.Kind == bash.Literal && w.Text == "--" {
			return true
		}
	}
	return false
}
