//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// example is a line of rules.txt.
type example struct {
	line    int
	verdict tool.Verdict
	mode    permission.Mode
	rules   permission.Rules
	alone   bool // without the read-only list
	command string
}

// readRules reads rules.txt: verdict, tab, rules, tab, command. Rules are separated by " ; " and
// start with + (allow), ? (ask) or - (deny); @MODE sets a mode, % turns the read-only list off, . is nothing.
func readRules(t testing.TB) []example {
	t.Helper()
	var out []example
	for _, l := range bashlab.ReadLines(t, "testdata/rules.txt") {
		n := l.Number
		parts := strings.SplitN(l.Text, "\t", 3)
		if len(parts) != 3 {
			t.Fatalf("rules.txt:%d: not three columns", n)
		}
		e := example{line: n, command: parts[2], mode: permission.Default}
		switch parts[0] {
		case "allow":
			e.verdict = tool.Allow
		case "ask":
			e.verdict = tool.Ask
		case "deny":
			e.verdict = tool.Deny
		default:
			t.Fatalf("rules.txt:%d: verdict %q", n, parts[0])
		}
		lists := map[byte][]string{}
		for _, r := range strings.Split(parts[1], " ; ") {
			switch r[0] {
			case '@':
				e.mode = permission.Mode(r[1:])
			case '%':
				e.alone = true
			case '.':
			default:
				lists[r[0]] = append(lists[r[0]], r[1:])
			}
		}
		var err error
		e.rules, _, err = permission.ParseRules(lists['+'], lists['?'], lists['-'])
		if err != nil {
			t.Fatalf("rules.txt:%d: %v", n, err)
		}
		out = append(out, e)
	}
	return out
}

func TestRules(t *testing.T) {
	serial.Test(t)
	for _, e := range readRules(t) {
		d, why := permission.Check(plainWorld(), e.rules, e.mode, permission.Options{OnlyRules: e.alone}, commandRequest(e.command))
		if d.Verdict != e.verdict {
			t.Errorf("rules.txt:%d: %s: %v, want %v\n\t%s", e.line, e.command, d.Verdict, e.verdict, strings.Join(why, "\n\t"))
		}
	}
}

func TestParseRules(t *testing.T) {
	for _, bad := range []string{"", "(x)", "Shell(", "Shell(rm", "Shell()", "Shell( )", "Shell(a; b)", "Shell(a | b)", "Shell($X)", "Shell(a > b)", "Read(a**b)", "Read(~root/x)", "Read([)", "WebFetch(domain:)", "Shell(r\u200bm)", "a b(c)", "Shell('x)"} {
		if _, _, err := permission.ParseRules(nil, nil, []string{bad}); err == nil {
			t.Errorf("deny %q was taken", bad)
		}
		if _, _, err := permission.ParseRules(nil, []string{bad}, nil); err == nil {
			t.Errorf("ask %q was taken", bad)
		}
		if _, ignored, err := permission.ParseRules([]string{bad, "Shell(ls)"}, nil, nil); err != nil || len(ignored) != 1 {
			t.Errorf("allow %q: %v, %v", bad, ignored, err)
		}
	}
	for _, star := range []string{"Shell(a*)", "Shell(a * b)", "Shell(*a)", "Shell(:*)"} {
		if _, _, err := permission.ParseRules(nil, []string{star}, []string{star}); err != nil {
			t.Errorf("deny %q: %v", star, err)
		}
		if _, ignored, _ := permission.ParseRules([]string{star}, nil, nil); len(ignored) != 1 {
			t.Errorf("allow %q was taken", star)
		}
	}
}

