package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// environment is the end of the main help.
const environment = `
Environment:
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY      API key of the model's provider
  OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GEMINI_BASE_URL   URL of its server, or of a compatible one
  OPENAI_MODEL, ANTHROPIC_MODEL, GEMINI_MODEL            model to use
  ADZE_HOME         directory of your settings and state (default: ~/.adze)
  VISUAL, EDITOR    editor for changing a proposed edit
  NO_COLOR          disable colors
The model variables can also be in ~/.adze/.env.

Settings: ~/.adze/settings.json (user), .adze/settings.json (project)

Exit codes:
  0     success
  1     error
  2     wrong usage
  3     permission denied (adze tool call, adze trust, adze undo)
  41    no model, or invalid credentials
  42    invalid prompt, session or --json-schema
  52    invalid settings
  53    --max-turns reached
  54    a tool failed (--strict-tools)
  55    --max-time, --max-tool-calls or --max-tokens reached
  130   interrupted
`

// printHelp explains a command; that of the prompt explains adze.
func printHelp(w io.Writer, c command) error {
	var b strings.Builder
	if c.name == "" {
		b.WriteString("adze: a coding agent for the command line\n\n")
	} else {
		fmt.Fprintf(&b, "adze %s: %s\n\n", c.name, c.about)
	}
	usage := "adze"
	takes := "[FLAGS]"
	if c.group {
		takes = ""
	}
	for _, word := range []string{c.name, takes, c.words} {
		if word != "" {
			usage += " " + word
		}
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", usage)
	if c.name == "" || c.group {
		b.WriteString("\nCommands:\n" + table(commandRows(c.name)))
	}
	if rows := flagRows(c); len(rows) > 0 {
		b.WriteString("\nFlags:\n" + table(rows))
	}
	if c.help != "" {
		b.WriteString("\nExamples:\n  " + strings.ReplaceAll(strings.TrimSpace(c.help), "\n", "\n  ") + "\n")
	}
	if c.name == "" {
		b.WriteString(environment)
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), "  \n", "\n"))
	return err
}

func commandRows(group string) [][]string {
	var rows [][]string
	for _, c := range commands() {
		if c.name != "" && !c.hidden && strings.HasPrefix(c.name, group) {
			rows = append(rows, []string{strings.TrimSpace("adze " + c.name + " " + c.words), c.about})
		}
	}
	return rows
}

func flagRows(c command) [][]string {
	var rows [][]string
	for _, f := range flags() {
		if f.hidden || !f.known(c.key()) {
			continue
		}
		name := "    --" + f.long
		if f.short != "" {
			name = "-" + f.short + ", --" + f.long
		}
		if f.value != "" {
			name += " " + f.value
		}
		about := f.about
		if own, ok := f.abouts[c.key()]; ok {
			about = own
		}
		for i, line := range strings.Split(about, "\n") {
			if i > 0 {
				name = ""
			}
			rows = append(rows, []string{name, line})
		}
	}
	return rows
}

func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "  %s\n", strings.Join(r, "\t"))
	}
	w.Flush()
	return b.String()
}

// groupAbout is the summary of a group of commands.
func groupAbout(group string) string {
	return map[string]string{
		"tool":       "list, inspect and call tools",
		"mcp":        "manage MCP servers, or run Adze as one",
		"config":     "show and change settings",
		"memory":     "show the context files",
		"permission": "check permission rules",
		"sandbox":    "run commands in the sandbox",
		"session":    "manage recorded sessions",
	}[group]
}

// groupHelp is what a group such as "adze tool" does on its own: it lists its commands.
func groupHelp(group string) command {
	list := "Commands:\n" + table(commandRows(group))
	return command{
		name: group, words: "COMMAND", about: groupAbout(group), group: true,
		run: func(_ context.Context, _ Env, _ *options, words []string) error {
			if len(words) > 0 {
				return unknownCommand(group, words[0], list)
			}
			return usagef("no command given after 'adze %s'\n%s", group, strings.TrimRight(list, "\n"))
		},
	}
}

func runHelp(_ context.Context, env Env, _ *options, words []string) error {
	c, rest, err := choose(words)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("unknown command %q\nSee 'adze --help'.", strings.Join(words, " "))
	}
	return printHelp(env.Stdout, c)
}

// unknownCommand suggests the command of a group that a word is close to, or lists them all.
func unknownCommand(group, word, list string) error {
	for _, c := range commands() {
		if name, ok := strings.CutPrefix(c.name, group+" "); ok && isClose(word, name) {
			return usagef("unknown command %q\nDid you mean 'adze %s'?", group+" "+word, c.name)
		}
	}
	return usagef("unknown command %q\n%s", group+" "+word, strings.TrimRight(list, "\n"))
}
