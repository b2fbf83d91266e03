//go:build unix

package permission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func TestAttacks(t *testing.T) {
	serial.Test(t)
	w := plainWorld()
	w.Secrets = func() ([]string, bool) { return []string{root + "/.env", root + "/src/id_rsa"}, true }
	for _, l := range corpus(t).Attacks {
		for _, m := range []permission.Mode{permission.Plan, permission.Default, permission.AutoEdit} {
			d := permission.New(w, m).Judge(commandRequest(l.Text))
			if d.Verdict == tool.Allow {
				t.Errorf("attacks.txt:%d: %s: allowed: %s\n\t%s", l.Number, m, l.Text, d.Reason)
			}
		}
	}
}

// Where nothing enforces reads, a search needs approval if there is a secret below its directory.
func TestOnlySearchesReadDirectories(t *testing.T) {
	w := plainWorld()
	w.Secrets = func() ([]string, bool) { return []string{root + "/.env", root + "/src/a.pem"}, true }
	for line, want := range map[string]tool.Verdict{
		"sort -rn a.txt": tool.Allow, "du -sh src | sort -rh": tool.Allow, "jq -r .a a.json": tool.Allow, "cat a.json | jq -r .a": tool.Allow, "ls -lrt": tool.Allow, "ls -R": tool.Allow,
		"grep -n foo a.txt": tool.Allow, "git diff --name-only": tool.Allow, "uniq -c < a.txt | sort -nr": tool.Allow, "grep -rn foo docs": tool.Allow,
		"grep -r foo": tool.Ask, "grep -R foo .": tool.Ask, "grep --recursive foo src": tool.Ask, "egrep -rn foo src": tool.Ask, "rg foo": tool.Ask, "diff -r src docs": tool.Ask, "git grep foo": tool.Ask,
	} {
		if d := permission.New(w, permission.Default).Judge(commandRequest(line)); d.Verdict != want {
			t.Errorf("%s: %v, want %v: %s", line, d.Verdict, want, d.Why())
		}
	}
}