var toolRules = []struct {
	rules string // as in rules.txt
	tool  string
	a     tool.Access
	want  tool.Verdict
}{
	{".", "write", writes(root + "/a"), tool.Ask},
	{"+Edit", "write", writes(root + "/a"), tool.Allow},
	{"+Edit(/a)", "write", writes(root + "/a"), tool.Allow},
	{"+Edit(a)", "write", writes(root + "/a"), tool.Allow},
	{"+Edit(./a)", "write", writes(root + "/a"), tool.Allow},
	{"+Edit(b/../a)", "write", writes(root + "/a"), tool.Allow},
	{"+Edit(*)", "write", writes(root + "/x/y"), tool.Allow},
	{"+Edit(/*)", "write", writes(root + "/x/y"), tool.Ask},
	{"+Edit(src)", "write", writes(root + "/src/a"), tool.Ask},
	{"+Edit(src/)", "write", writes(root + "/src/a/b"), tool.Allow},
	{"+Edit(src/**)", "write", writes(root + "/src/a/b"), tool.Allow},
	{"+Edit(src/*)", "write", writes(root + "/src/a/b"), tool.Ask},
	{"+Edit(src/*.go)", "write", writes(root + "/src/a.go"), tool.Allow},
	{"+Edit(**/*.go)", "write", writes(root + "/src/x/a.go"), tool.Allow},
	{"+Edit(**/*.go)", "write", writes(root + "/a.go"), tool.Allow},
	{"+Edit(**/*.go)", "write", writes("/data/a.go"), tool.Ask},
	{"+Edit(//data/**)", "write", writes("/data/a/b.go"), tool.Allow},
	{"+Edit(~/x/**)", "write", writes("/home/me/x/y"), tool.Allow},
	{"+Edit(../x)", "write", writes("/home/me/x"), tool.Allow},
	{"+Edit(**)", "write", writes(root + "/.git/config"), tool.Ask},
	{"+Edit(.git/**)", "write", writes(root + "/.git/config"), tool.Allow},
	{"+Edit(.git/config)", "write", writes(root + "/.git/config"), tool.Allow},
	{"+Edit", "write", writes(root + "/.git/config"), tool.Ask},
	{"+WriteFile", "write", writes(root + "/a"), tool.Allow},
	{"+write_file", "write", writes(root + "/a"), tool.Allow},
	{"+WriteFileTool", "write", writes(root + "/a"), tool.Allow},
	{"+WriteFile(src/**)", "write", writes(root + "/src/a"), tool.Allow},
	{"+WriteFile(src/**)", "edit", writes(root + "/src/a"), tool.Ask},
	{"+replace", "edit", writes(root + "/a"), tool.Allow},
	{"+Read", "write", writes(root + "/a"), tool.Ask},
	{"+Edit ; @plan", "write", writes(root + "/a"), tool.Deny},
	{"-Edit(src)", "write", writes(root + "/src/a/b"), tool.Deny},
	{"-Edit(src/**)", "edit", writes(root + "/src/a"), tool.Deny},
	{"-Edit", "write", writes(root + "/a"), tool.Deny},
	{"-WriteFile", "edit", writes(root + "/a"), tool.Ask},
	{"-WriteFileTool", "write", writes(root + "/a"), tool.Deny},
	{"-Edit(src/**) ; +Edit ; @yolo", "write", writes(root + "/src/a"), tool.Deny},
	{"?Edit(src/**) ; +Edit ; @yolo", "write", writes(root + "/src/a"), tool.Ask},
	{"?Edit(src/**) ; +Edit", "write", writes(root + "/b"), tool.Allow},
	{"-Edit(src/a)", "write", writes(root + "/src/"), tool.Ask},
	{"-Edit(src/a) ; @yolo", "write", writes("*"), tool.Ask},
	{"-Read(a)", "read", reads(root + "/a"), tool.Deny},
	{"-Read(a)", "grep", reads(root + "/a"), tool.Deny},
	{"-ReadFile(a)", "grep", reads(root + "/a"), tool.Allow},
	{"-ReadFile(a)", "read", reads(root + "/a"), tool.Deny},
	{"-Read(.env)", "grep", reads(root + "/"), tool.Allow},
	{"-Read(private/**)", "grep", reads(root + "/"), tool.Ask},
	{"-Read(private/**)", "grep", reads(root + "/src/"), tool.Allow},
	{"-Read(private/**)", "grep", reads(root + "/private/"), tool.Deny},
	{"+Read(//data/**)", "read", reads("/data/x"), tool.Allow},
	{"+Read(.env)", "read", reads(root + "/.env"), tool.Allow},
	{"+Read", "read", reads(root + "/.env"), tool.Ask},
	{"+ReadFile", "read", reads("/data/x"), tool.Allow},
	{"+Read(~/.ssh/**)", "read", reads("/home/me/.ssh/id_rsa"), tool.Allow},
	{"-Read(../../etc/*)", "read", reads("/home/etc/x"), tool.Deny},
	{"+WebFetch(domain:example.com)", "fetch", reaches("example.com"), tool.Allow},
	{"+WebFetch(domain:example.com)", "fetch", reaches("api.Example.com."), tool.Allow},
	{"+WebFetch(domain:example.com)", "fetch", reaches("badexample.com"), tool.Ask},
	{"+WebFetch(domain:example.com)", "fetch", reaches("example.com.evil.org"), tool.Ask},
	{"+WebFetch(domain:example.com)", "fetch", reaches("example.com\x00.evil.org"), tool.Ask},
	// A deny rule on a host didn't cover its other ports.
	{"-WebFetch(domain:example.com) ; @yolo", "fetch", reaches("example.com:8080"), tool.Deny},
	{"-WebFetch(domain:example.com) ; @yolo", "fetch", reaches("api.example.com.:8080"), tool.Deny},
	{"-WebFetch(domain:example.com:8080) ; @yolo", "fetch", reaches("example.com:8080"), tool.Deny},
	{"-WebFetch(domain:example.com:8080) ; @yolo", "fetch", reaches("example.com"), tool.Allow},
	{"-WebFetch(domain:example.com:443) ; @yolo", "fetch", reaches("example.com"), tool.Deny},
	{"-WebFetch(domain:[::1]) ; @yolo", "fetch", reaches("[0::1]:99"), tool.Deny},
	{"-WebFetch(domain:1.1.1.1) ; @yolo", "fetch", reaches("1.1.1.1:99"), tool.Deny},
	{"-WebFetch(domain:1.1.1) ; @yolo", "fetch", reaches("1.1.1.1"), tool.Allow},
	{"?WebFetch(domain:example.com) ; @yolo", "fetch", reaches("example.com:8080"), tool.Ask},
	{"+WebFetch(domain:example.com:8080)", "fetch", reaches("example.com:8080"), tool.Allow},
	{"+WebFetch(domain:example.com:8080)", "fetch", reaches("api.example.com:8080"), tool.Allow},
	{"+WebFetch(domain:example.com:8080)", "fetch", reaches("example.com:9090"), tool.Ask},
	{"+WebFetch(domain:example.com:8080)", "fetch", reaches("example.com"), tool.Ask},
	{"+WebFetch(domain:example.com)", "fetch", reaches("example.com:8080"), tool.Ask},
	{"+WebFetch(domain:[::1]:8080)", "fetch", reaches("[::1]:8080"), tool.Allow},
	{"+WebFetch", "fetch", reaches("x.org"), tool.Allow},
	{"+web_fetch", "fetch", reaches("x.org"), tool.Allow},
	{"-WebFetch(domain:example.com)", "fetch", reaches("api.example.com"), tool.Deny},
	{"-WebFetch(domain:example.com) ; @yolo", "fetch", reaches("*"), tool.Ask},
	{"-WebFetch(example.com)", "fetch", reaches("example.com"), tool.Deny},
	{"-TodoWrite", "todo", tool.Nothing, tool.Deny},
	{"?TodoWrite ; @yolo", "todo", tool.Nothing, tool.Ask},
	// Deny and ask rules for Bash cover an external tool of that name; an allow rule doesn't.
	{"-Bash ; @yolo", "bash", tool.Nothing, tool.Deny},
	{"?Bash ; @yolo", "bash", tool.Nothing, tool.Ask},
	{"-Bash(rm) ; @yolo", "bash", tool.Nothing, tool.Allow},
	{"+Bash", "bash", tool.Nothing, tool.Ask},
	{"+github__search", "mcp", tool.Nothing, tool.Allow},
	{"+github__*", "mcp", tool.Nothing, tool.Allow},
	{"+mcp__github__search", "mcp", tool.Nothing, tool.Allow},
	{"+mcp__github", "mcp", tool.Nothing, tool.Allow},
	{"+mcp__github__*", "mcp", tool.Nothing, tool.Allow},
	{"+github__other", "mcp", tool.Nothing, tool.Ask},
	{"+mcp__git", "mcp", tool.Nothing, tool.Ask},
	{"+git__*", "mcp", tool.Nothing, tool.Ask},
	{"+github__*", "mcp2", tool.Nothing, tool.Ask},
	{"+ReadFile", "mcp", tool.Nothing, tool.Ask},
	{"+Read", "mcp", tool.Nothing, tool.Ask},
	{"-ReadFile", "mcp", tool.Nothing, tool.Deny},
	{"-mcp__github", "mcp", tool.Nothing, tool.Deny},
	{"-github__* ; +github__search", "mcp", tool.Nothing, tool.Deny},
	{"-github__search(x)", "mcp", tool.Nothing, tool.Deny},
	{"+github__search(x)", "mcp", tool.Nothing, tool.Ask},
	{"+mcp__github ; @plan", "mcp", tool.Nothing, tool.Deny},
	{"?mcp__github ; @yolo", "mcp", tool.Nothing, tool.Ask},
	{"+my_tool", "found", tool.Nothing, tool.Allow},
	{"+WriteFile", "mimic", tool.Nothing, tool.Ask},
	{"+git__*", "server", tool.Nothing, tool.Allow},
}

