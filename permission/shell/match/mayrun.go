package match

import (
	"path"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// mentioned reports whether a command may run the one that the rule means: by its words, its input, or a variable that
// it is given (GIT_EDITOR, PAGER).
func (p *Pattern) mentioned(c *bash.Command) Match {
	if slices.ContainsFunc(c.Prefix, func(a bash.Assign) bool { return p.inText(a.Value.Text) }) {
		return Maybe
	}
	if len(c.Words) == 0 {
		return No
	}
	if p.byFlag(c) {
		return Maybe
	}
	words := c.Words[1:]
	switch program.RunsOf(c) {
	case program.Data:
		return No
	case program.Own:
		i := slices.IndexFunc(words, func(w bash.Word) bool { return slices.Contains(program.RunWords, w.Text) })
		if i < 0 {
			return No
		}
		if m := p.among(words[i+1:]); m != No || !program.StartsShell(c) {
			return m
		}
	case program.Interpreter:
		for i, w := range words {
			if p.inText(w.Text) && (w.Text != p.words[0] || strings.HasPrefix(c.Words[i].Text, "-")) || p.glued(c, w.Text) {
				return Maybe
			}
		}
	default:
		if p.among(words) == Maybe {
			return Maybe
		}
	}
	if slices.ContainsFunc(c.Redirs, func(d bash.Redirect) bool { return strings.HasPrefix(d.Op, "<<") && p.inText(d.Target.Text) }) {
		return Maybe
	}
	return No
}

// among looks for the rule's command in each place of words.
func (p *Pattern) among(words []bash.Word) Match {
	for i, w := range words {
		switch {
		case w.Kind != bash.Literal:
		case sameProgram(path.Base(w.Text), p.program):
			if p.Match(&bash.Command{Words: words[i:]}) != No {
				return Maybe
			}
		case strings.ContainsAny(w.Text, " \t\n;|&") && p.inText(w.Text):
			return Maybe
		}
	}
	return No
}

func (p *Pattern) inText(text string) bool { return program.ContainsWord(text, p.program) }

// byFlag reports whether the value of a flag or setting may be the program that the rule means: go test -exec rm,
// git fetch --upload-pack=rm, docker run --entrypoint rm.
func (p *Pattern) byFlag(c *bash.Command) bool {
	r := program.RunnerOf(c.Base())
	settings := false // the words of git config are settings
	for i, w := range c.Words[1:] {
		name, value, attached := strings.Cut(w.Text, "=")
		before := c.Words[i].Text
		switch {
		case !p.inText(w.Text):
			settings = settings || c.Base() == "git" && (w.Text == "config" || w.Text == "merge-index")
		case settings || strings.Contains(w.Text, "ext::"):
			return true
		case attached && (r.Assigns || namesProgram(name)) && p.inText(value): // env EDITOR=rm git commit
			return true
		case slices.Contains(r.Exec, before): // what it runs is read on its own
		case strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && (namesProgram(before) || slices.Contains(r.Runs, before)):
			return true
		}
	}
	return false
}

// namesProgram reports whether a flag or setting with this name has a program for a value.
func namesProgram(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(runningNames, func(part string) bool { return strings.Contains(name, part) })
}

// runningNames are what the names of such flags and settings contain.
var runningNames = strings.Fields("exec command cmd program entrypoint wrapper shell editor askpass invoke runner vettool onerror onoutofmemory call pager linker config " +
	"upload-pack receive-pack smtp-server httpd browser hook filter fsmonitor external python")

// glued reports whether a word is short flags with the program that the rule means right behind them: tar -Irm. In a
// script of sed, it stands behind the e that runs it.
func (p *Pattern) glued(c *bash.Command, word string) bool {
	if name := c.Base(); (name == "sed" || name == "gsed") && p.inText(strings.ReplaceAll(word, "e"+p.program, " "+p.program)) {
		return true
	}
	at := strings.Index(word, p.program)
	return at > 1 && program.Cluster(word[:at]) && p.inText(word[at:])
}

// asGit makes git of git-push, and of a front end that takes git's words; nil of others.
func asGit(c *bash.Command) *bash.Command {
	words := []bash.Word{{Text: "git"}}
	if sub, ok := strings.CutPrefix(c.Base(), "git-"); ok {
		words = append(words, bash.Word{Text: sub})
	} else if c.Base() != "hub" {
		return nil
	}
	return &bash.Command{Words: append(words, c.Words[1:]...), AddsArgs: c.AddsArgs}
}

// aliases reports whether git may take one word of c for others: its subcommand is not git's own, or a word sets an alias.
func aliases(c *bash.Command) bool {
	if slices.ContainsFunc(c.Words, func(w bash.Word) bool {
		return strings.Contains(strings.ToLower(w.Text), "alias.") || strings.HasPrefix(w.Text, "--config-env")
	}) {
		return true
	}
	for i, w := range c.Words[1:] {
		if w.Kind != bash.Literal {
			return false
		}
		if !strings.HasPrefix(w.Text, "-") && !slices.Contains(program.GitValued, c.Words[i].Text) {
			return program.RunnerOf("git "+w.Text).Uses() != program.Data
		}
	}
	return false
}
