package match

import (
	"path"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// mayRun reports whether a command may run the one that the rule means: by its words, its input, or a variable that it is
// given (GIT_EDITOR, PAGER).
func (p *Pattern) mayRun(c *bash.Command) bool {
	if slices.ContainsFunc(c.Prefix, func(a bash.Assign) bool { return p.inText(a.Value.Text) }) {
		return true
	}
	if len(c.Words) == 0 {
		return false
	}
	r, uses := program.RunnerOf(c.Base()), program.RunsOf(c)
	isText := uses.Interprets
	isCommand := !isText && !uses.Data && !uses.Own // the next words may be one
	isSetting := false                              // the next words are settings, as those of git config
	for i, w := range c.Words[1:] {
		before := c.Words[i].Text
		switch {
		case p.inText(w.Text) && (isSetting || p.inFlag(r, before, w.Text)),
			isText && p.inText(w.Text) && (w.Text != p.words[0] || strings.HasPrefix(before, "-")),
			isText && p.glued(c, w.Text),
			isCommand && p.begins(c.Words[i+1:]):
			return true
		}
		isSetting = isSetting || slices.Contains(r.Runs, w.Text) && !strings.HasPrefix(w.Text, "-")
		isCommand = isCommand || uses.Own && slices.Contains(program.RunnerOf("*").Before, w.Text)
	}
	input := c.Input()
	runsInput := isText || isCommand && (!uses.Own || program.StartsShell(c))
	return input != nil && (runsInput && p.inText(input.Text) && prove.Prove(c).Why != "" || input.Kind == bash.Unknown && program.ReadsProgram(c))
}

// inText reports whether a text contains the rule's program as a word.
func (p *Pattern) inText(text string) bool { return p.mention.MatchString(text) }

// begins reports whether the rule's command may begin with the first of words.
func (p *Pattern) begins(words []bash.Word) bool {
	w := words[0]
	switch {
	case w.Kind != bash.Literal:
		return false
	case sameProgram(path.Base(w.Text), p.program):
		return p.Match(&bash.Command{Words: words}) != No
	}
	return strings.ContainsAny(w.Text, " \t\n;|&") && p.inText(w.Text)
}

// inFlag reports whether a word is the value of a flag or setting that is a program: go test -exec rm,
// git fetch --upload-pack=rm, docker run --entrypoint rm, env EDITOR=rm git commit.
func (p *Pattern) inFlag(r program.Runner, before, word string) bool {
	name, value, attached := strings.Cut(word, "=")
	switch {
	case strings.Contains(word, "ext::"), attached && (r.Assigns || namesProgram(name)) && p.inText(value):
		return true
	case slices.Contains(r.Exec, before): // what it runs is read on its own
		return false
	}
	return strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && (namesProgram(before) || slices.Contains(r.Runs, before))
}

// namesProgram reports whether a flag or setting with this name has a program for a value.
func namesProgram(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(program.RunnerOf("*").Runs, func(part string) bool { return strings.Contains(name, part) })
}

// glued reports whether a word is short flags with the rule's program right after them: tar -Irm. In a script of sed, it
// follows the e that runs it.
func (p *Pattern) glued(c *bash.Command, word string) bool {
	if strings.HasSuffix(c.Base(), "sed") && p.inText(strings.ReplaceAll(word, "e"+p.program, " "+p.program)) {
		return true
	}
	at := strings.Index(word, p.program)
	return at > 1 && program.Cluster(word[:at]) && p.inText(word[at:])
}
