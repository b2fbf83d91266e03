// Package bash reads a bash command line: which simple commands run, in which directory, with which words after quote
// removal, and which files the shell opens for them. What can't be read exactly is marked unknown, never guessed.
//
// It knows no programs.
package bash

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is read. A command beyond them is not judged at all.
const (
	MaxBytes    = 64 << 10
	MaxNest     = 40   // of commands within commands: bash -c "bash -c …", env nice sudo …
	maxDepth    = 64   // of parentheses and the like in one line
	maxCommands = 4096 // with those that others run
)

// Options is what a command line depends on besides itself.
type Options struct {
	Dir  string // the directory it runs in, absolute
	Home string // the value of ~ and $HOME; "": unknown
}

// Why a line is not read.
var (
	ErrTooLong = fmt.Errorf("the command is longer than %d KB", MaxBytes>>10)
	ErrTooDeep = errors.New("the command is nested too deeply")
	ErrTooMany = fmt.Errorf("the line runs more than %d commands", maxCommands)
)

// Script is a command line that was read.
type Script struct {
	// Commands are all simple commands in the order of the line, including those in substitutions, functions and
	// wrappers.
	Commands []*Command
	// Notes are the parts of the line that only a rule for all commands covers.
	Notes []Note
}

// Note is a part of a line that keeps it from being proved harmless.
type Note struct {
	What   string // "defines a function"
	Source string // as it is written
}

// Read reads a command line as bash would. A line with a syntax error gives an error although bash runs the lines
// before it. unwrap adds the commands that a command runs; with nil, these are not read.
func Read(line string, o Options, unwrap func(Reader, *Command)) (*Script, error) {
	if names(line, "HOME") {
		o.Home = ""
	}
	r := Reader{reading: &reading{options: o, unwrap: unwrap, parser: syntax.NewParser(syntax.Variant(syntax.LangBash),
		syntax.KeepComments(true))}, Dirs: []string{o.Dir}}
	if err := errors.Join(r.read(line), r.Err); err != nil {
		return nil, err
	}
	r.readTwice()
	return &r.script, r.Err
}

// names reports whether a line contains the name of a variable other than in $NAME, so that it may set it.
func names(line, variable string) bool {
	return strings.Contains(strings.NewReplacer("${"+variable+"}", "", "$"+variable, "").Replace(line), variable)
}

// Reader is the state of the shell at a command of the line. It is passed as a value, so that changes in a subshell or
// a branch stay there.
type Reader struct {
	*reading
	Dirs   []string // the directories that the next command may run in; nil: unknown
	Place  Place
	Nest   int // depth of lines within lines
	source string
	by     *Command
	guess  bool       // by may run it or not
	redirs []Redirect // of the groups around
	stdin  *Word      // the input of the next command; nil: unknown
}

// reading collects what is read of a line and of the lines within it.
type reading struct {
	script  Script
	options Options
	unwrap  func(Reader, *Command)
	parser  *syntax.Parser
	lines   []parsedLine
	size    int   // of the lines
	Err     error // a line within the line could not be read
}

// parsedLine is a line with its syntax tree.
type parsedLine struct {
	source string
	file   *syntax.File
}

// read parses a line and walks it.
func (r Reader) read(line string) error {
	file, err := r.parse(line)
	if err != nil {
		return err
	}
	r.source = line
	r.stmts(file.Stmts)
	return nil
}

// parse parses a line once, even if it occurs several times.
func (r Reader) parse(line string) (*syntax.File, error) {
	if r.Nest > MaxNest {
		return nil, ErrTooDeep
	}
	if i := slices.IndexFunc(r.lines, func(l parsedLine) bool { return l.source == line }); i >= 0 {
		return r.lines[i].file, nil
	}
	switch r.size += len(line); {
	case len(line) > MaxBytes, r.size > 16*MaxBytes:
		return nil, ErrTooLong
	case tooDeep(line):
		return nil, ErrTooDeep
	case strings.Contains(line, "\r"): // a character of a word to bash, a blank or nothing to the parser
		return nil, odd("a carriage return")
	case strings.Contains(line, "$\\\n"): // bash joins the lines first, and reads $HOME or $(…)
		return nil, odd("a line that ends in $\\")
	case joinedSigns().MatchString(line):
		return nil, odd("an operator continued on the next line")
	}
	file, err := r.parser.Parse(strings.NewReader(line), "")
	switch {
	case err != nil:
		return nil, fmt.Errorf("syntax error at %w", err)
	case oddComment(file, line):
		return nil, odd("a comment that ends in a backslash or follows a quote")
	}
	r.lines = append(r.lines, parsedLine{line, file})
	return file, nil
}

// Line adds the commands of a line that c runs.
func (r Reader) Line(c *Command, line Word, guess ...bool) {
	r.guess = r.guess || c.MayRun || len(guess) > 0 && guess[0]
	if c.Marked(line) {
		r.Unknown(c) // what replaces the mark may be a command
	}
	if line.Kind != Literal {
		r.Add(c.Inner([]Word{{line.Text, Unknown}}))
		return
	}
	r.by, r.Place, r.redirs, r.stdin = c, Text, nil, nil
	r.Nest++
	if err := r.read(line.Text); err != nil {
		if r.Unknown(c); !r.guess {
			r.Err = fmt.Errorf("command run by %s: %w", c.Name(), err)
		}
	}
}

// Unknown adds an unknown command.
func (r Reader) Unknown(by *Command) {
	r.Add(by.Inner([]Word{{by.Source, Unknown}}))
}

// Add adds a command to the script.
func (r Reader) Add(c *Command) {
	if len(r.script.Commands) == maxCommands {
		r.Err = ErrTooMany
		return
	}
	c.Place, c.Dirs, c.Start = r.Place, r.Dirs, r.options.Dir
	if c.By == nil {
		c.By = r.by
	}
	c.MayRun = c.MayRun || r.guess
	r.script.Commands = append(r.script.Commands, c)
}

func (r Reader) note(what string, n syntax.Node) {
	r.script.Notes = append(r.script.Notes, Note{what, r.text(n)})
}

// text returns the source of a node.
func (r Reader) text(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(r.source) || from >= to {
		return ""
	}
	return strings.TrimSpace(r.source[from:to])
}
