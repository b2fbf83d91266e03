package match

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// What runs a program that one of its flags names is no wrapper and no interpreter: go test -exec rm, git fetch
// --upload-pack=rm, docker run --entrypoint rm. Deny and ask rules look for it in the values of flags whose names tell.

// runningNames are what the name of such a flag, or of such a setting, holds.
var runningNames = []string{
	"exec", "command", "cmd", "program", "entrypoint", "wrapper", "shell", "editor", "askpass", "invoke", "runner", "vettool", "onerror",
	"onoutofmemory", "call", "pager", "linker", "config", "upload-pack", "receive-pack", "smtp-server", "httpd", "browser", "hook", "filter",
	"fsmonitor", "external", "python",
}

// runningFlags are those whose names do not tell.
var runningFlags = map[string]string{
	"git": "-u -b -d -O -x -c", "fly": "-C", "flyctl": "-C", "vagrant": "-c", "npx": "-c", "npm": "-c", "apt": "-o", "apt-get": "-o", "rustc": "-C",
}

// byFlag reports whether a flag of a command may name the program that the rule means.
func (p *Pattern) byFlag(c *bash.Command) bool {
	words := c.Words[1:]
	short := strings.Fields(runningFlags[c.Base()])
	for i, w := range words {
		name, value, attached := strings.Cut(w.Text, "=")
		switch {
		case attached && tellsRunning(name) && p.inText(value):
			return true
		case attached && program.WrapperOf(c.Base()).Assigns && p.inText(value): // env EDITOR=rm git commit
			return true
		case attached || i+1 == len(words) || !strings.HasPrefix(name, "-"):
		case (tellsRunning(name) || slices.Contains(short, name)) && p.inText(words[i+1].Text):
			return true
		}
	}
	return c.Base() == "git" && p.bySetting(words)
}

func tellsRunning(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(runningNames, func(part string) bool { return strings.Contains(name, part) })
}

// bySetting reports whether git gets the program from a setting, an address or a name of its own.
func (p *Pattern) bySetting(words []bash.Word) bool {
	sub := slices.IndexFunc(words, func(w bash.Word) bool { return w.Text == "config" || w.Text == "merge-index" })
	for i, w := range words {
		if (strings.Contains(w.Text, "ext::") || sub >= 0 && i > sub) && p.inText(w.Text) {
			return true
		}
	}
	return false
}

// glued reports whether a word is short flags with the program that the rule means right behind them: tar -Irm. In a
// script of sed, it stands behind the e that runs it.
func (p *Pattern) glued(c *bash.Command, word string) bool {
	if name := c.Base(); (name == "sed" || name == "gsed") && program.ContainsWord(strings.ReplaceAll(word, "e"+p.program, " "+p.program), p.program) {
		return true
	}
	at := strings.Index(word, p.program)
	return at > 1 && program.Cluster(word[:at]) && program.ContainsWord(word[at:], p.program)
}
