package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// printMan prints the manual page, in the man macros of roff.
func printMan(_ context.Context, env Env, _ *options, words []string) error {
	if err := takes(words, 0, "man"); err != nil {
		return err
	}
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
	m.text("Adze holds a conversation with a model about the files in a directory. The model reads, searches and edits files and runs " +
		"commands with the tools that Adze offers; what changes something needs approval. Without arguments it opens a conversation in " +
		"the terminal; with a prompt it answers that and exits.")
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
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...").Replace(s)
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
