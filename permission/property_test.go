//go:build unix

package permission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/tool"
)

var somePatterns = []string{
	"Shell(rm)", "Shell(git push)", "Shell(ls:*)", "Shell(npm test)", "Shell(cat:*)", "Shell(bash:*)", "Shell(*)", "Shell(sudo:*)", "Shell(xargs:*)", "Shell(echo:*)", "Shell(find:*)",
	"Read(.env)", "Read(src/**)", "Edit(src/**)", "Read", "Edit", "Shell", "Shell(git:*)", "Shell(touch:*)", "Shell(sort:*)", "run_shell_command", "Read(//home/me/**)",
}

func parse(t interface{ Fatal(...any) }, allow, ask, deny []string) permission.Rules {
	rules, _, err := permission.ParseRules(allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// One more deny rule never makes a verdict milder, one more ask rule never turns ask into allow, and without the
// built-in approval nothing is milder either.
func TestMoreRulesAreNeverMilder(t *testing.T) {
	lines := someLines(t)
	list := rapid.SliceOfN(rapid.SampledFrom(somePatterns), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(lines).Draw(t, "line")
		allow, ask, deny := list.Draw(t, "allow"), list.Draw(t, "ask"), list.Draw(t, "deny")
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		more := rapid.SampledFrom(somePatterns).Draw(t, "more")
		judge := func(r permission.Rules, o permission.Options) tool.Verdict {
			d, why := permission.Check(calmWorld(), r, mode, o, commandRequest(line))
			if len(why) == 0 || d.Reason == "" {
				t.Fatalf("%s: no reason", line)
			}
			return d.Verdict
		}
		before := judge(parse(t, allow, ask, deny), permission.Options{})
		if got := judge(parse(t, allow, ask, append(deny[:len(deny):len(deny)], more)), permission.Options{}); got > before {
			t.Fatalf("%s: %v, with deny %s %v", line, before, more, got)
		}
		if got := judge(parse(t, allow, append(ask[:len(ask):len(ask)], more), deny), permission.Options{}); got > before {
			t.Fatalf("%s: %v, with ask %s %v", line, before, more, got)
		}
		if got := judge(parse(t, allow, ask, deny), permission.Options{NoReadOnly: true}); got > before {
			t.Fatalf("%s: %v, without the built-in approval %v", line, before, got)
		}
		if got := judge(parse(t, append(allow[:len(allow):len(allow)], more), ask, deny), permission.Options{}); got < before {
			t.Fatalf("%s: %v, with allow %s %v", line, before, more, got)
		}
	})
}

func someLines(t testing.TB) []string {
	lines := corpus(t).All()
	for _, e := range readRules(t) {
		lines = append(lines, e.command)
	}
	return lines
}

// However a denied word is quoted, wrapped or nested, it stays denied.
func TestQuotingStaysDenied(t *testing.T) {
	rules := parse(t, []string{"Shell(*)"}, nil, []string{"Shell(rm)", "Shell(git push)"})
	lines := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		g := bashlab.NewGenerator(draws{t}, lines)
		words := rapid.SampledFrom([][]string{{"rm", "-rf", "x"}, {"git", "push", "origin"}, {"rm", "a b"}}).Draw(t, "words")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, g.Spell(w))
		}
		line := strings.Join(quoted, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "gap"))
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			line = g.Nest(line)
		}
		for _, m := range permission.Modes() {
			if d, why := permission.Check(calmWorld(), rules, m, permission.Options{}, commandRequest(line)); d.Verdict != tool.Deny {
				t.Fatalf("%s: %q: %v\n%s", m, line, d.Verdict, strings.Join(why, "\n"))
			}
		}
	})
}

// draws is a source of choices that rapid can shrink.
type draws struct{ *rapid.T }

func (d draws) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "choice") }

