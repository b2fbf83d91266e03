package configimport

import (
	"encoding/json"
	"fmt"
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
	kind    string // Bash, Read, Edit
	spec    string
	matches func(subject string) bool
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

// ignored is the meaning of a pattern of paths as in a .gitignore: also of what is below.
func ignored(spec string) func(string) bool {
	pattern := spec
	switch {
	case strings.HasPrefix(spec, "//"):
		pattern = spec[1:]
	case strings.HasPrefix(spec, "~/"):
		pattern = testHome + spec[1:]
	case strings.HasPrefix(spec, "./"):
		pattern = testRoot + spec[1:]
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
	paths        = []string{".env", "*.env", "src/**", "src/*", "secrets", "docs/a.md", "~/.ssh/**", "//etc/secret/**", "./build", "src/*.go", "**/*.pem"}
	commandLines = []string{"git", "git push", "git push origin main", "git status -s", "git pushx", "npm test", "npm run build", "rm -rf build",
		"ls", "ls src", "cat docs/a.md", "echo hi", "curl http://x.example", "make", "make install"}
	targets = []string{testRoot + "/.env", testRoot + "/a/b.env", testRoot + "/src/a.go", testRoot + "/src/b/c.go", testRoot + "/secrets/x",
		testRoot + "/docs/a.md", testHome + "/.ssh/id", "/etc/secret/x", testRoot + "/build", testRoot + "/a/build/x", testRoot + "/k.pem", testRoot + "/README"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// agentsModel writes random settings of each agent, with the meaning of their rules in their order.
var agentsModel = map[string]func(r *rand.Rand) (file, text string, rules []theirs){
	"claude": func(r *rand.Rand) (string, string, []theirs) {
		lists := map[string][]string{}
		var rules []theirs
		for range 5 {
			one := theirs{list: pick(r, ruleLists[:]), kind: pick(r, []string{"Bash", "Bash", "Read", "Edit"})}
			if one.kind == "Bash" {
				one.spec = pick(r, commandWords) + pick(r, commandEnds)
				one.matches = command(one.spec, false)
			} else {
				one.spec = pick(r, paths)
				one.matches = ignored(one.spec)
			}
			rules = append(rules, one)
			lists[one.list] = append(lists[one.list], one.kind+"("+one.spec+")")
		}
		return ".claude/settings.json", asJSON(map[string]any{"permissions": lists}), rules
	},
	"codex": func(r *rand.Rand) (string, string, []theirs) {
		var text strings.Builder
		var rules []theirs
		for range 5 {
			words := pick(r, commandWords)
			i := r.IntN(3)
			fmt.Fprintf(&text, "prefix_rule(\n  pattern = %s, # mine\n  decision = %q,\n)\n", asJSON(strings.Fields(words)), []string{"forbidden", "prompt", "allow"}[i])
			rules = append(rules, theirs{ruleLists[i], "Bash", words, command(words, true)})
		}
		return ".codex/rules/default.rules", text.String(), rules
	},
	"gemini": func(r *rand.Rand) (string, string, []theirs) {
		words := pick(r, commandWords)
		settings := map[string]any{"tools": map[string]any{"allowed": []string{"run_shell_command(" + words + ")", "write_file"},
			"exclude": []string{pick(r, []string{"read_file", "web_fetch"})}, "confirmationRequired": []string{pick(r, []string{"replace", "run_shell_command"})}}}
		rules := []theirs{{"allow", "Bash", words, command(words, true)}, {"allow", "Edit", "", ignored("*")}}
		all := settings["tools"].(map[string]any)
		if all["exclude"].([]string)[0] == "read_file" {
			rules = append(rules, theirs{"deny", "Read", "", func(string) bool { return true }})
		}
		kind := "Edit"
		if all["confirmationRequired"].([]string)[0] != "replace" {
			kind = "Bash"
		}
		return ".gemini/settings.json", asJSON(settings), append(rules, theirs{"ask", kind, "", func(string) bool { return true }})
	},
	"opencode": func(r *rand.Rand) (string, string, []theirs) {
		var members, edits []string
		var rules []theirs
		for range 5 {
			list, spec := pick(r, ruleLists[:]), pick(r, append(slices.Clone(commandWords), "*"))
			if spec != "*" {
				spec += pick(r, []string{"", " *", "*"})
			}
			if !slices.ContainsFunc(rules, func(t theirs) bool { return t.spec == spec && t.kind == "Bash" }) {
				rules = append(rules, theirs{list, "Bash", spec, command(spec, false)})
				members = append(members, fmt.Sprintf("%q: %q", spec, list))
			}
			list, spec = pick(r, ruleLists[:]), pick(r, []string{"*", "*.env", "src/*", "docs/a.md", "src/*.go"})
			if !slices.ContainsFunc(rules, func(t theirs) bool { return t.spec == spec && t.kind == "Edit" }) {
				below := glob(testRoot+"/"+spec, ".*")
				rules = append(rules, theirs{list, "Edit", spec, below})
				edits = append(edits, fmt.Sprintf("%q: %q", spec, list))
			}
		}
		return "opencode.json", `{"permission": {"bash": {` + strings.Join(members, ", ") + `}, "edit": {` + strings.Join(edits, ",") + `}}}`, rules
	},
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// verdict returns what another agent does with a call; "" if no rule applies, or one that is reported as left out.
func verdict(agent, kind, subject string, rules []theirs, left []string) string {
	var found theirs
	for _, r := range rules {
		if r.kind == kind && r.matches(subject) && (agent == "opencode" || found.list == "" || slices.Index(ruleLists[:], r.list) < slices.Index(ruleLists[:], found.list)) {
			found = r // opencode: the last one
		}
	}
	name := "permissions." + found.list + " " + found.kind + "(" + found.spec + "):"
	if found.list != allow && found.list != "" && slices.ContainsFunc(left, func(text string) bool {
		return strings.HasPrefix(strings.ToLower(text), strings.ToLower(name)) || found.spec == "*" && strings.HasPrefix(text, "permission.bash ask:")
	}) {
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
	r := rand.New(rand.NewPCG(43, 7))
	world := permission.World{Roots: []string{testRoot}, Home: testHome, State: testHome + "/.adze"}
	strictness := map[string]tool.Verdict{"deny": tool.Deny, "ask": tool.Ask, "allow": tool.Allow}
	calls, milder, kept := 0, 0, map[string]int{}
	for name, write := range agentsModel {
		for range 20 {
			file, text, rules := write(r)
			plan := planOf(t, name, map[string]string{file: text}, "")
			lists := map[string][]permission.Written{}
			for _, c := range plan.Changes {
				var rule string
				if list, ok := strings.CutPrefix(c.Key, permissions); ok && json.Unmarshal(c.Value, &rule) == nil {
					lists[list] = append(lists[list], permission.Written{Text: rule})
				}
			}
			given, _, err := permission.ReadRules(lists[allow], lists["ask"], lists["deny"])
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			ours, base := permission.New(world, permission.Default), permission.New(world, permission.Default)
			ours.SetRules(given)
			for range 15 {
				calls++
				kind := pick(r, []string{"Bash", "Bash", "Read", "Edit"})
				subjects := []string{pick(r, targets)}
				q := tool.Request{Declaration: tool.Declaration{Name: "read_file", DisplayName: "ReadFile", Kind: tool.Read}}
				q.Access = []tool.Access{{Verb: tool.Reads, Target: subjects[0]}}
				switch kind {
				case "Edit":
					q.Declaration = tool.Declaration{Name: "edit", DisplayName: "Edit", Kind: tool.Edit}
					q.Access[0].Verb = tool.Writes
				case "Bash":
					if subjects[0] = pick(r, commandLines); r.IntN(3) == 0 {
						subjects = append(subjects, pick(r, commandLines))
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