// Offers for a command allow it, have one rule for each simple command, and can be saved.
func TestCommandOffers(t *testing.T) {
	for line, want := range map[string][]string{
		"git commit -m x":                   {"Shell(git commit -m x)"},
		"npm run test -- --watch":           {"Shell(npm run test -- --watch)"},
		"npm test":                          {"Shell(npm test)"},
		"npm install && npm test":           {"Shell(npm install)\nShell(npm test)"},
		"cd src && npm test 2>&1 | tail -5": {"Shell(npm test)"},
		"ls && git commit -m 'a b' && ls":   {"Shell(git commit -m 'a b')"},
		"make":                              {"Shell(make)"},
		"make build":                        {"Shell(make build)"},
		"go test ./...":                     {"Shell(go test ./...)"},
		"python script.py x":                {"Shell(python script.py x)"},
		"bash -eu scripts/x.sh --fast":      {"Shell(bash -eu scripts/x.sh --fast)"},
		"bash -s x":                         nil, // runs its input
		". ./env.sh":                        {"Shell(. ./env.sh)"},
		"find . -name x -delete":            {"Shell(find . -name x -delete)"},
		"python -c 'print(1)'":              {"Shell(python -c 'print(1)')"},
		"bash -c 'npm test'":                {"Shell(bash -c 'npm test')\nShell(npm test)"},
		"sudo npm test":                     nil,
		"/usr/bin/sudo npm test":            nil,
		"eval npm test":                     nil,
		"env X=1 npm test":                  {"Shell(env X=1 npm test)\nShell(npm test)"},
		"npm test > log":                    nil,
		"npm test $X":                       nil,
		"X=1 npm test":                      nil,
		"f() { ls; }; f":                    nil,
		"rm -rf build":                      {"Shell(rm -rf build)"},
		"curl https://x":                    {"Shell(curl https://x)"},
		"cat /home/me/notes.txt":            {"Read(//home/me/notes.txt)"},
		"cat .env":                          {"Read(/.env)"},
		"cat .env && npm test":              {"Read(/.env)\nShell(npm test)"},
		"timeout 60 npm test":               {"Shell(npm test)"},
		"git -c a.b=c commit":               {"Shell(git -c a.b=c commit)"},
		"mytool 'a;b' \"it's\"":             {`Shell(mytool 'a;b' 'it'\''s')`},
		"cp x .git/config":                  {"Shell(cp x .git/config)"},
		"rm 'a*b'":                          nil,
		"docker compose up -d":              {"Shell(docker compose up -d)"},
		"docker ps":                         {"Shell(docker ps)", "Shell(docker ps:*)"},
		"docker ps -a | head -5; npm test":  {"Shell(docker ps -a)\nShell(npm test)", "Shell(docker ps:*)\nShell(npm test)"},
		"npm test | tee log":                {"Shell(npm test)\nShell(tee log)"},
		// The input may be a program: a rule on the words would allow any other one.
		"python3 <<'E'\nprint(1)\nE":      nil,
		"python3 - <<< 'print(1)'":        nil,
		"echo 'print(1)' | python3":       nil,
		"echo x | { psql db; }":           nil,
		"{ sqlite3 db; } <<< .tables":     nil,
		"cat x | timeout 5 node":          nil,
		"cat x | bash -c 'python3'":       nil,
		"cat x | while read; do ed; done": nil,
	} {
		p := permission.New(plainWorld(), permission.Default)
		r := commandRequest(line)
		d := p.Judge(r)
		if diff := cmp.Diff(want, d.Offer); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
		for _, offer := range d.Offer {
			q := permission.New(plainWorld(), permission.Default)
			if !q.Remember(r, offer) || q.Judge(r).Verdict != tool.Allow {
				t.Errorf("%s: %q does not allow it", line, offer)
			}
			if _, ignored, err := permission.ParseRules(permission.SplitOffer(offer), nil, nil); err != nil || len(ignored) > 0 {
				t.Errorf("%q cannot be saved: %v %v", offer, ignored, err)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	serial.Test(t)
	deny := parse(t, []string{"Shell(*)"}, nil, []string{"Shell(rm)"})
	for name, line := range map[string]string{
		"long":              "echo " + strings.Repeat("a", 64<<10),
		"deep":              strings.Repeat("(", 2000) + "ls" + strings.Repeat(")", 2000),
		"braces":            strings.Repeat("{ ", 2000) + "ls" + strings.Repeat("; }", 2000),
		"ifs":               strings.Repeat("if ", 2000),
		"bangs":             strings.Repeat("! ", 2000) + "ls",
		"subst":             strings.Repeat("$(", 2000),
		"ticks":             strings.Repeat("`", 3001),
		"wrapped in shells": deepShell(8),
		"wrapped":           strings.Repeat("env ", 30) + "rm x",
		"wrapped more":      strings.Repeat("env nice ", 300) + "rm x",
		"inner":             "bash -c 'rm x\nls \"'",
		"unparsed":          "ls 'x",
	} {
		start := time.Now()
		for _, m := range []permission.Mode{permission.Default, permission.Yolo} {
			d, _ := permission.Check(plainWorld(), permission.Rules{}, m, permission.Options{}, commandRequest(line))
			if d.Verdict == tool.Allow && !(strings.HasPrefix(name, "wrapped") && m == permission.Yolo) {
				t.Errorf("%s: %s: %v", name, m, d.Verdict)
			}
		}
		d, _ := permission.Check(plainWorld(), deny, permission.Yolo, permission.Options{}, commandRequest(line))
		if d.Verdict != tool.Deny {
			t.Errorf("%s: with deny: %v", name, d.Verdict)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	// The number of commands doesn't weaken a deny rule.
	line := strings.Repeat("true; ", 3000) + "rm x"
	if d, _ := permission.Check(plainWorld(), deny, permission.Yolo, permission.Options{}, commandRequest(line)); d.Verdict != tool.Deny {
		t.Errorf("3000 commands before it: %v", d.Verdict)
	}
}

// deepShell is a bash -c in a bash -c, n times.
func deepShell(n int) string {
	line := "rm x"
	for range n {
		line = "bash -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
		if len(line) > 50000 {
			break
		}
	}
	return line
}

func BenchmarkCommand(b *testing.B) {
	rules := parse(b, []string{"Shell(npm test:*)", "Read(docs/**)"}, []string{"Shell(git push)"}, []string{"Shell(rm)", "Shell(sudo)", "Read(.env)"})
	p := permission.New(plainWorld(), permission.Default)
	p.SetRules(rules)
	for name, line := range map[string]string{
		"short": "cd src && git log --oneline | head -5",
		"4KB":   strings.Repeat("ls -la src && ", 290) + "ls",
		"16KB":  strings.Repeat("ls -la src && ", 1160) + "ls",
		"16KBw": "echo " + strings.Repeat("word ", 3200),
		"16KBq": "echo '" + strings.Repeat("word ", 3200) + "'",
		"16KBc": strings.Repeat("cat src/main.go; ", 960) + "ls",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Judge(commandRequest(line))
			}
		})
	}
}

// The prompt names the rule or list behind each part of a command, also rules of the session, and adze permission check
// shows the same.
func TestUnderstood(t *testing.T) {
	p := policy(t, world(), permission.Default, nil, nil, []string{"Shell(rm:*)"})
	exec := func(line string) tool.Request { return request(tool.Access{Verb: tool.Execs, Target: line}) }
	first := exec("make test")
	d := p.Judge(first)
	if len(d.Offer) == 0 || !p.Remember(first, d.Offer[0]) {
		t.Fatalf("no offer: %+v", d)
	}
	r := exec(`echo hi && make test; r\m x | xargs git push`)
	want := []permission.Reading{
		{Text: "echo hi", Why: "only reads"},
		{Text: "make test", Why: "allow rule Shell(make test) in this session"},
		{Text: "rm x", Why: "deny rule Shell(rm:*)"},
		{Text: "xargs git push", Why: "no rule matches it"},
		{Text: "git push … (run by xargs)", Why: "publishes something, which can't be undone"},
	}
	got := p.Understood(r)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(permission.Reading{})); diff != "" {
		t.Error(diff)
	}
	lines := strings.Join(p.Explain(r, p.Judge(r)), "\n")
	for _, c := range want[:3] {
		if !strings.Contains(lines, c.Why) {
			t.Errorf("the explanation lacks %q:\n%s", c.Why, lines)
		}
	}
	var loop []string
	for _, c := range p.Understood(exec("for x in a b; do ls; cat $x; done")) {
		loop = append(loop, c.Text)
	}
	if diff := cmp.Diff([]string{"ls", "cat $x"}, loop); diff != "" {
		t.Errorf("a loop: %s", diff)
	}
	if got := p.Understood(exec("echo 'unclosed")); got != nil {
		t.Errorf("a line that can't be read: %v", got)
	}
}
