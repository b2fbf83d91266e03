package configimport

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// theirs is a rule of another agent as the test writes it, with the agent's meaning of it.
type theirs struct {
	list    string // deny, ask, allow
	kinds   string // Bash, Read, Edit
	from    string // as a plan reports it
	matches func(subject string) bool
	call    string // that a rule with the same words is likely for; "": none
}

// glob returns a matcher of texts in which * is any text, or any but a slash.
func glob(pattern, star string) func(string) bool {
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(text, `\*\*`, "\x00")
	text = strings.ReplaceAll(text, `\*`, star)
	return regexp.MustCompile("^" + strings.ReplaceAll(text, "\x00", ".*") + "$").MatchString
}

// command is the meaning of a specifier of a command: exact, the words before :*, or any text for *, which may be none
// after a space at the end.
func command(spec string, words bool) func(string) bool {
	begin, open := strings.CutSuffix(strings.TrimSuffix(spec, ":*"), " *")
	if open || words || strings.HasSuffix(spec, ":*") {
		return func(line string) bool {
			return line == begin || strings.HasPrefix(line, begin+" ") || glob(begin+" *", ".*")(line)
		}
	}
	return glob(spec, ".*")
}

// ignored is the meaning of a pattern of paths as in a .gitignore: also of what is below. A directory without a slash
// before it is at any depth if the rule restricts.
func ignored(spec, slash string, restricts bool) func(string) bool {
	pattern := spec
	switch {
	case restricts && strings.Count(spec, "/") == 1 && strings.HasSuffix(spec, "/**") && spec[0] != '.':
		pattern = testRoot + "/**/" + spec
	case strings.HasPrefix(spec, "//"):
		pattern = spec[1:]
	case strings.HasPrefix(spec, "~/"):
		pattern = testHome + spec[1:]
	case strings.HasPrefix(spec, "./"):
		pattern = testRoot + spec[1:]
	case strings.HasPrefix(spec, "/"):
		pattern = slash + spec
	case strings.Contains(spec, "/"):
		pattern = testRoot + "/" + spec
	default:
		pattern = testRoot + "/**/" + spec
	}
	one, top := glob(pattern, "[^/]*"), glob(strings.Replace(pattern, "/**/", "/", 1), "[^/]*")
	return func(path string) bool {
		for ; len(path) > 1; path = filepath.Dir(path) {
			if one(path) || top(path) {
				return true
			}
		}
		return false
	}
}

const testRoot, testHome = "/home/me/app", "/home/me"

