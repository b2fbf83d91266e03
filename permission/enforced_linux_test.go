package permission_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// exampleRepository is a repository in Go, TypeScript and Python, with packages that git ignores and a secret.
func exampleRepository(t *testing.T, packages int) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir,
		"go.mod module example.com/app", "go.sum", "cmd/server/main.go package main", "cmd/tool/main.go package main", "internal/server/server.go package server",
		"internal/server/handler.go package server", "internal/config/config.go package config", "internal/config/config_test.go package config", "docs/guide.md # Guide", "docs/api.md # API",
		"docs/logo.png", "package.json {}", "package-lock.json {}", "tsconfig.json {}", "src/index.ts export {}", "src/api.ts export {}", "src/api.test.ts export {}", "pyproject.toml [project]", "scripts/import.py import csv",
		"tests/test_app.py import pytest", "Makefile test:", "README.md # App", "data/users.csv id,name", "data/users_old.csv id,name", "data/orders.csv id,user", "config/default.json {}", "config/production.json {}",
		"config/features.json []", "config/default.yaml a: 1", "config/production.yaml a: 2", "logs/app.log ok", ".gitignore node_modules/\n.env\nlogs/", "node_modules/typescript/package.json {}",
	)
	git := exec.Command("bash", "-c", `git init -q -b main . && git add -A && git -c user.name=me -c user.email=me@example.com commit -qm first`)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("no git here: %v: %s", err, out)
	}
	writeFiles(t, dir, ".env KEY=canary")
	for i := range packages {
		writeFiles(t, dir, fmt.Sprintf("node_modules/p%d/index.js", i))
	}
	return dir
}

// checkIn is the decision on a line in a directory of the real disk.
func checkIn(dir, line string, rules permission.Rules, enforced func() bool) (tool.Decision, []string) {
	w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "..", "home"), Disk: ondisk.New([]string{dir}), Path: systemPath, Enforced: enforced}
	r := commandIn(dir, line)
	return permission.Check(w, rules, permission.Default, permission.Options{}, r)
}

// readsEnforced is a World.Enforced for a sandbox that enforces reads.
func readsEnforced() bool { return true }

// Nineteen of twenty everyday commands run without approval where trials work, as by default on Linux, and nine of ten
// where the sandbox only enforces reads. Both lists are by people who hadn't seen this package; the second was written when
// the first passed.
func TestEveryday(t *testing.T) {
	dir := exampleRepository(t, 3000)
	for _, file := range []string{"everyday.txt", "everyday2.txt"} {
		t.Run(file, func(t *testing.T) { testEveryday(t, dir, file) })
	}
}

func testEveryday(t *testing.T, dir, file string) {
	lines := bashlab.ReadLines(t, "testdata/"+file)
	share := func(enforced func() bool, trials bool) (share float64, asks []string) {
		for _, l := range lines {
			if d, why := checkIn(dir, l.Text, permission.Rules{}, enforced); d.Verdict != tool.Allow && !(trials && d.Try) {
				asks = append(asks, fmt.Sprintf("%s:%d: %s\n\t%s", file, l.Number, l.Text, strings.Join(why, "\n\t")))
			}
		}
		slices.Sort(asks)
		return 1 - float64(len(asks))/float64(len(lines)), asks
	}
	alone, _ := share(nil, false)
	enforced, asks := share(readsEnforced, false)
	tried, _ := share(readsEnforced, true)
	t.Logf("of %d run without approval: %.1f %% with trials, %.1f %% where the sandbox enforces reads, %.1f %% elsewhere\n%s",
		len(lines), 100*tried, 100*enforced, 100*alone, strings.Join(asks, "\n"))
	if tried < 0.95 || enforced < 0.9 {
		t.Errorf("%.1f %% and %.1f %% run without approval, want 95 %% and 90 %%", 100*tried, 100*enforced)
	}
}

