package contextfiles

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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
	Kind  PartKind
	Text  string // of a LiteralPart; the path of a FilePart; the command of a ShellPart
	Line  int    // where it starts
	Arg   int    // of an ArgumentsPart: the number of the only argument; 0: all
	Shell []Part // the pieces of a ShellPart: literals and arguments
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

// TakesArguments reports whether the prompt has a placeholder for arguments.
func (c Command) TakesArguments() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool {
		return p.Kind == ArgumentsPart || (Command{Parts: p.Shell}).TakesArguments()
	})
}

// maxCommandDepth is the maximum depth of nested directories of commands.
const maxCommandDepth = 5

// Commands reads the command files: those of the project, if it is trusted, then the user's. The first of equal names
// counts. Invalid files are reported, with file and line.
func Commands(p Places) ([]Command, []string) {
	all, notes := readAll(p, commandKind, (*definitionDir).command)
	return unique(all, func(c Command) string { return c.Name }, nil), notes
}

// command reads a command file.
func (d *definitionDir) command(path string) (Command, error) {
	f, err := d.open(path, d.ignored)
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
	if d.plugin.Dir != "" && d.seals != nil { // a review shows it as it is written
		text = strings.ReplaceAll(text, "${CLAUDE_PLUGIN_ROOT}", d.plugin.Dir)
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = onLine(first, "the prompt is empty")
	}
	form := d.form
	if form == dollars && regexp.MustCompile(`\$0\b|\$ARGUMENTS\[`).MatchString(text) {
		form = dollarsZero
	}
	if err == nil {
		c.Parts, err = form.parts(strings.TrimRight(text, " \t\n"), first, false)
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
	m, err := fromYAML(front)
	if err != nil {
		line, why := 1, "the front matter isn't valid YAML"
		if found := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(err.Error()); found != nil {
			line, _ = strconv.Atoi(found[1])
			why += ": " + found[2]
		}
		return "", 1, onLine(line+1, why)
	}
	c.Description, c.Hint, c.Allowed = m.Description, m.Hint, m.Allowed
	return body, 1 + strings.Count(text[:len(text)-len(body)], "\n"), nil
}

// parts finds the placeholders of a prompt that starts in a line, or only those of arguments. Their replacements aren't
// parsed again, so that no file and no argument can run a command.
func (f form) parts(text string, line int, arguments bool) (parts []Part, err error) {
	placeholders, others := `\$ARGUMENTS(?:\[\d+\])?|\$\d+`, "|(?:^|[ \t\n])!`[^`\n]+`"
	if f == braces {
		placeholders, others = `\$ARGUMENTS|\{\{args\}\}`, `|[!@]\{`
	}
	if !arguments {
		placeholders += others
	}
	from := 0 // of what is in no part yet
	lineAt := func(i int) int { return line + strings.Count(text[:i], "\n") }
	add := func(p Part, end int) {
		if from < end {
			p.Line = lineAt(from)
			parts, from = append(parts, p), end
		}
	}
	for _, found := range regexp.MustCompile(placeholders).FindAllStringIndex(text, -1) {
		mark, end := strings.TrimLeft(text[found[0]:found[1]], " \t\n"), found[1]
		p := Part{Kind: ArgumentsPart}
		number, err := strconv.Atoi(strings.Trim(mark, "$ARGUMENTS[]")) // others are all arguments
		if err == nil && f == dollarsZero {
			number++
		}
		if p.Arg = number; end-len(mark) < from || number > 9 || err == nil && number == 0 {
			continue
		}
		add(Part{Text: text[from : end-len(mark)]}, end-len(mark))
		if mark[0] == '!' || mark[0] == '@' {
			p.Text = strings.Trim(mark[1:], "`")
			if f == braces {
				length := closingBrace(text[end:])
				if length < 0 {
					return nil, onLine(lineAt(from), mark+" isn't closed with }")
				}
				p.Text, end = text[end:end+length], end+length+1
			}
			if p.Text = strings.TrimSpace(p.Text); p.Text == "" {
				return nil, onLine(lineAt(from), text[from:end]+" is empty")
			}
			p.Kind = FilePart
			if mark[0] == '!' {
				p.Kind = ShellPart
				p.Shell, _ = f.parts(p.Text, lineAt(from), true) // arguments have no errors
			}
		}
		add(p, end)
	}
	add(Part{Text: text[from:]}, len(text))
	return parts, nil
}

// shellLines returns the commands of a command file as they are written.
func (c Command) shellLines() (lines []string) {
	for _, p := range c.Parts {
		if p.Kind == ShellPart {
			lines = append(lines, "!{"+p.Text+"}")
		}
	}
	return lines
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
