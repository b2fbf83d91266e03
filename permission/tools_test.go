//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

var someTools = map[string]tool.Declaration{
	"write":  {Name: "write_file", DisplayName: "WriteFile", Kind: tool.Edit},
	"read":   {Name: "read_file", DisplayName: "ReadFile", Kind: tool.Read},
	"edit":   {Name: "edit", DisplayName: "Edit", Aliases: []string{"replace"}, Kind: tool.Edit},
	"grep":   {Name: "grep_search", DisplayName: "Grep", Aliases: []string{"search_file_content"}, Kind: tool.Search},
	"fetch":  {Name: "web_fetch", DisplayName: "WebFetch", Kind: tool.Fetch},
	"todo":   {Name: "todo_write", DisplayName: "TodoWrite", Kind: tool.Think},
	"mcp":    {Name: "github__search", DisplayName: "ReadFile", Origin: "mcp:github"},
	"mcp2":   {Name: "gitlab__search", Origin: "mcp:gitlab"},
	"found":  {Name: "my_tool", Origin: "command"},
	"bash":   {Name: "Bash", Origin: "command"},
	"mimic":  {Name: "WriteFile", Origin: "command"},
	"server": {Name: "git__x", Origin: "mcp:git"},
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
	// A deny rule on a host did not mean its other ports.
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
	// Who forbids Bash forbids a tool from outside that calls itself so; who allows it does not.
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

// A deny rule whose base is not known may mean anything.
func TestRuleWithoutBase(t *testing.T) {
	rules := parse(t, nil, nil, []string{"Read(~/x)"})
	d, _ := permission.Check(permission.World{Roots: []string{root}}, rules, permission.Yolo, permission.Options{}, request(reads(root+"/a")))
	if d.Verdict != tool.Ask {
		t.Errorf("%v", d.Verdict)
	}
}