// Verdicts with and without a sandbox that enforces reads, in a tree with a .env and a large node_modules.
func TestEnforcedVerdicts(t *testing.T) {
	dir := exampleRepository(t, 3000)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const allow, ask = tool.Allow, tool.Ask
	for _, tt := range []struct {
		enforced, alone tool.Verdict
		lines           []string
	}{
		{allow, allow, []string{"ls -la", "cat README.md", "git log --oneline -5", "grep -rn foo src", "timeout 2 cat README.md", "cat < README.md", "jq . package.json", "case $x in a) ls;; esac"}},
		{allow, ask, []string{
			// Commands that users run most.
			"rg TODO", "rg --files", "grep -rn TODO . --exclude-dir=node_modules", "find . -name '*.go' | xargs wc -l", "wc -l $(git ls-files)", "wc -l $(git ls-files '*.go')", "N=$(wc -l < README.md); echo $N",
			"VERSION=$(jq -r .version package.json) && echo $VERSION", "go list ./...", "go vet ./...", "go env", "go doc", "gofmt -l .", "npm ls", "pip list", "cat /proc/cpuinfo", "file docs/*",
			"lsof -i :3000", "go list -json ./...",
			// Words that expand at run time.
			"cat $f", "f=src/index.ts; cat ${f%.ts}.go", "grep -rn \"$p\" .", "cat *", "cat .e*", "sed -n \"${a},${b}p\" README.md", "head -$n README.md",
			"awk \"NR==$n\" README.md", "sort $x", "git show $sha", "git log -n$n", "git -C \"$d\" status", "find . -name \"$p\" -exec head -1 {} \\;", "tail -n \"$n\" README.md",
			"while read -r a b; do echo $a; done < README.md", "for ((i=0;i<3;i++)); do echo $i; done", "[[ $x =~ ^a ]] && echo y", "[[ $x -gt 1 ]]", "((x > 1)) && echo y", "cd $d && ls", "a=(1 2); echo ${a[@]}",
			"diff <(sort README.md) <(sort go.mod) | wc -l; cat $x", "mapfile -t l < README.md; echo ${#l[@]}", "x=a; x+=b; echo $x", "FILE_COUNT=$(ls | wc -l); echo $FILE_COUNT", "GOOS=windows go list ./...",
			// Programs.
			"npm pkg get scripts", "npm config get registry", "pip show x", "pip3 freeze", "go mod graph", "go env -json", "gofmt -d cmd", "bat -p README.md", "less README.md", "top -bn1",
			"shellcheck x.sh", "tokei .", "yq .a config/default.yaml", "cargo tree --offline", "cat /proc/meminfo", "cat /proc/sys/kernel/hostname", "tac *",
		}},
		{ask, ask, []string{
			// Commands that write, run programs or use the network.
			"sed -i s/a/b/ README.md", "find . -delete", "sort -o x README.md", "git push", "git commit -m x", "git branch $x", "cat README.md > x", "cat README.md > $x", "cat $x >> y", "rg TODO | tee x", "gofmt -w .",
			"go env -w A=b", "go build ./...", "go test ./...", "go vet -vettool=./x ./...", "go list -toolexec ./x ./...", "go mod tidy", "go list -u -m all", "npm install", "npm view x", "npm run build", "pip install x", "make -n", "ldd ./x", "curl x",
			"$cmd", "$cmd README.md", "xxd *", "find \"$d\" -name '*.go'", "bash -c 'wc -l $f'", "x=ls; y=$x; $y", "git $x", "git -c $x status", "npm $x", "go $x", "pip $x", "xargs $x", "xargs git", "xargs -I{} git {}", "find . -exec $x {} \\;", "find . -exec {} \\;", "ls | xargs sh", "eval $x", ". ./x", "sh x.sh", "bash $x",
			"bash -c $x", "bash -c 'rm x'", "bash -c 'cat x > y'", "ls | xargs -I{} bash -c 'cat {}'", "PATH=. ls", "LD_PRELOAD=./x.so ls", "GIT_DIR=x git status", "f() { ls; }; f", "export A=b", "awk 'BEGIN { system(\"x\") }'",
			"awk \"{ print > $x }\" README.md", "select x in a; do ls; done", "for PATH in .; do ls; done", "read PATH < README.md", "PATH=$x; ls", "BASH_ENV=$x; ls", "GIT_EXTERNAL_DIFF=$x; git diff", "IFS=$x; ls", "shopt -s expand_aliases", "cat <<< x > y", "go get x", "cargo tree", "top", "yq -i .a x.yaml", "perl -i -pe s/a/b/ README.md",
			// Interpreters.
			"python3 -c 'print(1)'", "node -p '1+1'", "python3 - <<'E'\nprint(1)\nE", "python3 -m json.tool package.json", "perl -ne 'print if /x/' README.md", "ruby -e 'puts 1'",
			"python3 scripts/import.py", "python3 -m pytest", "python3 -c \"$x\"", "python3 -c \"print($x)\"", "python3 < scripts/import.py", "cat x | python3", "node src/index.js", "node -e \"$x\"", "perl x.pl", "python3 -m json.tool a.json b.json",
			"python3 -c 'open(\"x\",\"w\")'", "python3 -c 'import subprocess'", "python3 -c 'import os; os.remove(\"x\")'", "node -e 'require(\"fs\").writeFileSync(\"x\",\"\")'", "node -e 'require(\"child_process\")'", "node -e 'fetch(\"x\")'",
			"perl -e 'system(\"ls\")'", "perl -e 'unlink \"x\"'", "ruby -e 'File.write(\"x\", 1)'", "php -r 'touch(\"x\");'", "find . -name x | xargs python3 -c",
			// Literal names of secrets, and of files elsewhere.
			"cat .env", "cat < .env", "timeout 2 cat < .env", "grep KEY $x .env", "rg KEY .env $x", "rg -g .env KEY $x", "cat *.pem", "git show HEAD:.env $x", "git log -p -- '*.pem'", "git log -L1,3:.env $x", "for f in .env; do cat $x < $f; done", "python3 -c 'print(open(\".env\").read())'", "python3 - <<'E'\nopen('.env')\nE",
			"node -p 'require(\"fs\").readFileSync(\".env\")'", "for f in .env; do cat $f; done", "perl -ne print .env", "cat OTHER/notes.txt", "cat $x OTHER/notes.txt", "cat OTHER/*", "cd OTHER && ls $x", "rg x OTHER", "go list OTHER/...",
			"python3 -c 'print(open(\"OTHER/notes.txt\").read())'", "ls ~", "cat ~/.ssh/id_rsa $x", "cat /proc/1/environ", "cat /proc/self/environ", "cat /proc/kcore", "ls OTHER/*",
		}},
	} {
		for _, line := range tt.lines {
			line = strings.ReplaceAll(line, "OTHER", other)
			if d, why := checkIn(dir, line, permission.Rules{}, readsEnforced); d.Verdict != tt.enforced {
				t.Errorf("enforced: %s: %v, want %v\n\t%s", line, d.Verdict, tt.enforced, strings.Join(why, "\n\t"))
			}
			for _, no := range []func() bool{nil, func() bool { return false }} {
				if d, why := checkIn(dir, line, permission.Rules{}, no); d.Verdict != tt.alone {
					t.Errorf("not enforced: %s: %v, want %v\n\t%s", line, d.Verdict, tt.alone, strings.Join(why, "\n\t"))
				}
			}
		}
	}
}

