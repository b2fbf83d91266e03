package match

import (
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// mentioned reports whether a command may run the one that the rule means: by its words, its input, or a variable that
// it is given (GIT_EDITOR, PAGER).
func (p *Pattern) mentioned(c *bash.Command) Match {
	if !p.within(c) {
		return No
	}
	for _, a := range c.Prefix {
		if p.inText(a.Value.Text) {
			return Maybe
		}
	}
	if len(c.Words) == 0 {
		return No
	}
	words := c.Words[1:]
	switch program.RunsOf(c) {
	case program.Data:
		if !onlyData(c) && p.byFlag(c) {
			return Maybe
		}
		return No
	case program.Own:
		if p.byFlag(c) {
			return Maybe
		}
		i := slices.IndexFunc(words, func(w bash.Word) bool { return slices.Contains(program.RunWords, w.Text) })
		if i < 0 {
			return No
		}
		if m := p.among(words[i+1:]); m != No || !program.StartsShell(c) {
			return m
		}
	case program.Interpreter:
		for i, w := range words {
			if p.inText(w.Text) && (w.Text != p.words[0] || i > 0 && strings.HasPrefix(words[i-1].Text, "-")) || p.glued(c, w.Text) {
				return Maybe
			}
		}
	default:
		if p.among(words) == Maybe {
			return Maybe
		}
	}
	return p.inInput(c)
}

// within reports whether the rule's program stands anywhere in a command, be it as part of another word: in most it does
// not, and the closer looks are spared.
func (p *Pattern) within(c *bash.Command) bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" { // there, names are the same in other cases
		return true
	}
	in := func(text string) bool { return strings.Contains(text, p.program) }
	return slices.ContainsFunc(c.Words, func(w bash.Word) bool { return in(w.Text) }) ||
		slices.ContainsFunc(c.Prefix, func(a bash.Assign) bool { return in(a.Value.Text) }) ||
		slices.ContainsFunc(c.Redirs, func(d bash.Redirect) bool { return in(d.Target.Text) })
}

// onlyData reports whether a command is one of the everyday ones that run nothing, whatever their flags.
func onlyData(c *bash.Command) bool {
	return program.ReadOnly().Plain[c.Base()] != nil && !slices.Contains([]string{"git", "go", "env"}, c.Base())
}

// gitItself reports whether a command of git is its own: any other may be an alias for whatever.
func gitItself(name string) bool {
	return program.ReadOnly().Plain["git "+name] != nil || slices.Contains(gitCommands, name)
}

var gitCommands = strings.Fields("add am apply archive bisect bundle checkout cherry-pick clean clone commit commit-tree daemon difftool fast-export fast-import fetch fetch-pack " +
	"filter-branch format-patch fsck gc gui hash-object help http-backend init init-db instaweb interpret-trailers lfs ls-remote mailinfo mailsplit maintenance merge merge-file " +
	"merge-index merge-tree mergetool mktag mktree mv notes pack-objects pack-refs patch-id prune pull push range-diff read-tree rebase receive-pack repack replace " +
	"request-pull rerere reset restore revert rm send-email send-pack shell sparse-checkout stripspace submodule subtree svn switch update-index update-ref " +
	"upload-archive upload-pack var verify-commit verify-pack verify-tag web--browse write-tree bugreport diagnose check-attr check-mailmap check-ref-format column")

// renames makes git of git-push, and of a front end that takes git's words.
func renames(c *bash.Command) *bash.Command {
	name := c.Base()
	if name == "hub" {
		return &bash.Command{Words: append([]bash.Word{{Text: "git", Kind: bash.Literal}}, c.Words[1:]...), AddsArgs: c.AddsArgs}
	}
	if sub, ok := strings.CutPrefix(name, "git-"); ok {
		return &bash.Command{Words: append([]bash.Word{{Text: "git", Kind: bash.Literal}, {Text: sub, Kind: bash.Literal}}, c.Words[1:]...), AddsArgs: c.AddsArgs}
	}
	return nil
}

// aliases reports whether git may be told by c to take one word for others.
func aliases(c *bash.Command) bool {
	for i := 1; i < len(c.Words); i++ {
		switch w := c.Words[i]; {
		case strings.Contains(strings.ToLower(w.Text), "alias."), strings.HasPrefix(w.Text, "--config-env"):
			return true
		case w.Kind != bash.Literal:
			return false
		case slices.Contains(program.GitValued, w.Text):
			if i++; i < len(c.Words) && strings.Contains(strings.ToLower(c.Words[i].Text), "alias.") {
				return true
			}
		case !strings.HasPrefix(w.Text, "-"):
			return !gitItself(w.Text) || w.Text == "config" && i+1 < len(c.Words) && strings.Contains(strings.ToLower(c.Words[i+1].Text), "alias.")
		}
	}
	return false
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

// inInput looks into here-documents and here-strings.
func (p *Pattern) inInput(c *bash.Command) Match {
	for _, d := range c.Redirs {
		if strings.HasPrefix(d.Op, "<<") && p.inText(d.Target.Text) {
			return Maybe
		}
	}
	return No
}

func (p *Pattern) inText(text string) bool { return program.ContainsWord(text, p.program) }