// Rules on tools other than the shell: by name, path, host and server.
func TestToolRules(t *testing.T) {
	for _, test := range toolRules {
		mode := permission.Default
		lists := map[byte][]string{}
		for _, r := range strings.Split(test.rules, " ; ") {
			if r[0] == '@' {
				mode = permission.Mode(r[1:])
			} else {
				lists[r[0]] = append(lists[r[0]], r[1:])
			}
		}
		r := request(test.a)
		r.Declaration = someTools[test.tool]
		d, why := permission.Check(world(), parse(t, lists['+'], lists['?'], lists['-']), mode, permission.Options{}, r)
		if d.Verdict != test.want {
			t.Errorf("%s: %s %v: %v, want %v\n\t%s", test.rules, test.tool, test.a, d.Verdict, test.want, strings.Join(why, "\n\t"))
		}
	}
}

func TestUnusedRules(t *testing.T) {
	var tools []tool.Declaration
	for _, d := range someTools {
		tools = append(tools, d)
	}
	got := parse(t, []string{"Read(x)", "Raed(x)", "mcp__github"}, []string{"Grep"}, []string{"Shell(rm)", "Shel(rm)"}).Unused(tools)
	if len(got) != 2 || got[0].Text != "Shel(rm)" || got[0].List != "deny" || got[1].Text != "Raed(x)" || got[1].List != "allow" {
		t.Errorf("%q", got)
	}
}

