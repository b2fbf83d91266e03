package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// interpreter says how an interpreter is given a program in its words.
type interpreter struct {
	bare    *regexp.Regexp // flags that change nothing of importance
	program *regexp.Regexp // flags whose next word is the program
	module  string         // python -m
}

// heldInterpreters run a literal program in the sandbox, whatever it does; a script of the workspace never.
var heldInterpreters = sync.OnceValue(func() map[string]interpreter {
	return map[string]interpreter{
		"python": {regexp.MustCompile(`^-[BIEsSuOq]+$`), regexp.MustCompile(`^-[BIEsSuOq]*c$`), "-m"},
		"node":   {regexp.MustCompile(`^--(input-type=\w+|no-warnings)$`), regexp.MustCompile(`^(-e|-p|-pe|--eval|--print)$`), ""},
		"perl":   {regexp.MustCompile(`^-([nplaswW]*|0[0-7]*|F.+|M[\w:]+)$`), regexp.MustCompile(`^-[nplaswW0-7]*[eE]$`), ""},
		"ruby":   {regexp.MustCompile(`^-([nplaswW]*|r[\w/]+)$`), regexp.MustCompile(`^-[nplaswW]*e$`), ""},
		"php":    {regexp.MustCompile(`^-n$`), regexp.MustCompile(`^-r$`), ""},
	}
})

// heldModules are the modules of python -m that print what they read.
var heldModules = []string{"json.tool", "tokenize", "ast", "sysconfig", "platform", "calendar", "site", "dis"}

// heldCode judges an interpreter with a literal program in its words or its input.
func (c *Command) heldCode(name string, in interpreter, words []Word) Proof {
	for len(words) > 0 && words[0].Kind == Literal && in.bare.MatchString(words[0].Text) {
		words = words[1:]
	}
	switch {
	case len(words) > 0 && words[0].Kind != Literal:
		return Proof{Why: notLiteral(words[0].Text)}
	case len(words) > 1 && in.program.MatchString(words[0].Text):
		if words[1].Kind != Literal {
			return Proof{Why: "the program of " + name + " expands at run time, so it can't be checked"}
		}
		return c.heldProgram(name, words[1].Text, words[2:])
	case len(words) > 1 && words[0].Text == in.module && in.module != "":
		return c.heldModule(name, words[1:])
	case len(words) == 2 && trimVersion(name) == "node" && words[0].Text == "--check" && words[1].Kind == Literal:
		return c.held([]Touch{{Path: words[1].Text}})
	case len(words) == 0 || words[0].Text == "-":
		if code := c.document(); code.Kind == Literal && code.Text != "" && !c.AddsArgs {
			return c.heldProgram(name, code.Text, words[min(1, len(words)):])
		}
	}
	return unlisted(name)
}

// heldProgram judges a literal program. One that wants to do what the sandbox denies asks first: it would only fail.
func (c *Command) heldProgram(name, code string, rest []Word) Proof {
	if what := doesMore().FindString(code); what != "" {
		return Proof{Why: "the program of " + name + " contains " + strings.TrimSpace(what)}
	}
	names := pathsIn(code, true)
	if len(names) > maxCodePaths {
		return Proof{Why: "the program of " + name + " names too many paths to check"}
	}
	var ts []Touch
	for _, s := range names {
		if strings.Trim(s, "/.") != "" && !strings.ContainsAny(s, "\n\x00") {
			ts = append(ts, Touch{Path: s, Present: true})
		}
	}
	for _, w := range rest {
		if w.Kind == Literal && !strings.HasPrefix(w.Text, "-") {
			ts = append(ts, Touch{Path: w.Text})
		}
	}
	return c.held(ts)
}

// maxCodePaths is how many words of a program are looked up.
const maxCodePaths = 1000

// doesMore finds what writes files, starts programs or uses the network, in the languages above.
var doesMore = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`open\s*\(?[^\n]*,\s*(mode\s*=\s*)?['"][rbt]*[wax+][rbt+]*['"]|\bopen\b[^\n]*>|` +
		`\b(write_text|write_bytes|writeFile\w*|appendFile\w*|createWriteStream|copyFile\w*|unlink\w*|rmdir\w*|rmSync|mkdir\w*|makedirs|rmtree|removedirs|symlink\w*|chmod\w*|chown\w*|truncate\w*|touch|utime\w*|to_csv|to_json|to_excel|to_parquet)\s*\(|` +
		`\b(os|fs|File|FileUtils|shutil|Path)\.(remove|rm|rename|replace|link|copy\w*|move|write|delete|mv|cp)\b|` +
		`\b(subprocess|child_process|os\.system|os\.popen|os\.exec\w*|os\.spawn\w*|os\.fork|os\.kill|process\.kill|pty|ctypes|socket|urllib\.request|urlopen|http\.client|requests|httpx|aiohttp|ftplib|smtplib|fetch\s*\(|execSync|spawnSync|shell_exec|passthru|proc_open|file_put_contents|IO\.popen|Net::)|` +
		`require\(['"](node:)?(https?|net|dgram|tls|cluster|worker_threads)['"]\)|` +
		`\b(system|exec|unlink|rename|mkdir|rmdir|fork|kill|symlink|qx|popen)\b\s*[('"\x60@$\[{/]|%x[({\[]`)
})

// heldModule judges python -m.
func (c *Command) heldModule(name string, words []Word) Proof {
	module := words[0]
	switch {
	case module.Kind == Literal && module.Text == "pip":
		return c.heldSubcommand("pip", pipSubcommands, words[1:])
	case module.Kind != Literal || !slices.Contains(heldModules, module.Text):
		return unlisted(name + " -m " + module.Text)
	}
	var ts []Touch
	for _, w := range words[1:] {
		if w.Kind == Literal && !strings.HasPrefix(w.Text, "-") {
			ts = append(ts, Touch{Path: w.Text})
		}
	}
	if len(ts) > 1 {
		return Proof{Why: name + " -m " + module.Text + " writes to its second file"}
	}
	return c.held(ts)
}
