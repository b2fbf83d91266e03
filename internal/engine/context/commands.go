package contextfiles

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/toml"
)

// Command is a prompt in a file that the user sends by name: commands/git/commit.md is /git:commit.
type Command struct {
	Name        string
	Description string
	Hint        string   // its arguments
	Allowed     []string // the tools that its commands may use; nil: not restricted
	Path        string
	Scope       Scope
	Mentions    bool // @path in its text attaches a file
	Parts       []Part
	Last        int // the number of the argument that is the rest of them; 0: none
}

// Part is a piece of a command's prompt.
type Part struct {
	Kind PartKind
	Text string // of a LiteralPart; the path of a FilePart
	Line int    // where it starts
	Arg  int    // of an ArgumentsPart: the number of the only argument; 0: all
	// Shell is the command of a ShellPart: literals and arguments.
	Shell []Part
}

// PartKind is the kind of a part.
type PartKind uint8

// The kinds of parts.
const (
	LiteralPart   PartKind = iota
	ArgumentsPart          // {{args}} or $ARGUMENTS: the text after the command
	ShellPart              // !{command}: the output of a command
	FilePart               // @{path}: the content of a file
)

// Runs reports whether the command runs programs.
func (c Command) Runs() bool { return c.has(ShellPart) }

// TakesArguments reports whether the prompt has a placeholder for arguments.
func (c Command) TakesArguments() bool {
	if c.has(ArgumentsPart) {
		return true
	}
	for _, p := range c.Parts {
		if (Command{Parts: p.Shell}).has(ArgumentsPart) {
			return true
		}
	}
	return false
}

func (c Command) has(k PartKind) bool {
	for _, p := range c.Parts {
		if p.Kind == k {
			return true
		}
	}
	return false
}

// maxCommandDepth is the maximum depth of nested directories of commands.
const maxCommandDepth = 5

// Commands reads the command files: those of the project, if it is trusted, then the user's. The first of equal names
// counts. Invalid files are reported, with file and line.
func Commands(p Places) ([]Command, []string) {
	var all []Command
	dirs, notes := p.directories(commandKind)
	for _, d := range dirs {
		files, err := d.files(maxDefinitions)
		notes = noted(notes, err)
		for _, path := range files {
			c, err := d.command(path)
			if notes = noted(notes, err); err == nil {
				all = append(all, c)
			}
		}
	}
	return unique(all, func(c Command) string { return c.Name }), notes
}

// command reads a command file.
func (d definitionDir) command(path string) (Command, error) {
	f, err := d.open(path)
	if err == nil {
		err = d.approved(path, f.text, true)
	}
	if err != nil {
		return Command{}, err
	}
	ext := filepath.Ext(path)
	c := Command{Path: f.path, Scope: d.scope, Mentions: d.form != braces,
		Name: strings.ReplaceAll(filepath.ToSlash(strings.TrimSuffix(path[len(d.dir)+1:], ext)), "/", ":")}
	if err := checkName(path, c.Name); err != nil {
		return Command{}, err
	}
	c.Name = d.name(c.Name)
	text, first := f.text, 1
	if strings.EqualFold(ext, ".toml") {
		text, first, err = c.fromTOML(text)
	} else {
		text, first, err = c.fromMarkdown(text)
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = onLine(first, "the prompt is empty")
	}
	if err == nil {
		c.Parts, err = d.form.parts(strings.TrimRight(text, " \t\n"), first, false)
	}
	for n := 9; n > 0 && c.Last == 0 && d.form == dollarsRest; n-- {
		if strings.Contains(text, fmt.Sprint("$", n)) {
			c.Last = n
		}
	}
	if err != nil {
		return Command{}, at(path, err)
	}
	if c.Description == "" {
		c.Description = firstLine(text)
	}
	c.Description, c.Hint = humanize.Line(c.Description, maxAbout), humanize.Line(c.Hint, maxAbout)
	return c, nil
}

func onLine(line int, text string) error { return &toml.Error{Line: line, Text: text} }

