// Package bash reads a bash command line: which simple commands run, in which directory, with which words after quote
// removal, and which files the shell opens for them. What cannot be read exactly is marked unknown, never guessed.
//
// It knows no programs. [Hooks] adds the commands that others run.
package bash

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read. Beyond them a command is not judged at all.
const (
	MaxBytes = 64 << 10
	MaxTime  = time.Second // commands take microseconds; with 50 ms, a busy machine could not check ls
	maxDepth = 64          // of parentheses and the like in one line
	MaxNest  = 40          // of commands within commands: bash -c "bash -c …", env nice sudo …
)

// Options is what a command line depends on besides itself.
type Options struct {
	Dir  string // the folder it runs in, absolute
	Home string // what ~ and $HOME mean; "": not known
	// Deadline ends the reading; zero: MaxTime from now.
	Deadline time.Time
}

// The reasons for which a line is not read.
var (
	ErrTooLong = fmt.Errorf("the command is longer than %d KB", MaxBytes>>10)
	ErrTooDeep = errors.New("the command is nested too deeply")
	ErrTooSlow = errors.New("the command takes too long to check")
)

// odd is why a line is not read that bash and the parser, or two versions of bash, do not read in the same way.
func odd(what string) error {
	return fmt.Errorf("%s is ambiguous between shells", what)
}

// Script is a command line, read.
type Script struct {
	// Commands are all simple commands in the order in which they are written: also those in substitutions, functions
	// and wrappers.
	Commands []*Command
	// Notes are the parts of the line that are more than simple commands in lists, and that nothing but a rule for
	// everything covers.
	Notes []Note
}

// Note is a part of a line that keeps it from being proved harmless.
type Note struct {
	What   string // "defines a function"
	Source string // as it is written
	Held   bool   // it doesn't matter to a command that a sandbox holds
}

// Read reads a command line as bash would. A line with a syntax error gives an error although bash runs the lines
// before it. h is what is known of the commands that run others; nil: these are not read.
func Read(line string, o Options, h Hooks) (*Script, error) {
	if o.Deadline.IsZero() {
		o.Deadline = time.Now().Add(MaxTime)
	}
	if namesHome(line) {
		o.Home = ""
	}
	r := &Reader{script: &Script{}, options: o, hooks: h, Dirs: []string{o.Dir}}
	if err := errors.Join(r.read(line), r.Err); err != nil {
		return nil, err
	}
	r.evaluated()
	return r.script, r.Err
}

// namesHome reports whether a line holds the name HOME other than to ask for its value: it may set it.
func namesHome(line string) bool {
	return strings.Contains(line, "HOME") && strings.Contains(strings.NewReplacer("${HOME}", "", "$HOME", "").Replace(line), "HOME")
}

// Hooks are what is known of the commands that run others.
type Hooks interface {
	// unwrap adds the commands that c runs.
	Unwrap(r *Reader, c *Command)
	// piped adds what right may run of the text that a pipe gives it.
	Piped(r *Reader, right *Command, text Word)
}

// Reader collects the commands of a line and of the lines within it.
type Reader struct {
	script  *Script
	options Options
	hooks   Hooks
	source  string
	Nest    int   // lines within lines
	Place   Place // where the present command stands
	by      *Command
	guess   bool
	Err     error // a line within the line could not be read
	parser  *syntax.Parser
	files   map[string]*syntax.File // lines within the line, parsed
	lines   []parsedLine            // the same, in order
	steps   int                     // statements read
	// dirs are the folders that the next command may run in; nil: not known.
	Dirs  []string
	stdin *Word // what a pipe gives the next command; nil: not known

	known variables       // of the line
	set   []string        // the variables that have a value by now, for sure
	bound map[string]Word // the values that variables have just now
}

// read parses a line and walks it.
func (r *Reader) read(line string) error {
	switch {
	case len(line) > MaxBytes:
		return ErrTooLong
	case tooDeep(line), r.Nest > MaxNest:
		return ErrTooDeep
	}
	file, err := r.parse(line)
	if err != nil {
		return err
	}
	source, known, set := r.source, r.known, r.set
	r.source, r.known, r.set = line, nil, nil
	defer func() { r.source, r.known, r.set = source, known, set }()
	if r.Nest == 0 && strings.Contains(line, "$") {
		r.known = r.scan(file)
	}
	r.stmts(file.Stmts)
	if time.Now().After(r.options.Deadline) {
		return ErrTooSlow
	}
	return nil
}

// parse parses a line once: the same line often stands in a line more than once.
func (r *Reader) parse(line string) (*syntax.File, error) {
	if file, known := r.files[line]; known {
		return file, nil
	}
	if strings.Contains(line, "\r") { // to bash it is a letter, to the parser it is a blank or nothing
		return nil, odd("a carriage return")
	}
	if strings.Contains(line, "$\\\n") { // bash joins the lines first, and so reads $HOME or $(…)
		return nil, odd("a line that ends in $\\")
	}
	if joinsSigns(line) {
		return nil, odd("an operator continued on the next line")
	}
	if r.parser == nil {
		r.parser, r.files = syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)), map[string]*syntax.File{}
	}
	file, err := r.parser.Parse(&timed{strings.NewReader(line), r.options.Deadline}, "")
	switch {
	case errors.Is(err, ErrTooSlow):
		return nil, ErrTooSlow
	case err != nil:
		return nil, fmt.Errorf("syntax error at %w", err)
	case oddComment(file, line):
		return nil, odd("a comment that ends in a backslash or follows a quote")
	}
	r.files[line] = file
	r.lines = append(r.lines, parsedLine{line, file})
	return file, nil
}