// A deny rule on a path in an unknown home directory may match any path.
func TestRuleWithoutBase(t *testing.T) {
	rules := parse(t, nil, nil, []string{"Read(~/x)"})
	d, _ := permission.Check(permission.World{Roots: []string{root}}, rules, permission.Yolo, permission.Options{}, request(reads(root+"/a")))
	if d.Verdict != tool.Ask {
		t.Errorf("%v", d.Verdict)
	}
}

// wantVerdicts checks the verdict on each line.
func wantVerdicts(t *testing.T, rules permission.Rules, m permission.Mode, o permission.Options, want map[string]tool.Verdict) {
	t.Helper()
	for line, want := range want {
		if d, _ := permission.Check(plainWorld(), rules, m, o, commandRequest(line)); d.Verdict != want {
			t.Errorf("%s: %v, want %v", line, d.Verdict, want)
		}
	}
}

// An allow rule doesn't cover a word with a variable, even if the values of the variable are known.
func TestAllowRulesAndVariables(t *testing.T) {
	wantVerdicts(t, parse(t, []string{"Shell(git:*)", "Shell(find:*)"}, nil, nil), permission.Default, permission.Options{}, map[string]tool.Verdict{
		"git branch new":                                       tool.Allow,
		"for x in new; do git branch $x; done":                 tool.Ask,
		"for f in -delete; do find . -name README.md $f; done": tool.Ask,
		"for d in src docs; do find $d -name README.md; done":  tool.Ask,
	})
}