// World.Enforced is called at most once, and only if the verdict depends on it.
func TestEnforcedIsCalledOnce(t *testing.T) {
	dir := exampleRepository(t, 0)
	for line, want := range map[string]int{
		"ls": 0, "cat README.md | head": 0, "git status": 0, "make": 0, "cat .env": 0, "rm x": 0, "cat $f > x": 0, "python3 x.py": 0,
		"rg TODO": 1, "cat $f": 1, "go list ./...; rg x; cat $f": 1,
	} {
		calls := 0
		d, why := checkIn(dir, line, permission.Rules{}, func() bool { calls++; return true })
		if calls != want {
			t.Errorf("%s: called %d times, want %d", line, calls, want)
		}
		if relies := strings.Contains(why[0], "relying on the sandbox"); relies != (want == 1) {
			t.Errorf("%s: %s", line, why[0])
		}
		if want == 1 && (d.Verdict != tool.Allow || len(d.Grant) != 1) {
			t.Errorf("%s: %v, granted %v", line, d.Verdict, d.Grant)
		}
	}
}

// A command that yolo mode or a rule allows isn't limited to reading.
func TestEnforcedDoesNotLimitAllowedCommands(t *testing.T) {
	dir := exampleRepository(t, 0)
	d, _ := checkIn(dir, "python3 -c 'print(1)'", parse(t, []string{"Shell(python3:*)"}, nil, nil), readsEnforced)
	if d.Verdict != tool.Allow || d.Grant != nil {
		t.Errorf("%v, granted %v", d.Verdict, d.Grant)
	}
	// One half would run in the sandbox, the other half not.
	if d, _ := checkIn(dir, "python3 -c 'print(1)'; make", parse(t, []string{"Shell(make)"}, nil, nil), readsEnforced); d.Verdict != tool.Ask {
		t.Errorf("with a command that a rule allows: %v", d.Verdict)
	}
	w := enforcedWorld()
	if d := permission.New(w, permission.Yolo).Judge(commandRequest("python3 -c 'print(1)'")); d.Grant != nil {
		t.Errorf("yolo: granted %v", d.Grant)
	}
	r := commandRequest("python3 -c 'print(1)'")
	r.Access = append(r.Access, writes(root+"/x"))
	if d := permission.New(w, permission.AutoEdit).Judge(r); d.Verdict != tool.Ask {
		t.Errorf("with a write beside it: %v", d.Verdict)
	}
}

