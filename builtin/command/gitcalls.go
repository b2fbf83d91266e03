package command

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	shellform "github.com/adze-dev/adze/permission/shell/form"
)

// gitCall is a git command in a command line, as far as its words are known.
type gitCall struct {
	Dir  string   // where it runs; "" if not known
	Args []string // from the subcommand on; patterns are unexpanded
	// Literal means that all words are known. Otherwise Args ends before the first unknown one.
	Literal bool
	// Settings means that git -c sets configuration, which may run programs.
	Settings bool
}

// gitCalls returns the git commands of a line in the order in which they are written. others reports whether the line
// runs other commands that aren't read-only.
func gitCalls(s *bash.Script) (calls []gitCall, others bool) {
	wraps := map[*bash.Command]bool{}
	for _, c := range s.Commands {
		if c.By != nil {
			wraps[c.By] = true
		}
	}
	for _, c := range s.Commands {
		switch {
		case c.MayRun:
			others = true
		case c.Base() == "git" && !shellform.ReadsOnly(c):
			if call, ok := readGitCall(c); ok {
				calls = append(calls, call)
			}
		case c.Base() != "git" && !wraps[c] && !shellform.ReadsOnly(c):
			others = true
		}
	}
	return calls, others
}

// readGitCall reads the words of a git command. ok is false without a subcommand.
func readGitCall(c *bash.Command) (call gitCall, ok bool) {
	call.Literal = !c.AddsArgs
	dirs := c.Dirs
	for _, a := range c.Prefix {
		if a.Name == "GIT_DIR" || a.Name == "GIT_WORK_TREE" || a.Name == "GIT_INDEX_FILE" {
			dirs, call.Literal = nil, false
		}
	}
	words := c.Words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") && words[0].Kind == bash.Literal {
		flag, _, joined := strings.Cut(words[0].Text, "=")
		takes := !joined && slices.Contains(gitValued, flag)
		call.Settings = call.Settings || flag == "-c" || flag == "--config-env" || flag == "--exec-path"
		switch {
		case takes && len(words) == 1:
			return call, false
		case flag == "-C" && words[1].Kind == bash.Literal:
			dirs = into(dirs, words[1].Text)
		case flag == "-C", flag == "--git-dir", flag == "--work-tree", flag == "--bare":
			dirs, call.Literal = nil, false
		}
		if words = words[1:]; takes {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return call, false
	}
	for _, w := range words {
		if w.Kind != bash.Literal && w.Kind != bash.Glob {
			call.Literal = false
			break
		}
		call.Args = append(call.Args, w.Text)
	}
	if len(dirs) == 1 {
		call.Dir = dirs[0]
	} else {
		call.Literal = false
	}
	return call, len(call.Args) > 0
}

// gitValued are git's own flags whose value is the next word.
var gitValued = strings.Fields("-c -C --git-dir --work-tree --namespace --super-prefix --config-env --attr-source")

// into returns the directories that -C leads to from each of dirs. Paths are not cleaned: the system follows links.
func into(dirs []string, to string) (out []string) {
	if strings.HasPrefix(to, "/") {
		return []string{to}
	}
	for _, d := range dirs {
		out = append(out, strings.TrimSuffix(d, "/")+"/"+to)
	}
	return out
}