// joinsSigns reports whether a joined line may make one sign of two: & and > in two lines are &> to bash, but not to the
// parser.
func joinsSigns(line string) bool {
	for {
		before, after, found := strings.Cut(line, "\\\n")
		if !found {
			return false
		}
		line = strings.TrimLeft(after, "\\\n")
		if before != "" && line != "" && strings.IndexByte("&|<>();0123456789}", before[len(before)-1]) >= 0 && strings.IndexByte("&|<>();", line[0]) >= 0 {
			return true
		}
	}
}

// late reports whether the time is over. It looks at the clock now and then.
func (r *Reader) late() bool {
	r.steps++
	return r.steps%16 == 0 && time.Now().After(r.options.Deadline)
}

// oddComment reports whether a comment ends in a backslash, where bash ends it and the parser goes on in the next line,
// or begins in the middle of a word, as the parser has it in $(ls ""#) and bash has not.
func oddComment(file *syntax.File, line string) bool {
	if strings.IndexByte(line, '#') < 0 {
		return false
	}
	odd := false
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if !ok {
			return true
		}
		start := min(int(c.Hash.Offset()), len(line))
		text := line[start:]
		end := strings.IndexByte(text, '\n')
		odd = odd || end > 0 && text[end-1] == '\\' || strings.Contains(c.Text, "\n") ||
			start > 0 && strings.IndexByte(" \t\n;&|(", line[start-1]) < 0 || strings.HasSuffix(line[:start], "\\\n")
		return true
	})
	return odd
}

// timed stops a parser that is still reading after its time.
type timed struct {
	r        *strings.Reader
	deadline time.Time
}

func (t *timed) Read(p []byte) (int, error) {
	if time.Now().After(t.deadline) {
		return 0, ErrTooSlow
	}
	return t.r.Read(p[:min(len(p), 4096)])
}

// tooDeep reports whether so many brackets are open at once that a recursive parser should not be given the line.
// Quotes are not looked at: too many brackets in a string count too.
func tooDeep(line string) bool {
	open, ticks, words := 0, 0, 0
	for i := range len(line) {
		switch line[i] {
		case '(', '{', '[':
			if open++; open > maxDepth {
				return true
			}
		case ')', '}', ']':
			open = max(0, open-1)
		case '`':
			ticks++
		case 'i', 'w', 'u', 'f', 'c', 's', '!': // if, while, until, for, case, select; ! ! ! …
			if opens(line, i) {
				words++
			}
		}
	}
	return ticks > 2*maxDepth || words > 8*maxDepth
}

// opens reports whether a word that opens a compound command stands at i.
func opens(line string, i int) bool {
	if i > 0 && !beforeOpeners[line[i-1]] {
		return false
	}
	for _, word := range openers {
		if word[0] != line[i] {
			continue
		}
		if rest, ok := strings.CutPrefix(line[i:], word); ok && (rest == "" || strings.IndexByte(" \t\n;(!", rest[0]) >= 0) {
			return true
		}
	}
	return false
}

// openers are the words that open a compound command, and what may stand before them.
var (
	openers       = [...]string{"if", "while", "until", "for", "case", "select", "!"}
	beforeOpeners = SetOf(" \t\n;&|(){}!")
)

func (r *Reader) note(what string, n syntax.Node) {
	r.script.Notes = append(r.script.Notes, Note{What: what, Source: r.text(n)})
}

// noteHeld is note for what doesn't matter to a command that a sandbox holds.
func (r *Reader) noteHeld(what string, n syntax.Node) {
	r.script.Notes = append(r.script.Notes, Note{what, r.text(n), true})
}

// text is a node as it is written.
func (r *Reader) text(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(r.source) || from >= to {
		return ""
	}
	return strings.TrimSpace(r.source[from:to])
}

// Unknown adds a command of which nothing is known.
func (r *Reader) Unknown(by *Command) {
	r.Add(by.Inner([]Word{{by.Source, Unknown}}))
}

// Line adds the commands of a line that c runs.
func (r *Reader) Line(c *Command, line Word, guess ...bool) {
	isGuess := len(guess) > 0 && guess[0]
	if c.Marked(line) {
		r.Unknown(c) // whatever is put in may be a command too
	}
	if line.Kind != Literal {
		inner := c.Inner([]Word{line})
		inner.Words[0].Kind, inner.MayRun = Unknown, inner.MayRun || isGuess
		r.Add(inner)
		return
	}
	by, wasGuess, place := r.by, r.guess, r.Place
	r.by, r.guess, r.Place = c, r.guess || c.MayRun || isGuess, Text
	r.Nest++
	if err := r.read(line.Text); err != nil {
		if r.Unknown(c); !r.guess {
			r.Err = fmt.Errorf("command run by %s: %w", c.Name(), err)
		}
	}
	r.Nest--
	r.by, r.guess, r.Place = by, wasGuess, place
}
