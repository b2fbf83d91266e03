package contextfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Command is a prompt in a file that the user sends by name: commands/git/commit.md is /git:commit.
type Command struct {
	Name        string
	Description string
	Hint        string // its arguments
	Path        string
	Scope       Scope
	Parts       []Part
}

// Part is a piece of a command's prompt.
type Part struct {
	Kind PartKind
	Text string // of a LiteralPart; the path of a FilePart
	Line int    // where it starts
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

// Commands reads the command files, *.md and *.toml: of .adze/commands and .qwen/commands of the project, then of
// commands in the user's directories. The first of equal names counts. They are read even if the project isn't trusted:
// the caller decides whether they may run programs. Invalid files are reported, with file and line.
func Commands(p Places) ([]Command, []string) {
	var all []Command
	var notes []string
	ignored := p.ignored()
	p.Trusted = true
	for _, dir := range p.directories("commands") {
		files, err := dir.commandFiles()
		if err != nil {
			notes = append(notes, err.Error())
		}
		for _, f := range files {
			c, err := dir.command(f, ignored)
			if err != nil {
				notes = append(notes, err.Error())
				continue
			}
			all = append(all, c)
		}
	}
	return unique(all, func(c Command) string { return c.Name }), notes
}

// commandFiles returns the paths of command files below a directory, relative to it.
func (p definitionDir) commandFiles() ([]string, error) {
	if p.roots != nil {
		if _, ok := names.Within(real(p.dir), p.roots); !ok {
			return nil, fmt.Errorf("list %s: it is a link to a path outside %s", p.dir, p.roots[0])
		}
	}
	var found []string
	tooMany := fmt.Errorf("list %s: it has more than %d command files, and only the first ones are read", p.dir,
		maxDefinitions)
	err := filepath.WalkDir(real(p.dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("list commands: %w", err)
		}
		rel, err := filepath.Rel(real(p.dir), path)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") || strings.Count(filepath.ToSlash(rel), "/") >= maxCommandDepth {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := strings.ToLower(filepath.Ext(rel)); ext != ".md" && ext != ".toml" {
			return nil
		}
		if len(found) == maxDefinitions {
			return tooMany
		}
		found = append(found, rel)
		return nil
	})
	return found, err
}

// command reads a command file.
func (p definitionDir) command(rel string, ignored *ignore.Rules) (Command, error) {
	path := filepath.Join(p.dir, rel)
	f, err := open(path, p.roots, ignored)
	if err != nil {
		return Command{}, err
	}
	if len(f.text) > maxDefinition {
		return Command{}, fmt.Errorf("read %s: it has more than %d KB; shorten it", path, maxDefinition>>10)
	}
	ext := filepath.Ext(rel)
	c := Command{Path: f.path, Scope: p.scope, Name: strings.ReplaceAll(filepath.ToSlash(strings.TrimSuffix(rel, ext)),
		"/", ":")}
	if len([]rune(c.Name)) > maxName || !nameForm().MatchString(c.Name) {
		return Command{}, fmt.Errorf("read %s: its name is not one of at most %d letters, digits and _ . -", path,
			maxName)
	}
	text, first := f.text, 1
	if strings.EqualFold(ext, ".toml") {
		text, first, err = c.fromTOML(text)
	} else {
		text, first, err = c.fromMarkdown(text)
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = &lineError{first, "the prompt is empty"}
	}
	if err == nil {
		c.Parts, err = parseParts(strings.TrimRight(text, " \t\n"), first)
	}
	if err != nil {
		return Command{}, at(path, err)
	}
	if c.Description == "" {
		c.Description = firstLine(text)
	}
	c.Description, c.Hint = short(c.Description), short(c.Hint)
	return c, nil
}