// at returns an error in a file, with its line.
func at(path string, err error) error {
	var l *toml.Error
	if errors.As(err, &l) {
		return fmt.Errorf("read %s:%d: %s", path, l.Line, l.Text)
	}
	return fmt.Errorf("read %s: %w", path, err)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// fromTOML sets the description, and returns the prompt and its first line.
func (c *Command) fromTOML(text string) (prompt string, first int, err error) {
	found, lines, err := toml.Read([]byte(text))
	prompt, ok := found["prompt"].(string)
	if err == nil && !ok {
		err = errors.New("expected prompt = \"…\"")
	}
	c.Description, _ = found["description"].(string)
	return prompt, lines["prompt"], err
}

// fromMarkdown reads the front matter, if any, and returns the prompt and its first line.
func (c *Command) fromMarkdown(text string) (prompt string, first int, err error) {
	if !strings.HasPrefix(text, "---\n") {
		return text, 1, nil
	}
	front, body, ok := split(text)
	if !ok {
		return "", 1, onLine(1, "the front matter isn't closed with a line of ---")
	}
	m, plainly := plain(front)
	if !plainly {
		var err error
		if m, err = fromYAML(front); err != nil {
			line, why := 1, "the front matter isn't valid YAML"
			if found := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(err.Error()); found != nil {
				line, _ = strconv.Atoi(found[1])
				why += ": " + found[2]
			}
			return "", 1, onLine(line+1, why)
		}
	}
	c.Description, c.Hint, c.Allowed = m.Description, m.Hint, m.Allowed
	return body, 1 + strings.Count(text[:len(text)-len(body)], "\n"), nil
}

// parts finds the placeholders of a prompt that starts in a line, or only those of arguments. Their replacements aren't
// parsed again, so that no file and no argument can run a command.
func (f form) parts(text string, line int, arguments bool) ([]Part, error) {
	var parts []Part
	from := 0 // of the literal
	for i := 0; i < len(text); {
		rest := text[i:]
		p, length, err := Part{Kind: ArgumentsPart}, 0, error(nil)
		if p.Arg, length = f.argument(rest); length == 0 && !arguments {
			p, length, err = f.placeholder(rest, i == 0 || strings.ContainsRune(" \t\n", rune(text[i-1])))
		}
		if length == 0 && err == nil {
			i++
			continue
		}
		p.Line = line + strings.Count(text[:i], "\n")
		if err != nil {
			return nil, onLine(p.Line, err.Error())
		}
		if p.Kind == ShellPart {
			p.Shell, _ = f.parts(p.Text, p.Line, true) // arguments have no errors
			p.Text = ""
		}
		parts = append(appendLiteral(parts, text, from, i, line), p)
		i += length
		from = i
	}
	return appendLiteral(parts, text, from, len(text), line), nil
}

func appendLiteral(parts []Part, text string, from, to, line int) []Part {
	if from == to {
		return parts
	}
	return append(parts, Part{Kind: LiteralPart, Text: text[from:to], Line: line + strings.Count(text[:from], "\n")})
}

// placeholder returns the placeholder that a text starts with, and its length; 0: none. begins is whether a word begins
// there.
func (f form) placeholder(s string, begins bool) (Part, int, error) {
	if f != braces {
		if rest, ok := strings.CutPrefix(s, "!`"); ok && begins {
			if end := strings.IndexAny(rest, "`\n"); end > 0 && rest[end] == '`' {
				return Part{Kind: ShellPart, Text: strings.TrimSpace(rest[:end])}, end + len("!``"), nil
			}
		}
		return Part{}, 0, nil
	}
	if !strings.HasPrefix(s, "!{") && !strings.HasPrefix(s, "@{") {
		return Part{}, 0, nil
	}
	end := closingBrace(s[2:])
	if end < 0 {
		return Part{}, 0, errors.New(s[:2] + " isn't closed with }")
	}
	inner := strings.TrimSpace(s[2 : 2+end])
	if inner == "" {
		return Part{}, 0, errors.New(s[:2] + "} is empty")
	}
	if s[0] == '!' {
		return Part{Kind: ShellPart, Text: inner}, end + 3, nil
	}
	return Part{Kind: FilePart, Text: inner}, end + 3, nil
}

// shellLines returns the commands of a command file, with placeholders for arguments.
func (c Command) shellLines() (lines []string) {
	for _, p := range c.Parts {
		if p.Kind != ShellPart {
			continue
		}
		var b strings.Builder
		for _, s := range p.Shell {
			switch {
			case s.Kind != ArgumentsPart:
				b.WriteString(s.Text)
			case s.Arg > 0:
				fmt.Fprintf(&b, "$%d", s.Arg)
			default:
				b.WriteString("{{args}}")
			}
		}
		lines = append(lines, "!{"+b.String()+"}")
	}
	return lines
}

// argument returns the length of the placeholder of arguments that a text starts with, 0 without one, and the
// number of the argument, 0 for all.
func (f form) argument(s string) (arg, length int) {
	if s[0] != '$' && s[0] != '{' {
		return 0, 0
	}
	for _, p := range []string{"{{args}}", "$ARGUMENTS"} {
		if strings.HasPrefix(s, p) && (f == braces || s[0] == '$') {
			return 0, len(p)
		}
	}
	if f != braces && len(s) > 1 && s[0] == '$' && '1' <= s[1] && s[1] <= '9' &&
		(len(s) == 2 || s[2] < '0' || s[2] > '9') {
		return int(s[1] - '0'), 2
	}
	return 0, 0
}

// closingBrace returns where the brace before s is closed; -1 if it isn't.
func closingBrace(s string) int {
	depth := 1
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
