package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// commandOffers returns rules for the commands of a script that are neither covered nor read-only: one per simple command,
// joined, never one for the whole line. There are a narrow and a wider choice.
func (w *commandJudge) commandOffers(script *bash.Script) []string {
	if len(script.Notes) > 0 {
		return nil
	}
	var narrow, wide []string
	for _, c := range script.Commands {
		if c.MayRun {
			continue
		}
		s := w.verdict(c)
		if s.covered != nil || s.proved && s.paths == tool.Allow {
			continue
		}
		rules, ok := w.rulesFor(c, s)
		if !ok {
			return nil
		}
		narrow = appendNew(narrow, rules[0]...)
		wide = appendNew(wide, rules[len(rules)-1]...)
		if len(narrow) > mostOffered {
			return nil
		}
	}
	if len(narrow) == 0 {
		return nil
	}
	out := []string{strings.Join(narrow, "\n")}
	if w := strings.Join(wide, "\n"); w != out[0] {
		out = append(out, w)
	}
	return out
}

// mostOffered is the maximum number of rules in an offer: users don't read more before they choose "always".
const mostOffered = 32

func appendNew(list []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// rulesFor returns the choices for one simple command, narrowest first; each may be several rules.
func (e *engine) rulesFor(c *bash.Command, s *commandVerdict) (choices [][]string, ok bool) {
	if s.proved { // only its paths require approval
		var reads []string
		for _, f := range s.asks {
			if f.path == "" {
				return nil, false
			}
			cs := e.world.pathRules("Read", f)
			if len(cs) == 0 {
				return nil, false
			}
			reads = appendNew(reads, cs[0].rule)
		}
		return [][]string{reads}, len(reads) > 0
	}
	argv := c.Argv()
	if !match.IsLiteral(c) || len(argv) == 0 || slices.ContainsFunc(argv, tool.Hidden) {
		return nil, false
	}
	name := argv[0]
	switch {
	case slices.Contains(neverOffered, name):
		return nil, false
	case slices.Contains(shells, name):
		return [][]string{{shellRule(argv)}}, len(argv) > 1 && shellRule(argv) != ""
	case len(s.asks) > 0 || slices.Contains(exactOnly, name):
		return [][]string{{exactRule(argv)}}, exactRule(argv) != ""
	}
	n := depth(argv)
	if n == 0 {
		return [][]string{{exactRule(argv)}}, exactRule(argv) != ""
	}
	choices = [][]string{{openRule(argv[:n])}}
	if n > 2 && !slices.Contains(interpreters, name) {
		choices = append(choices, []string{openRule(argv[:n-1])})
	}
	return choices, choices[0][0] != "" && !slices.ContainsFunc(choices, func(c []string) bool { return c[0] == "" })
}

func exactRule(argv []string) string {
	if words := quoted(argv); words != "" {
		return "Shell(" + words + ")"
	}
	return ""
}

func openRule(argv []string) string {
	if words := quoted(argv); words != "" {
		return "Shell(" + words + ":*)"
	}
	return ""
}

// quoted writes words as in a rule; "" if a rule can't have them.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		if strings.ContainsAny(a, "*\n") {
			return ""
		}
		words[i] = bash.Quote(a)
	}
	return strings.Join(words, " ")
}

// neverOffered run their arguments as another user, on another machine or later: no rule on their words limits what they do.
var neverOffered = strings.Fields("eval exec sudo doas su ssh xargs parallel script trap alias osascript pwsh powershell cmd")

// shells run a script, for which a rule with any arguments is offered, or a text, for which only the exact words are.
var shells = strings.Fields("sh bash dash zsh ksh fish")

// shellRule returns the narrowest useful rule for a call of a shell: sh -e ./check.sh --fast becomes Shell(sh -e
// ./check.sh:*).
func shellRule(argv []string) string {
	for i, a := range argv[1:] {
		if a == "" || strings.Trim(a, "-euxv") != "" && a[0] == '-' {
			return exactRule(argv) // -c TEXT, or a flag that takes the next word
		}
		if a[0] != '-' {
			return openRule(argv[:i+2])
		}
	}
	return ""
}

// exactOnly are programs for which only the exact words are offered, because they can do so much.
var exactOnly = strings.Fields("source . env find fd watch rm dd mkfs chmod chown kill pkill killall shutdown reboot curl wget scp rsync nc ncat telnet truncate shred mount umount crontab at")

// interpreters run a file, a module, or a text. For a text no rule is offered.
var interpreters = strings.Fields("python python2 python3 node ruby perl php lua deno bun Rscript julia awk gawk mawk sed tclsh")

// commandDepth is the number of words that name a subcommand.
var commandDepth = map[string]int{
	"git": 2, "npm": 2, "pnpm": 2, "yarn": 2, "cargo": 2, "go": 2, "docker": 2, "kubectl": 2, "make": 2, "pip": 2, "pip3": 2, "uv": 2, "poetry": 2,
	"gh": 3, "terraform": 2, "apt": 2, "apt-get": 2, "brew": 2, "systemctl": 2, "dotnet": 2, "mvn": 2, "gradle": 2, "bundle": 3, "npx": 2, "bunx": 2,
	"mix": 2, "rake": 2, "composer": 2, "helm": 2, "aws": 3, "gcloud": 3, "just": 2, "task": 2, "rustup": 2, "bazel": 2, "swift": 2,
}

// depth returns the number of words of a command in its narrowest useful rule; 0: all of them.
func depth(argv []string) int {
	name := argv[0]
	if slices.Contains(interpreters, name) {
		switch {
		case len(argv) > 2 && argv[1] == "-m":
			return 3
		case len(argv) > 1 && !strings.HasPrefix(argv[1], "-"):
			return 2 // a script
		}
		return 0
	}
	n, many := commandDepth[name]
	switch {
	case !many:
		return 1
	case len(argv) > 2 && slices.Contains([]string{"run", "run-script", "exec", "compose", "tool", "mod"}, argv[1]):
		n = 3
	}
	for i := 1; i < n; i++ {
		if i >= len(argv) || strings.HasPrefix(argv[i], "-") {
			if i == 1 {
				return 0 // git -c …: only the exact command
			}
			return i
		}
	}
	return n
}