var (
	commandWords = []string{"git", "git push", "git status", "git push origin", "npm", "npm run build", "rm", "ls", "cat", "echo hi", "curl", "make"}
	commandEnds  = []string{"", ":*", " *", "*"}
	paths        = []string{".env", "README", "src", "*.env", "src/**", "src/*", "secrets", "docs/a.md", "~/.ssh/**", "//etc/secret/**", "./build", "src/*.go", "**/*.pem", "/x/**", "./src/**", "**/src/**"}
	oddRules     = []string{"*", "mcp__*", "Bash(run_in_background:true)", "Write(src/**)", "MultiEdit", "Bash(git * main)", "Bash(* --version)", "Agent(Plan)", "Read([ab].go)"}
	commandLines = []string{"git", "git push", "git push origin main", "git status -s", "git pushx", "npm test", "npm run build", "rm -rf build",
		"ls", "ls src", "cat docs/a.md", "echo hi", "curl http://x.example", "make", "make install"}
	targets = []string{testRoot + "/.env", testRoot + "/a/b.env", testRoot + "/src/a.go", testRoot + "/src/b/c.go", testRoot + "/secrets/x",
		testRoot + "/docs/a.md", testHome + "/.ssh/id", testHome + "/.claude/x/y", testRoot + "/a/src/b.go", "/etc/secret/x", testRoot + "/build", testRoot + "/a/build/x", testRoot + "/k.pem", testRoot + "/README", testRoot + "/docs/README"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// claudeCommand is the meaning of a specifier of a command in Claude Code: also of a parameter, which any command may have.
func claudeCommand(spec string) func(string) bool {
	if strings.HasPrefix(spec, "run_in_background:") {
		return func(string) bool { return true }
	}
	return command(spec, false)
}

// qwenCommand is the meaning of a specifier of a command in Qwen Code: without a star, words that a command begins with.
func qwenCommand(spec string) func(string) bool {
	return command(strings.ReplaceAll(spec, ":*", " *"), !strings.Contains(spec, "*"))
}

// qwenPath is the meaning of a pattern of paths in Qwen Code: from the working directory, and without what is below.
func qwenPath(spec string) func(string) bool {
	pattern := testRoot + "/" + strings.TrimPrefix(strings.TrimPrefix(spec, "./"), "/")
	switch {
	case strings.HasPrefix(spec, "//"):
		pattern = spec[1:]
	case strings.HasPrefix(spec, "~/"):
		pattern = testHome + spec[1:]
	}
	one, top := glob(pattern, "[^/]*"), glob(strings.Replace(pattern, "/**/", "/", 1), "[^/]*")
	return func(path string) bool { return one(path) || top(path) }
}

// claudeRules writes random rules of Claude Code and of Qwen Code.
func claudeRules(file string, shell func(spec string) func(string) bool, path func(spec string, restricts bool) func(string) bool) func(r *rand.Rand) (string, string, []theirs) {
	return func(r *rand.Rand) (string, string, []theirs) {
		lists := map[string][]string{}
		var rules []theirs
		add := func(list, kinds, text string, matches func(string) bool) {
			rules = append(rules, theirs{list: list, kinds: kinds, from: "permissions." + list + " " + text, matches: matches})
			lists[list] = append(lists[list], text)
		}
		for range 5 {
			list, kind, spec := pick(r, ruleLists[:]), pick(r, []string{"Bash", "Bash", "Read", "Edit"}), pick(r, paths)
			switch {
			case kind == "Bash":
				words := pick(r, commandWords)
				spec = words + pick(r, commandEnds)
				add(list, kind, "Bash("+spec+")", shell(spec))
				rules[len(rules)-1].call = words + " now"
				continue
			case kind == "Read" && list == "deny": // it denies edits, too
				kind = "Read Edit"
			}
			add(list, kind, kind[:4]+"("+spec+")", path(spec, list != allowList))
			rules[len(rules)-1].call = testRoot + "/docs/" + strings.ReplaceAll(strings.Trim(spec, "~./"), "*", "x")
		}
		switch odd := pick(r, oddRules); { // most of them have no counterpart
		case r.IntN(3) > 0:
		case odd == "*":
			add("deny", "Bash Read Edit", odd, func(string) bool { return true })
		case strings.HasPrefix(odd, "Bash("):
			add("ask", "Bash", odd, shell(odd[5:len(odd)-1]))
		default:
			add(allowList, "", odd, func(string) bool { return false })
		}
		return file, asJSON(map[string]any{"permissions": lists}), rules
	}
}

// agentsModel writes random settings of each agent, with the meaning of their rules in their order.
var agentsModel = map[string]func(r *rand.Rand) (file, text string, rules []theirs){
	"claude": claudeRules(".claude/settings.json", claudeCommand,
		func(spec string, restricts bool) func(string) bool {
			return ignored(spec, testHome+"/.claude", restricts)
		}),
	"qwen": claudeRules(".qwen/settings.json", qwenCommand, func(spec string, _ bool) func(string) bool { return qwenPath(spec) }),
	"codex": func(r *rand.Rand) (string, string, []theirs) {
		var text strings.Builder
		var rules []theirs
		for range 5 {
			words := pick(r, commandWords)
			i := r.IntN(3)
			decision := []string{"forbidden", "prompt", "allow"}[i]
			fmt.Fprintf(&text, "prefix_rule(\n  pattern = %s, # mine\n  decision = %q,\n)\n", asJSON(strings.Fields(words)), decision)
			rules = append(rules, theirs{ruleLists[i], "Bash", fmt.Sprintf("default.rules %q %s", decision, words), command(words, true), words + " now"})
		}
		return ".codex/rules/default.rules", text.String(), rules
	},
	"gemini": func(r *rand.Rand) (string, string, []theirs) {
		all := func(string) bool { return true }
		words, more := pick(r, commandWords), pick(r, commandWords)
		excluded, confirmed := pick(r, []string{"read_file", "web_fetch"}), pick(r, []string{"replace", "run_shell_command"})
		rules := []theirs{{allowList, "Bash", "tools.allowed run_shell_command(" + words + ")", command(words, true), ""},
			{allowList, "Bash", "tools.allowed run_shell_command(" + more + ")", command(more, true), ""}}
		if excluded == "read_file" {
			rules = append(rules, theirs{"deny", "Read", "tools.exclude read_file", all, ""})
		}
		rules = append(rules, theirs{"ask", map[string]string{"replace": "Edit", "run_shell_command": "Bash"}[confirmed], "tools.confirmationRequired " + confirmed, all, ""})
		return ".gemini/settings.json", asJSON(map[string]any{"tools": map[string]any{"allowed": []string{"run_shell_command(" + words + ")", "run_shell_command(" + more + ")", "write_file"},
			"exclude": []string{excluded}, "confirmationRequired": []string{confirmed}}}), rules
	},
	"opencode": func(r *rand.Rand) (string, string, []theirs) {
		members := map[string][]string{}
		var rules []theirs
		add := func(tool, kind, list, spec string, matches func(string) bool) {
			if !slices.ContainsFunc(rules, func(t theirs) bool { return strings.HasPrefix(t.from, "permission "+tool+" "+spec+" ") }) {
				rules = append(rules, theirs{list, kind, "permission " + tool + " " + spec + " " + list, matches, ""})
				members[tool] = append(members[tool], fmt.Sprintf("%q: %q", spec, list))
			}
		}
		for range 5 {
			spec := pick(r, append(slices.Clone(commandWords), "*"))
			if spec != "*" {
				spec += pick(r, []string{"", " *", "*"})
			}
			add("bash", "Bash", pick(r, ruleLists[:]), spec, command(spec, false))
			spec = pick(r, []string{"*", "*.env", "src/*", "src/**", "docs/a.md", "src/*.go", "/etc/secret/*", "~/.ssh/*"})
			below := testRoot + "/" + spec
			if strings.ContainsAny(spec[:1], "/~") {
				below = strings.Replace(spec, "~", testHome, 1)
			}
			add("edit", "Edit", pick(r, ruleLists[:]), spec, func(path string) bool {
				inside := strings.HasPrefix(path, testRoot) || strings.ContainsAny(spec[:1], "/~")
				return inside && glob(below, ".*")(path)
			})
		}
		return "opencode.json", `{"permission": {"bash": {` + strings.Join(members["bash"], ", ") + `}, "edit": {` + strings.Join(members["edit"], ",") + `}}}`, rules
	},
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// verdict returns what another agent does with a call; "" if no rule applies, or one that is reported as omitted.
func verdict(agent, kind, subject string, rules []theirs, left []string) string {
	var found theirs
	for _, r := range rules {
		stronger := found.list == "" || slices.Index(ruleLists[:], r.list) < slices.Index(ruleLists[:], found.list)
		if strings.Contains(r.kinds, kind) && r.matches(subject) && (agent == "opencode" || stronger) {
			found = r // opencode: the last one
		}
	}
	reported := func(text string) bool { return strings.HasPrefix(text, found.from+": ") }
	if found.list != allowList && slices.ContainsFunc(left, reported) {
		return ""
	}
	return found.list
}

// readOnly is whether both agents run a command without asking if no rule applies.
func readOnly(line string) bool {
	return slices.Contains([]string{"ls", "ls src", "cat docs/a.md", "echo hi", "git status -s"}, line)
}

// No call is judged milder with imported rules than by the agent that they are from, or than without them where none of
// its rules applies.
func TestImportedRulesAreEqualOrStricter(t *testing.T) {
	t.Parallel()
	world := permission.World{Roots: []string{testRoot}, Home: testHome, State: testHome + "/.adze"}
	strictness := map[string]tool.Verdict{"deny": tool.Deny, "ask": tool.Ask, "allow": tool.Allow}
	calls, milder, kept := 0, 0, map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(agentsModel)) {
		r := rand.New(rand.NewPCG(43, uint64(i)))
		for range 20 {
			file, text, rules := agentsModel[name](r)
			plan := planOf(t, name, map[string]string{file: text}, "")
			lists := map[string][]permission.Written{}
			for _, c := range plan.Changes {
				var rule string
				if list, ok := strings.CutPrefix(c.Key, permissions); ok && json.Unmarshal(c.Value, &rule) == nil {
					lists[list] = append(lists[list], permission.Written{Text: rule})
				}
			}
			given, _, err := permission.ReadRules(lists[allowList], lists["ask"], lists["deny"])
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			ours, base := permission.New(world, permission.Default), permission.New(world, permission.Default)
			ours.SetRules(given)
			lines, files := slices.Clone(commandLines), slices.Clone(targets)
			for _, one := range rules {
				switch {
				case one.call == "":
				case one.kinds == "Bash":
					lines = append(lines, one.call, one.call)
				default:
					files = append(files, one.call, one.call)
				}
			}
			for range 15 {
				calls++
				kind := pick(r, []string{"Bash", "Bash", "Read", "Edit"})
				subjects := []string{pick(r, files)}
				q := tool.Request{Declaration: tool.Declaration{Name: "read_file", DisplayName: "ReadFile", Kind: tool.Read}}
				q.Access = []tool.Access{{Verb: tool.Reads, Target: subjects[0]}}
				switch kind {
				case "Edit":
					q.Declaration = tool.Declaration{Name: "edit", DisplayName: "Edit", Kind: tool.Edit}
					q.Access[0].Verb = tool.Writes
				case "Bash":
					if subjects[0] = pick(r, lines); r.IntN(3) == 0 {
						subjects = append(subjects, pick(r, lines))
					}
					line := strings.Join(subjects, " && ")
					q.Declaration = tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
					q.Access = []tool.Access{{Verb: tool.Execs, Target: line}}
					q.Confirm = tool.Command{Line: line, Directory: testRoot}
				}
				want := tool.Allow
				for _, one := range subjects {
					v, applies := strictness[verdict(name, kind, one, rules, plan.Left)]
					switch {
					case !applies && kind == "Bash" && readOnly(one):
						v = tool.Allow
					case !applies:
						v = base.Judge(q).Verdict
					}
					want = min(want, v)
				}
				got := ours.Judge(q).Verdict
				if got > want {
					milder++
					t.Errorf("%s: %s\n%+v\n%v: %v, theirs %v", name, text, lists, q.Access, got, want)
				}
				if got == tool.Allow && base.Judge(q).Verdict != tool.Allow {
					kept[name]++
				}
			}
		}
		if kept[name] == 0 {
			t.Errorf("%s: no allow rule had an effect", name)
		}
	}
	t.Logf("%d calls, %d milder; allowed by imported rules: %v", calls, milder, kept)
}

// planOf plans an import from files below a new directory.
func planOf(t *testing.T, agent string, files map[string]string, current string) Plan {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := Read(agent, dir, false, []byte(current))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
