package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printHelp explains a command; that of the prompt explains adze.
func printHelp(w io.Writer, c command) error {
	var b strings.Builder
	if c.name == "" {
		b.WriteString("adze: a coding agent and its tools\n\n")
	} else {
		fmt.Fprintf(&b, "adze %s: %s\n\n", c.name, c.about)
	}
	usage := "adze"
	for _, word := range []string{c.name, "[FLAGS]", c.words} {
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
		b.WriteString("\nWithout a model: adze demo. Models: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL.\n")
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), "  \n", "\n"))
	return err
}

func commandRows(group string) [][]string {
	var rows [][]string
	for _, c := range commands() {
		if c.name != "" && strings.HasPrefix(c.name, group) {
			rows = append(rows, []string{strings.TrimSpace("adze " + c.name + " " + c.words), c.about})
		}
	}
	return rows
}

func flagRows(c command) [][]string {
	var rows [][]string
	for _, f := range flags() {
		if !f.known(c.key()) {
			continue
		}
		name := "    --" + f.long
		if f.short != "" {
			name = "-" + f.short + ", --" + f.long
		}
		if f.value != "" {
			name += " " + f.value
		}
		rows = append(rows, []string{name, f.about})
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

// groupHelp is what a group such as "adze tool" does on its own: it lists its commands.
func groupHelp(group string) command {
	list := "adze " + group + " needs one of its commands:\n" + table(commandRows(group))
	return command{
		name: group, words: "COMMAND", about: "a group of commands", group: true,
		run: func(_ context.Context, _ Env, _ *options, words []string) error {
			if len(words) > 0 {
				return unknownCommand(group, words[0], list)
			}
			return usagef("%s", strings.TrimRight(list, "\n"))
		},
	}
}

func runHelp(_ context.Context, env Env, _ *options, words []string) error {
	c, rest, err := choose(words)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("there is no command adze %s; adze help lists them", strings.Join(words, " "))
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