// What is offered for a command allows it, is no verbatim compound, and covers no other command by accident.
func TestCommandOffers(t *testing.T) {
	for line, want := range map[string][]string{
		"git commit -m x":                   {"Shell(git commit:*)"},
		"npm run test -- --watch":           {"Shell(npm run test:*)", "Shell(npm run:*)"},
		"npm test":                          {"Shell(npm test:*)"},
		"npm install && npm test":           {"Shell(npm install:*)\nShell(npm test:*)"},
		"cd src && npm test 2>&1 | tail -5": {"Shell(npm test:*)"},
		"ls && git commit -m 'a b' && ls":   {"Shell(git commit:*)"},
		"make":                              {"Shell(make)"},
		"make build":                        {"Shell(make build:*)"},
		"go test ./...":                     {"Shell(go test:*)"},
		"python script.py x":                {"Shell(python script.py:*)"},
		"python -m pytest -q":               {"Shell(python -m pytest:*)"},
		"sh ./check.sh":                     {"Shell(sh ./check.sh:*)"},
		"bash -eu scripts/x.sh --fast":      {"Shell(bash -eu scripts/x.sh:*)"},
		"bash -o pipefail x.sh":             {"Shell(bash -o pipefail x.sh)"},
		"bash -s x":                         nil, // runs its input
		"bash":                              nil,
		". ./env.sh":                        {"Shell(. ./env.sh)"},
		"find . -name x -delete":            {"Shell(find . -name x -delete)"},
		"python -c 'print(1)'":              {"Shell(python -c 'print(1)')"},
		"bash -c 'npm test'":                {"Shell(bash -c 'npm test')\nShell(npm test:*)"},
		"sudo npm test":                     nil,
		"eval npm test":                     nil,
		"env X=1 npm test":                  {"Shell(env X=1 npm test)\nShell(npm test:*)"},
		"npm test > log":                    nil,
		"npm test $X":                       nil,
		"X=1 npm test":                      nil,
		"f() { ls; }; f":                    nil,
		"rm -rf build":                      {"Shell(rm -rf build)"},
		"curl https://x":                    {"Shell(curl https://x)"},
		"cat /home/me/notes.txt":            {"Read(//home/me/notes.txt)"},
		"cat .env":                          {"Read(/.env)"},
		"cat .env && npm test":              {"Read(/.env)\nShell(npm test:*)"},
		"timeout 60 npm test":               {"Shell(npm test:*)"},
		"git -c a.b=c commit":               {"Shell(git -c a.b=c commit)"},
		"mytool 'a;b' \"it's\"":             {"Shell(mytool:*)"},
		"cp x .git/config":                  {"Shell(cp x .git/config)"},
		"rm 'a*b'":                          nil,
		"docker compose up -d":              {"Shell(docker compose up:*)", "Shell(docker compose:*)"},
	} {
		p := permission.New(calmWorld(), permission.Default)
		r := commandRequest(line)
		d := p.Judge(r)
		if diff := cmp.Diff(want, d.Offer); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
		for _, offer := range d.Offer {
			q := permission.New(calmWorld(), permission.Default)
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
			d, _ := permission.Check(hurriedWorld(), permission.Rules{}, m, permission.Options{}, commandRequest(line))
			if d.Verdict == tool.Allow && !(strings.HasPrefix(name, "wrapped") && m == permission.Yolo) {
				t.Errorf("%s: %s: %v", name, m, d.Verdict)
			}
		}
		d, _ := permission.Check(hurriedWorld(), deny, permission.Yolo, permission.Options{}, commandRequest(line))
		if d.Verdict != tool.Deny {
			t.Errorf("%s: with deny: %v", name, d.Verdict)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	// No count weakens deny.
	line := strings.Repeat("true; ", 3000) + "rm x"
	if d, _ := permission.Check(hurriedWorld(), deny, permission.Yolo, permission.Options{}, commandRequest(line)); d.Verdict != tool.Deny {
		t.Errorf("3000 commands before it: %v", d.Verdict)
	}
}

// deepShell is bash -c within bash -c.
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

func BenchmarkCommand(b *testing.B) {
	rules := parse(b, []string{"Shell(npm test:*)", "Read(docs/**)"}, []string{"Shell(git push)"}, []string{"Shell(rm)", "Shell(sudo)", "Read(.env)"})
	p := permission.New(calmWorld(), permission.Default)
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