// Rules on reading, where the sandbox hides files under deny rules.
func TestEnforcedPathRules(t *testing.T) {
	dir := exampleRepository(t, 0)
	const allow, ask, deny = tool.Allow, tool.Ask, tool.Deny
	for _, tt := range []struct {
		list, rule, line string
		want             tool.Verdict
	}{
		{"deny", "Read(/data/**)", "cat $f", allow}, {"deny", "Read(/data/**)", "rg x", allow}, {"deny", "Read(/data/**)", "cat */*.csv", allow}, {"deny", "Read(/data/**)", "go list ./...", allow},
		{"deny", "Read(/data/**)", "git show $x", deny}, {"deny", "Read(/data/**)", "git status $x", allow}, {"deny", "Read(/data/**)", "cat data/users.csv", deny}, {"deny", "Read(/data/**)", "cat $f data/users.csv", deny}, {"deny", "Read(/data/**)", "cat data/* $f", deny},
		{"deny", "Read(/data/**)", "python3 -c 'open(\"data/users.csv\")'", deny}, {"deny", "Read(**/*.csv)", "wc -l $(git ls-files)", allow},
		{"deny", "Read", "cat $f", ask}, {"deny", "Read(//etc/hosts)", "cat $f", ask}, {"deny", "Read(//**/x)", "cat $f", ask}, {"deny", "Read(~/.ssh/**)", "cat $f", allow}, {"deny", "Read(~/**)", "cat $f", ask},
		{"deny", "Edit(/data/**)", "cat $f", allow}, {"deny", "Shell(cat:*)", "cat $f", deny}, {"deny", "Shell(rm:*)", "cat $f", allow},
		{"ask", "Read(/data/**)", "cat $f", ask}, {"ask", "Read(/data/**)", "rg x", ask}, {"ask", "Read(/data/**)", "cat README.md", allow}, {"ask", "Read(/data/**)", "cat data/users.csv", ask}, {"ask", "Edit(/data/**)", "cat $f", allow},
		{"ask", "Shell(cat:*)", "cat $f", ask},
	} {
		var lists [2][]string
		lists[slices.Index([]string{"ask", "deny"}, tt.list)] = []string{tt.rule}
		if d, why := checkIn(dir, tt.line, parse(t, nil, lists[0], lists[1]), readsEnforced); d.Verdict != tt.want {
			t.Errorf("%s %s: %s: %v, want %v\n\t%s", tt.list, tt.rule, tt.line, d.Verdict, tt.want, strings.Join(why, "\n\t"))
		}
	}
}

// The grant names the paths that rules or the mode allow, so that the sandbox doesn't hide them.
func TestGrantNamesPaths(t *testing.T) {
	dir := exampleRepository(t, 0)
	other := t.TempDir()
	notes, env := filepath.Join(other, "notes.txt"), filepath.Join(dir, ".env")
	if err := os.WriteFile(notes, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rule, line string
		want       []string
	}{
		{"Read(/" + other + "/**)", "cat README.md", nil}, {"Read(/" + other + "/**)", "cat " + notes, []string{notes}}, {"Read(/" + other + "/**)", "grep -r x " + other, []string{other, other + "/"}},
		{"Read(/" + other + "/**)", "cat $f " + notes, []string{notes}}, {"Read(/.env)", "cat .env", []string{env}}, {"Shell(cat " + notes + ")", "cat " + notes, []string{notes}}, {"Shell(x)", "cat /proc/cpuinfo /etc/hosts $f", []string{"/proc/cpuinfo"}},
	} {
		d, why := checkIn(dir, tt.line, parse(t, []string{tt.rule}, nil, nil), readsEnforced)
		want := []tool.Access{reads("*")}
		for _, p := range tt.want {
			want = append(want, reads(p))
		}
		if d.Verdict != tool.Allow || !slices.Equal(d.Grant, want) {
			t.Errorf("%s: %s: %v, granted %v, want %v\n\t%s", tt.rule, tt.line, d.Verdict, d.Grant, want, strings.Join(why, "\n\t"))
		}
	}
	w := enforcedWorld()
	for line, want := range map[string][]tool.Access{
		"cat /home/me/notes.txt": {reads("*"), reads("/home/me/notes.txt")}, "cat .env": {reads("*"), reads(root + "/.env")}, "cat README.md": {reads("*")},
		"cat /home/me/.adze/spill/s1/call_1.txt": {reads("*"), reads("/home/me/.adze/spill/s1/call_1.txt")},
	} {
		if d := permission.New(w, permission.Yolo).Judge(commandRequest(line)); !slices.Equal(d.Grant, want) {
			t.Errorf("yolo: %s: granted %v, want %v", line, d.Grant, want)
		}
	}
}
