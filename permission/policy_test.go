//go:build unix

package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func TestReasonAndOffer(t *testing.T) {
	mcp := request(tool.Nothing)
	mcp.Declaration = tool.Declaration{Name: "github__search", DisplayName: "ReadFile", Origin: "mcp:github"}
	tests := []struct {
		name string
		mode permission.Mode
		r    tool.Request
		want tool.Decision
	}{
		{"write", permission.Default, request(reads(root+"/src/main.go"), writes(root+"/src/main.go")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/src/main.go (mode: default)",
			Offer:   []string{"Edit(/src/main.go)", "Edit(/src/**)", "Edit(/**)"},
		}},
		{"write at the root", permission.Default, request(writes(root + "/.x")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/.x (mode: default)",
			Offer:   []string{"Edit(/.x)", "Edit(/**)"},
		}},
		{"write in another root", permission.Default, request(writes("/srv/lib/a/b")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /srv/lib/a/b (mode: default)",
			Offer:   []string{"Edit(//srv/lib/a/b)", "Edit(//srv/lib/a/**)", "Edit(//srv/lib/**)"},
		}},
		{"read outside; the home directory isn't offered", permission.Default, request(reads("/home/me/notes.txt")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "reads /home/me/notes.txt, outside the workspace /home/me/app and 1 more (mode: default)",
			Offer:   []string{"Read(//home/me/notes.txt)"},
		}},
		{"read a directory outside", permission.Plan, request(reads("/data/x/")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "reads /data/x/, outside the workspace /home/me/app and 1 more (mode: plan)",
			Offer:   []string{"Read(//data/x/**)"},
		}},
		{"change a file outside", permission.AutoEdit, request(reads("/data/a b"), writes("/data/a b")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  `writes "/data/a b", outside the workspace /home/me/app and 1 more (mode: auto-edit)`,
			Offer:   []string{"Edit(//data/a b)", "Edit(//data/**)"},
		}},
		{"secret", permission.AutoEdit, request(reads(root + "/.env")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "reads /home/me/app/.env, which may be secret (environment file with credentials) (mode: auto-edit)",
			Offer:   []string{"Read(/.env)"},
		}},
		{"protected", permission.AutoEdit, request(writes(root + "/.adze/settings.json")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/.adze/settings.json, a protected name (settings that decide what Adze may do) (mode: auto-edit)",
			Offer:   []string{"Edit(/.adze/settings.json)"},
		}},
		{"a directory that may have protected names", permission.AutoEdit, request(writes(root + "/src/")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/src/ and everything below it (mode: auto-edit)",
			Offer:   []string{"Edit(/src/**)"},
		}},
		{"a name that would be a pattern", permission.Default, request(writes(root + "/src/[id]*.ts")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/src/[id]*.ts (mode: default)",
			Offer:   []string{"Edit(/src/**)", "Edit(/**)"},
		}},
		{"a name with invisible characters", permission.Default, request(writes(root + "/src/a\u202eb\nc")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  `writes /home/me/app/src/a\u202Eb\nc (mode: default)`,
			Offer:   []string{"Edit(/src/**)", "Edit(/**)"},
		}},
		{"two secrets have no common rule", permission.Default, request(reads(root+"/.env"), reads(root+"/b.pem")), tool.Decision{
			Verdict: tool.Ask,
			Reason: "reads /home/me/app/.env, which may be secret (environment file with credentials); " +
				"reads /home/me/app/b.pem, which may be secret (private key or key store) (mode: default)",
		}},
		{"a command", permission.Default, request(execs("make")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "runs make, which is not on the read-only list (mode: default)",
			Offer:   []string{"Shell(make)"},
		}},
		{"host", permission.Yolo, request(reaches("example.com")), tool.Decision{Verdict: tool.Allow, Reason: "contacts the host example.com"}},
		{"an external tool with the name of a built-in one", permission.Default, mcp, tool.Decision{
			Verdict: tool.Ask,
			Reason:  "has effects that can't be known in advance (from mcp:github) (mode: default)",
			Offer:   []string{"github__search"},
		}},
		{"denied", permission.Plan, request(writes(root + "/a")), tool.Decision{
			Verdict: tool.Deny, Reason: "writes /home/me/app/a (mode: plan)",
		}},
		{"many", permission.Default, request(writes(root+"/a/1"), writes(root+"/a/2"), writes(root+"/a/3"), writes(root+"/b/4"), writes(root+"/b/5")), tool.Decision{
			Verdict: tool.Ask,
			Reason:  "writes /home/me/app/a/1; writes /home/me/app/a/2; writes /home/me/app/a/3; 2 more (mode: default)",
			Offer:   []string{"Edit(/**)"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := permission.New(world(), test.mode).Judge(test.r)
			got.Reason, got.Cause = got.Why(), tool.Cause{} // the text that users and models see
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostOffers(t *testing.T) {
	for target, want := range map[string][]string{
		"API.example.com.": {"WriteFile(domain:api.example.com)", "WriteFile"},
		"127.0.0.1":        {"WriteFile(domain:127.0.0.1)", "WriteFile"},
		"*":                {"WriteFile"},
		"a_b):c":           {"WriteFile"},
		// For an unusual port, only a rule for the whole tool was offered.
		"example.com:8080":   {"WriteFile(domain:example.com:8080)", "WriteFile"},
		"127.0.0.1:3000":     {"WriteFile(domain:127.0.0.1:3000)", "WriteFile"},
		"[2001:db8::1]:8080": {"WriteFile(domain:[2001:db8::1]:8080)", "WriteFile"},
		"[2001:DB8:0::1]":    {"WriteFile(domain:[2001:db8::1])", "WriteFile"},
		"example.com:http":   {"WriteFile"},
	} {
		got := permission.New(world(), permission.Default).Judge(request(reaches(target))).Offer
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

func TestRemember(t *testing.T) {
	other := func(as ...tool.Access) tool.Request {
		r := request(as...)
		r.Declaration = tool.Declaration{Name: "edit", DisplayName: "Edit", Kind: tool.Edit}
		return r
	}
	namesake := request(tool.Nothing)
	namesake.Declaration = tool.Declaration{Name: "WriteFile", Origin: "command"}
	tests := []struct {
		name string
		by   tool.Request
		rule string
		then tool.Request
		want verdicts
	}{
		{"the same file", request(writes(root + "/a/x")), "Edit(/a/x)", request(writes(root + "/a/x")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"the same file by another tool", request(writes(root + "/a/x")), "Edit(/a/x)", other(writes(root + "/a/x")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"another file", request(writes(root + "/a/x")), "Edit(/a/x)", request(writes(root + "/a/xy")), edits},
		{"the same directory", request(writes(root + "/a/x")), "Edit(/a/**)", request(writes(root + "/a/b/c/y")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"a directory with a similar name", request(writes(root + "/a/x")), "Edit(/a/**)", request(writes(root + "/ab/y")), edits},
		{"protected names in the directory", request(writes(root + "/a/x")), "Edit(/a/**)", request(writes(root + "/a/.git/config")), changes},
		{"the workspace", request(writes(root + "/a/x")), "Edit(/**)", request(writes(root + "/z")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"outside the workspace", request(writes(root + "/a/x")), "Edit(/**)", request(writes("/data/z")), changes},
		{"the other root", request(writes(root + "/a/x")), "Edit(/**)", request(writes("/srv/lib/q")), edits},
		{"the workspace's protected names", request(writes(root + "/a/x")), "Edit(/**)", request(writes(root + "/.git/config")), changes},
		{"the workspace's secrets", request(writes(root + "/a/x")), "Edit(/**)", request(reads(root + "/.env")), asked},
		{"the workspace, a command", request(writes(root + "/a/x")), "Edit(/**)", request(execs("make")), changes},
		{"an external tool of the same name", request(tool.Anything), "WriteFile", namesake, changes},
		{"the protected file", request(writes(root + "/.git/config")), "Edit(/.git/config)", request(writes(root + "/.git/config")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"the secret", request(reads(root + "/.env")), "Read(/.env)", request(reads(root + "/.env")), free},
		{"read does not write", request(reads("/data/x")), "Read(//data/x)", request(writes("/data/x")), changes},
		{"reads, in plan too", request(reads("/data/x")), "Read(//data/**)", request(reads("/data/y/z")), free},
		{"a rule on writing allows reading the old contents", request(reads("/data/x"), writes("/data/x")), "Edit(//data/x)", request(reads("/data/x"), writes("/data/x")), verdicts{tool.Deny, tool.Allow, tool.Allow, tool.Allow}},
		{"but not reading alone", request(reads("/data/x"), writes("/data/x")), "Edit(//data/x)", request(reads("/data/x")), asked},
		{"subdomain", request(reaches("example.com")), "WriteFile(domain:example.com)", request(reaches("api.example.com")), free},
		{"look-alike domain", request(reaches("example.com")), "WriteFile(domain:example.com)", request(reaches("badexample.com")), asked},
		{"one of two", request(writes(root + "/a/x")), "Edit(/a/**)", request(writes(root+"/a/x"), reaches("example.com")), changes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := permission.New(world(), permission.Default)
			if !p.Remember(test.by, test.rule) {
				t.Fatalf("%s was not remembered; offered: %q", test.rule, p.Judge(test.by).Offer)
			}
			var got verdicts
			for i, m := range permission.Modes() {
				p.SetMode(m)
				got[i] = p.Judge(test.then).Verdict
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestRememberRejects(t *testing.T) {
	p := permission.New(world(), permission.Default)
	for rule, r := range map[string]tool.Request{
		"":                       request(writes(root + "/a")),
		"Edit(/b)":               request(writes(root + "/a")),
		"Edit(//**)":             request(writes(root + "/a")), // covers it, but was never offered
		"WriteFile":              request(writes(root + "/a")), // allows writes outside the workspace
		"Shell":                  request(execs("ls")),
		"Read(//home/me/**)":     request(reads("/home/me/x")),
		"WriteFile(domain:com)":  request(reaches("example.com")),
		"Edit(/.git/**)":         request(writes(root + "/.git/config")),
		"Edit(/src/**)":          request(reads(root + "/src/x")),
		"WriteFile(domain:a.b )": request(reaches("a.b")),
	} {
		if p.Remember(r, rule) {
			t.Errorf("%q was remembered for %v", rule, r.Access)
		}
	}
}

func TestExplain(t *testing.T) {
	mustAsk := request(tool.Nothing)
	mustAsk.MustAsk = true
	tests := []struct {
		name string
		mode permission.Mode
		r    tool.Request
		d    *tool.Decision // nil: the policy's own
		want string
	}{
		{"write", permission.Default, request(writes(root + "/a")), nil,
			"writes /home/me/app/a (mode: default). To allow it, add to permissions.allow: \"Edit(/a)\", or run with --approval-mode auto-edit"},
		{"plan", permission.Plan, request(writes(root + "/a")), nil,
			"writes /home/me/app/a (mode: plan)"},
		{"protected", permission.AutoEdit, request(writes(root + "/.mcp.json")), nil,
			"writes /home/me/app/.mcp.json, a protected name (names MCP servers, which are started as programs) (mode: auto-edit). To allow it, add to permissions.allow: \"Edit(/.mcp.json)\""},
		{"allowed", permission.Default, request(reads(root + "/a")), nil, "reads /home/me/app/a"},
		{"only the user", permission.Yolo, mustAsk, &tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMustAsk}, Reason: "asks a question"},
			"asks a question (only the user can approve this). Run it in an interactive session to answer."},
		{"not by the mode", permission.Default, request(reads(root + "/a")), &tool.Decision{Reason: "a hook said no"}, "a hook said no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := permission.New(world(), test.mode)
			d := p.Judge(test.r)
			if test.d != nil {
				d = *test.d
			}
			if got := strings.Join(p.Explain(test.r, d), ". "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// More access or a stricter mode never makes a verdict milder, and a rule that is offered allows the call once it is
// remembered.
func TestProperties(t *testing.T) {
	targets := []string{root, root + "/", root + "/a", root + "/a/b", root + "/.env", root + "/.git/x", "/srv/lib/q", "/data/x", "/data/x/",
		"/home/me/n", "/", "*", "", "rel", "/usr/x", "/etc/shadow", "example.com", "/home/me/.adze/spill/s1/1", "/home/me/.adze/x", "/data/[x]"}
	access := rapid.Custom(func(t *rapid.T) tool.Access {
		verb := rapid.SampledFrom([]tool.Verb{tool.Reads, tool.Writes, tool.Execs, tool.Reaches, tool.Locks, tool.Nothing.Verb, tool.Anything.Verb, "x"}).Draw(t, "verb")
		return tool.Access{Verb: verb, Target: rapid.SampledFrom(targets).Draw(t, "target")}
	})
	rapid.Check(t, func(t *rapid.T) {
		as := rapid.SliceOfN(access, 1, 4).Draw(t, "access")
		last := tool.Deny
		for _, m := range permission.Modes() {
			p := permission.New(world(), m)
			d := p.Judge(request(as...))
			want := tool.Allow
			for _, a := range as {
				want = min(want, p.Judge(request(a)).Verdict)
			}
			has := func(v tool.Verb) bool {
				return slices.ContainsFunc(as, func(a tool.Access) bool { return a.Verb == v })
			}
			if has(tool.Execs) && has(tool.Writes) { // it opens the sandbox, which no mode allows
				want = min(want, tool.Ask)
			}
			if d.Verdict != want {
				t.Fatalf("%s: %v, but one by one %v", m, d.Verdict, want)
			}
			if d.Verdict < last {
				t.Fatalf("%s is stricter than the mode before it", m)
			}
			last = d.Verdict
			for _, rule := range d.Offer {
				q := permission.New(world(), m)
				if !q.Remember(request(as...), rule) {
					t.Fatalf("%s: %q was offered and not remembered", m, rule)
				}
				if got := q.Judge(request(as...)); got.Verdict != tool.Allow {
					t.Fatalf("%s: %q was offered, but then: %v, %s", m, rule, got.Verdict, got.Reason)
				}
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	p := permission.New(world(), permission.Default)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				r := request(writes(fmt.Sprintf("%s/d%d/f%d", root, i, j)))
				if d := p.Judge(r); d.Verdict == tool.Ask && j%10 == 0 {
					p.Remember(r, d.Offer[0])
				}
				p.SetMode(permission.Modes()[(i+j)%4])
				p.Explain(r, tool.Decision{Verdict: tool.Ask, Reason: string(p.Mode())})
			}
		})
	}
	wg.Wait()
}

func ExamplePolicy() {
	p := permission.New(permission.World{Roots: []string{"/home/me/app"}, Home: "/home/me"}, permission.Default)
	r := tool.Request{
		Declaration: tool.Declaration{Name: "write_file", DisplayName: "WriteFile"},
		Invocation:  tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/home/me/app/src/main.go"}}},
	}
	d := p.Judge(r)
	fmt.Println(d.Verdict, "-", d.Why())
	fmt.Println(strings.Join(d.Offer, " | "))
	p.SetMode(permission.AutoEdit)
	fmt.Println(p.Judge(r).Verdict)
	// Output:
	// ask - writes /home/me/app/src/main.go (mode: default)
	// Edit(/src/main.go) | Edit(/src/**) | Edit(/**)
	// allow
}

func BenchmarkJudge(b *testing.B) {
	p := permission.New(world(), permission.Default)
	r := request(reads(root+"/src/main.go"), writes(root+"/src/main.go"))
	for b.Loop() {
		p.Judge(r)
	}
}

func TestOnlyEdits(t *testing.T) {
	p := permission.New(world(), permission.Default)
	for name, test := range map[string]struct {
		r    tool.Request
		want bool
	}{
		"a file of the workspace": {request(reads(root+"/a"), writes(root+"/a")), true},
		"a protected name":        {request(writes(root + "/.git/config")), false},
		"another directory":       {request(writes("/etc/hosts")), false},
		"both":                    {request(writes(root+"/a"), writes("/etc/hosts")), false},
		"an unknown path":         {request(writes("*")), false},
		"a read":                  {request(reads("/etc/hosts")), false},
		"unknown effects":         {request(tool.Anything), false},
	} {
		if got := p.OnlyEdits(test.r); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