// A for runs nothing itself, so a rule for the commands in it covers the line.
func TestAllowRulesAndLoops(t *testing.T) {
	wantVerdicts(t, parse(t, []string{"Shell(wc:*)", "Shell(bash:*)"}, nil, nil), permission.Default, permission.Options{OnlyRules: true}, map[string]tool.Verdict{
		"for f in a b; do wc -l a.txt; done":       tool.Allow,
		"for f in a b; do wc -l a.txt; pwd; done":  tool.Ask,
		"for f in ../b; do wc -l a.txt; done":      tool.Ask,
		"for f in $(make); do wc -l a.txt; done":   tool.Ask,
		"for PATH in a b; do wc -l a.txt; done":    tool.Ask,
		"for f in a b; do wc -l a.txt; done > out": tool.Ask,
		"bash -c 'for f in a; do wc -l a; done'":   tool.Allow,
		"bash -c 'for f in /x; do wc -l a; done'":  tool.Ask,
	})
}

// A command is read-only only if everything that runs it is harmless, not just the last wrapper.
func TestAllowRulesAndWrappers(t *testing.T) {
	wantVerdicts(t, parse(t, []string{"Shell(sudo:*)", "Shell(timeout:*)", "Shell(nohup:*)"}, nil, nil), permission.Default, permission.Options{}, map[string]tool.Verdict{
		"timeout 5 ls":             tool.Allow,
		"timeout 5 nice ls":        tool.Allow,
		"sudo timeout 5 ls":        tool.Ask,
		"nohup timeout 5 nice ls":  tool.Ask,
		"nohup timeout 5 sudo ls":  tool.Ask,
		"time timeout 5 ls":        tool.Allow,
		"time nohup timeout 5 pwd": tool.Ask,

		"GIT_PAGER=x timeout 5 git log":          tool.Ask,
		"timeout 5 env GIT_PAGER=x git log":      tool.Ask,
		"sudo timeout 5 cat a.txt | wc -l":       tool.Ask,
		"for f in a; do sudo timeout 5 ls; done": tool.Ask,
	})
}

// A deny rule sees what a variable makes of a word, also where bash reads that word twice.
func TestDenyRulesAndVariables(t *testing.T) {
	rules := parse(t, nil, nil, []string{"Shell(touch)", "Read(secrets/**)"})
	for _, line := range []string{
		`c=touch; env $c x`, `for c in ls touch; do timeout 5 $c x; done`, `f=touch && sh -c "$f x"`, `d=secrets; cat $d/a`, `d=secrets && cd $d && cat a`, `f='x%n'; printf "$f" 'a[$(touch y)]'`, `o=-v; [ $o 'a[$(touch y)]' ]`,
		`f=PS4; env $f='$(touch x)' bash -x -c ls`, `x='a[$(touch y)]'; echo $((x))`,
	} {
		if d, _ := permission.Check(plainWorld(), rules, permission.Yolo, permission.Options{}, commandRequest(line)); d.Verdict != tool.Deny {
			t.Errorf("%s: %v", line, d.Verdict)
		}
	}
}

// The commands of a group share its input, so any of them may run it.
func TestDenyRulesAndInput(t *testing.T) {
	wantVerdicts(t, parse(t, nil, nil, []string{"Shell(rm)"}), permission.Yolo, permission.Options{}, map[string]tool.Verdict{
		"echo 'rm x' | { sh; }": tool.Deny, "echo 'rm x' | { read a; sh; }": tool.Deny, "echo 'rm x' | (python3)": tool.Ask, "curl x | { read a; python3; }": tool.Ask,
		"echo 'rm x' | { cat; }": tool.Allow, "echo 'rm x' | while read a; do echo \"$a\"; done": tool.Allow,
	})
}