// at returns an error in a file, with its line.
func at(path string, err error) error {
	var l *lineError
	if errors.As(err, &l) {
		return fmt.Errorf("read %s:%d: %s", path, l.line, l.text)
	}
	return fmt.Errorf("read %s: %w", path, err)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// fromTOML sets the description, and returns the prompt and its first line.
func (c *Command) fromTOML(text string) (prompt string, first int, err error) {
	found, err := tomlStrings(text)
	if err != nil {
		return "", 1, err
	}
	p, ok := found["prompt"]
	if !ok {
		return "", 1, errors.New("expected prompt = \"…\"")
	}
	c.Description = found["description"].text
	return p.text, p.line, nil
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line (\d+): (.*)`) })

// fromMarkdown reads the front matter, if any, and returns the prompt and its first line.
func (c *Command) fromMarkdown(text string) (prompt string, first int, err error) {
	if !strings.HasPrefix(text, "---\n") {
		return text, 1, nil
	}
	front, body, ok := split(text)
	if !ok {
		return "", 1, &lineError{1, "the front matter isn't closed with a line of ---"}
	}
	var m struct {
		Description string `yaml:"description"`
		Hint        string `yaml:"argument-hint"`
	}
	if err := yaml.Unmarshal([]byte(front), &m); err != nil {
		if yaml.Unmarshal([]byte(quoted(front)), &m) != nil {
			line, why := 1, "the front matter isn't valid YAML"
			if found := yamlLine().FindStringSubmatch(err.Error()); found != nil {
				line, _ = strconv.Atoi(found[1])
				why += ": " + found[2]
			}
			return "", 1, &lineError{line + 1, why}
		}
	}
	c.Description, c.Hint = m.Description, m.Hint
	return body, 1 + strings.Count(text[:len(text)-len(body)], "\n"), nil
}

// parseParts finds the placeholders of a prompt that starts in a line. Their replacements are not parsed again, so that
// no file and no argument can run a command.
func parseParts(text string, line int) ([]Part, error) {
	var parts []Part
	literal := strings.Builder{}
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, Part{Kind: LiteralPart, Text: literal.String(), Line: line})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		now := line + strings.Count(text[:i], "\n")
		switch {
		case argumentsAt(rest) > 0:
			flush()
			parts = append(parts, Part{Kind: ArgumentsPart, Line: now})
			i += argumentsAt(rest)
		case strings.HasPrefix(rest, "!{"), strings.HasPrefix(rest, "@{"):
			end := closingBrace(rest[2:])
			if end < 0 {
				return nil, &lineError{now, rest[:2] + " isn't closed with }"}
			}
			inner := strings.TrimSpace(rest[2 : 2+end])
			if inner == "" {
				return nil, &lineError{now, rest[:2] + "} is empty"}
			}
			flush()
			p := Part{Kind: FilePart, Text: inner, Line: now}
			if rest[0] == '!' {
				p = Part{Kind: ShellPart, Line: now, Shell: shellParts(inner, now)}
			}
			parts = append(parts, p)
			i += end + 3
		default:
			literal.WriteByte(text[i])
			i++
		}
	}
	flush()
	return parts, nil
}

// shellParts returns a command with the placeholders of arguments in it.
func shellParts(command string, line int) []Part {
	var parts []Part
	from := 0
	for i := 0; i < len(command); {
		n := argumentsAt(command[i:])
		if n == 0 {
			i++
			continue
		}
		if i > from {
			parts = append(parts, Part{Kind: LiteralPart, Text: command[from:i], Line: line})
		}
		parts = append(parts, Part{Kind: ArgumentsPart, Line: line})
		i += n
		from = i
	}
	if from < len(command) {
		parts = append(parts, Part{Kind: LiteralPart, Text: command[from:], Line: line})
	}
	return parts
}

// argumentsAt returns the length of the placeholder of arguments that a text starts with; 0: none.
func argumentsAt(s string) int {
	for _, p := range []string{"{{args}}", "$ARGUMENTS"} {
		if strings.HasPrefix(s, p) {
			return len(p)
		}
	}
	return 0
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
