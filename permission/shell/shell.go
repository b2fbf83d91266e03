// Package shell reads a bash command line and says what it would do: which simple commands run, in which directory,
// with which words after quote removal, which files they would open, and whether all of it is provably read-only.
//
//	script, err := shell.Read("cd src && git log --oneline | head -5", shell.Options{Dir: "/home/me/app", Home: "/home/me"})
//	for _, c := range script.Commands {
//		fmt.Println(c.Argv(), shell.Prove(c).Why)
//	}
//
// One tree serves for everything: what is allowed, denied, provably read-only and shown to the user comes from one
// reading of one parser. A line goes forward through these packages: bash reads it, program is what is known of its
// programs, prove whether they are read-only, wrap which commands they run, match which rules mean them.
//
// It runs nothing, opens nothing and knows no rules: package permission decides. Only [Environment] looks at the disk, to
// see where the directories of PATH lead.
package shell

import (
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
	"github.com/adze-dev/adze/permission/shell/wrap"
)

// What a line is read as.
type (
	Options = bash.Options
	Script  = bash.Script
	Command = bash.Command
	Word    = bash.Word
	Place   = bash.Place
)

// What is found out about a command.
type (
	Proof   = prove.Proof
	Touch   = prove.Touch
	Tree    = prove.Tree
	Pattern = match.Pattern
	Match   = match.Match
)

// Kinds of words, and places of commands.
const (
	Literal   = bash.Literal
	Glob      = bash.Glob
	PublicVar = bash.PublicVar
	Unknown   = bash.Unknown

	Plain        = bash.Plain
	Substitution = bash.Substitution
	Function     = bash.Function
	Text         = bash.Text
)

// How sure it is that a rule means a command.
const (
	No        = match.No
	Maybe     = match.Maybe
	Undecided = match.Undecided
	Yes       = match.Yes
)

// Bounds of what is read.
const (
	MaxBytes = bash.MaxBytes
	MaxTime  = bash.MaxTime
)

// The reasons for which a line is not read, or a rule.
var (
	ErrTooLong = bash.ErrTooLong
	ErrTooDeep = bash.ErrTooDeep
	ErrTooSlow = bash.ErrTooSlow
	ErrStar    = match.ErrStar
)

// Read reads a command line as bash would, with the commands that others run. A line with a syntax error gives an error
// although bash runs the lines before it.
func Read(line string, o Options) (*Script, error) { return bash.Read(line, o, wrap.Wrapping{}) }

// Quote writes a text as one word of bash.
func Quote(s string) string { return bash.Quote(s) }

// Prove says whether a command is read-only, whatever its paths are.
func Prove(c *Command) Proof { return prove.Prove(c) }

// ProveHeld is Prove for a command that runs where a sandbox enforces that it only reads.
func ProveHeld(c *Command) Proof { return prove.ProveHeld(c) }

// Interprets reports whether a command may run, or do, what the text in its words says.
func Interprets(c *Command) bool { return program.Interprets(c) }

// IsLiteral reports whether every word of a command is known or is a glob that can only stand for file names.
func IsLiteral(c *Command) bool { return match.IsLiteral(c) }

// Mentions gives visit the paths that a command names, whatever it does with them, and reports whether these are all.
func Mentions(c *Command, visit func(Touch) bool) (all bool) { return match.Mentions(c, visit) }

// ParsePattern reads the specifier of a rule on commands. loose is for deny and ask rules.
func ParsePattern(s string, loose bool) (Pattern, error) { return match.ParsePattern(s, loose) }

// Understood says what a command runs: its words after quote removal, what it opens, and which command runs it where that is
// not the shell. It is for users who are asked, and shows what rules are compared with.
func Understood(c *Command) string {
	parts := []string{c.String()}
	if c.AddsArgs {
		parts = append(parts, "…")
	}
	for _, d := range c.Redirs {
		if d.File {
			parts = append(parts, d.Number+d.Op+" "+d.Target.String())
		}
	}
	if c.By != nil {
		parts = append(parts, "(run by "+c.By.Base()+")")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
