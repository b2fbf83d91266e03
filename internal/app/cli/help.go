package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// overview is the main help. It fits on a screen of 24 rows and 80 columns.
const overview = `Adze is a coding agent for the terminal.

  adze                    open a conversation; -i TEXT starts it with a prompt
  adze -p "PROMPT"        run one prompt and exit
  adze -c, adze -r [ID]   continue the newest session, or another one

Start          adze demo, doctor, models, trust
Sessions       adze undo, redo, diff, usage
               adze session list, show, search, fork, delete, export, replay
Configure      adze config list, get, set, unset, import, path, schema
               adze mcp list, add, remove, tools, logs, login, logout, reconnect
               adze plugin add, list, update, remove
               adze permission check; adze memory show
Run elsewhere  adze acp, mcp serve, fleet
Debug          adze tool list, show, call, run; adze sandbox run
Other          adze completion, man, version, help

  -m, --model NAME         model to use
      --approval-mode MODE plan, default, auto-edit or yolo
      --cwd DIR            work in another directory

Flags, variables, exit codes: adze help all   One command: adze COMMAND --help
`

// environment is the end of the whole help.
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
  3     permission denied (adze tool call, adze trust, adze undo), or not everything restored or shown
        (adze undo, adze diff)
  41    no model, or invalid credentials
  42    invalid prompt, session or --json-schema
  52    invalid settings
  53    --max-turns reached
  54    a call failed or was denied (--strict-tools)
  55    --max-time, --max-tool-calls or --max-tokens reached
  130   interrupted
`

// printHelp explains a command; that of the prompt explains adze, briefly or with all commands and flags.
func printHelp(w io.Writer, c command, all bool) error {
	if c.name == "" && !all {
		_, err := io.WriteString(w, overview)
		return err
	}
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
	for _, f := range flags(&options{}) {
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
	all := len(words) == 1 && words[0] == "all"
	if all {
		words = nil
	}
	c, rest, err := choose(words)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("unknown command %q\nSee 'adze --help'.", strings.Join(words, " "))
	}
	return printHelp(env.Stdout, c, all)
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

// printMan prints the manual page, in the man macros of roff.
func printMan(_ context.Context, env Env, _ *options, _ []string) error {
	_, err := io.WriteString(env.Stdout, manPage(env.Version))
	return err
}

// manPage is adze(1), from the tables of commands and flags.
func manPage(version string) string {
	var m roff
	m.raw(fmt.Sprintf(`.TH ADZE 1 "" "adze %s" "User Commands"`, roffText(version)))
	m.section("NAME")
	m.text("adze - a coding agent for the command line")
	m.section("SYNOPSIS")
	m.raw(".nf")
	m.text("adze [FLAGS] [PROMPT...]")
	m.text("adze COMMAND [FLAGS] [WORDS...]")
	m.raw(".fi")
	m.section("DESCRIPTION")
	m.text("Adze is a conversation with a model about the files in a directory. The model reads, searches and " +
		"edits files and runs " +
		"commands with the tools that Adze offers; changes require your approval. Without arguments it opens a " +
		"conversation in the terminal; with a prompt it answers that and exits.")
	m.section("COMMANDS")
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		m.subsection(strings.Join(strings.Fields("adze "+c.name+" "+c.words), " "))
		m.text(upperFirst(c.about) + ".")
		if rows := flagRows(c); len(rows) > 0 {
			m.flags(rows)
		}
		if c.help != "" {
			m.raw(".PP", ".nf", ".RS 4")
			for line := range strings.SplitSeq(strings.TrimSpace(c.help), "\n") {
				m.text(line)
			}
			m.raw(".RE", ".fi")
		}
	}
	m.fromHelp(environment)
	m.section("FILES")
	m.raw(".TP")
	m.text("~/.adze/settings.json")
	m.text("Your settings.")
	m.raw(".TP")
	m.text(".adze/settings.json")
	m.text("Settings of a project. Most take effect only after adze trust.")
	m.raw(".TP")
	m.text("~/.adze/sessions")
	m.text("Recorded sessions.")
	return m.String()
}

// roff is a page that is being written.
type roff struct{ strings.Builder }

// raw adds requests.
func (m *roff) raw(lines ...string) {
	for _, l := range lines {
		m.WriteString(l + "\n")
	}
}

// text adds a line of text. Spaces in it are kept.
func (m *roff) text(line string) { m.WriteString(roffText(line) + "\n") }

func (m *roff) section(name string) { m.raw(".SH " + name) }
func (m *roff) subsection(name string) {
	m.raw(".SS " + `"` + strings.ReplaceAll(roffText(name), `"`, `""`) + `"`)
}

// flags adds a list of flags. A row without a name continues the one before it.
func (m *roff) flags(rows [][]string) {
	for _, r := range rows {
		if name := strings.TrimSpace(r[0]); name != "" {
			m.raw(".TP")
			m.text(name)
		}
		m.text(r[1])
	}
}

// fromHelp adds the sections of a help text: their titles end with a colon and their rows are indented.
func (m *roff) fromHelp(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		title, rest, found := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "  "):
			name, about, _ := strings.Cut(strings.TrimSpace(line), "   ")
			m.raw(".TP")
			m.text(name)
			m.text(strings.TrimSpace(about))
		case line == "":
		case found && rest == "":
			m.section(strings.ToUpper(title))
		default:
			m.raw(".PP")
			m.text(line)
		}
	}
}

// roffText makes text literal: no character in it is a request or an escape.
func roffText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…",
		"...").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
