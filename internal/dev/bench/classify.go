package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// share returns the time within which that share of the judgments was done.
func share(took []time.Duration, of float64) time.Duration {
	return took[min(len(took)-1, int(float64(len(took))*of))].Round(time.Microsecond)
}

// judgments is how often each command is judged.
const judgments = 100

// desk is a directory with the rules of a typical user, to judge commands in.
type desk struct {
	dir   string
	world permission.World
	rules permission.Rules
}

func newDesk() (*desk, error) {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	d := &desk{dir: dir}
	if err := setUp(dir); err != nil {
		return d, err
	}
	d.world = permission.World{
		Roots: []string{dir}, Home: "/home/me", State: "/home/me/.adze", Disk: ondisk.New([]string{dir}),
		Place: func() permission.Place { return permission.Overlay },
	}
	d.rules, _, err = permission.ParseRules(everydayAllow, everydayAsk, everydayDeny)
	return d, err
}

// judge judges a command several times, like adze permission check --batch: parse, match rules, explain, in a real
// directory.
func (d *desk) judge(line string, times int) []time.Duration {
	r := tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		Invocation: tool.Invocation{
			Access:  []tool.Access{{Verb: tool.Execs, Target: line}},
			Confirm: tool.Command{Line: line, Directory: d.dir},
		},
	}
	var took []time.Duration
	for range times {
		began := time.Now()
		permission.Check(d.world, d.rules, permission.Default, permission.Options{}, r)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

// printClassification prints the rows with goals, then a row for each shape.
func printClassification(w io.Writer) error {
	d, err := newDesk()
	if d != nil {
		defer os.RemoveAll(d.dir)
	}
	if err != nil {
		return fmt.Errorf("judge commands: %w", err)
	}
	if err := d.printEveryday(w); err != nil {
		return err
	}
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10} {
		var all []time.Duration
		for _, s := range shapes(size) {
			took := d.judge(s.line, judgments)
			all = append(all, took...)
			if size == 16<<10 {
				fmt.Fprintf(w, "classification of 16 KB of %s\t%v, half under %v, p99 %v\t—\n", s.name, share(took, 0),
					share(took, 0.5), share(took, 0.99))
			}
		}
		slices.Sort(all)
		fmt.Fprintf(w, "classification p99 of %d KB of nothing but words and commands\t%v (median %v)\tunder 1 ms\n",
			size>>10, share(all, 0.99), share(all, 0.5))
	}
	return nil
}

// printEveryday prints the row of commands that agents really run: the corpus of the tests, and long ones.
func (d *desk) printEveryday(w io.Writer) error {
	corpus, err := os.ReadFile("permission/testdata/harmless.txt")
	if err != nil {
		return fmt.Errorf("%w; the bench runs in the module's directory", err)
	}
	var all []time.Duration
	for line := range strings.Lines(string(corpus)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, d.judge(strings.ReplaceAll(line, "⏎", "\n"), 10)...)
		}
	}
	for _, line := range longCommands() {
		all = append(all, d.judge(line, 10)...)
	}
	slices.Sort(all)
	fmt.Fprintf(w, "classification p99 of %d everyday commands up to 16 KB\t%v (median %v)\tunder 1 ms\n", len(all)/10,
		share(all, 0.99), share(all, 0.5))
	return nil
}

// setUp makes a small repository.
func setUp(dir string) error {
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
		".git/objects/x": "", ".git/refs/x": "", "src/main.go": "package main\n", "src/a/b/c.go": "package b\n",
		"README.md": "x\n", "go.mod": "module x\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The rules of a typical user.
var (
	everydayAllow = []string{
		"Shell(npm test:*)", "Shell(npm run build:*)", "Shell(go test:*)", "Shell(go build:*)", "Shell(go vet:*)",
		"Shell(make:*)", "Shell(git add:*)", "Shell(git commit:*)",
		"Shell(cargo test:*)", "Shell(pytest:*)", "Shell(npx tsc:*)", "Shell(gofmt:*)", "Shell(mkdir:*)",
		"Shell(touch:*)", "Read(docs/**)", "Edit(src/**)", "WebFetch(domain:go.dev)",
		"github__*", "Read(//home/me/notes/**)", "Shell(docker ps)",
	}
	everydayAsk = []string{"Shell(git push)", "Shell(npm publish)", "Shell(gh pr create)", "Edit(go.mod)",
		"Shell(docker run)", "Shell(terraform)"}
	everydayDeny = []string{
		"Shell(rm -rf)", "Shell(sudo)", "Shell(git push --force)", "Shell(curl)", "Shell(wget)", "Shell(dd)",
		"Shell(mkfs)", "Shell(shutdown)", "Shell(chmod -R 777)", "Shell(kubectl delete)",
		"Read(.env)", "Read(.env.*)", "Read(secrets/**)", "Edit(.github/**)", "Read(~/.ssh/**)",
	}
)

// shape is a command that is long in one way.
type shape struct{ name, line string }

// shapes returns commands of a size that are long in various ways.
func shapes(size int) []shape {
	fill := func(head string, piece func(n int) string, tail string) string {
		return fillTo(size, head, piece, tail)
	}
	counted := func(format string) func(int) string {
		return func(n int) string { return fmt.Sprintf(format, n) }
	}
	same := func(s string) func(int) string { return func(int) string { return s } }
	kinds := func(list ...string) func(int) string { return func(n int) string { return list[n%len(list)] } }
	return []shape{
		{"one long word", fill("echo ", same("word"), "")},
		{"words", fill("echo", same(" word"), "")},
		{"different words", fill("grep -n x", counted(" w%d"), "")},
		{"commands, the same", fill("", same("ls -la src && "), "ls")},
		{"commands, different", fill("", counted("cat src/f%d.go; "), "ls")},
		{"commands, mixed", fill("", kinds("ls -la; ", "cat README.md | head -5; ", "grep -rn x src | wc -l; ",
			"git status; ", "wc -l src/*.go; "), "pwd")},
		{"commands that ask", fill("", counted("npm run t%d && "), "make")},
		{"commands, covered", fill("", counted("go test ./p%d && "), "go vet ./...")},
		{"pipes", fill("cat README.md", kinds(" | sort", " | uniq -c", " | head -5"), "")},
		{"quotes", fill("echo", same(` 'a b'"c d"\e$'f'`), "")},
		{"nesting", fill("", same(strings.Repeat("( ", 40)+"ls"+strings.Repeat(" )", 40)+"; "), "ls")},
		{"substitutions", fill("echo", same(` "$(echo "$(git status)")"`), "")},
		{"shells in shells", fill("", same(`bash -c "bash -c 'ls src'"; `), "ls")},
		{"wrappers", fill("", same("timeout 5 nice -n 3 env ls src; "), "ls")},
		{"here-document", fill("cat <<'EOF'\n", same("a line of text with $x in it\n"), "EOF")},
		{"here-documents", fill("", same("cat <<EOF\nsome text\nEOF\n"), "ls")},
		{"git", fill("", kinds("git log --oneline -5; ", "git diff HEAD~1 -- src; ", "git -C src show HEAD:x; "),
			"git status")},
		{"paths", fill("cat", counted(" src/a/b/../c%d.go"), "")},
		{"words of a changing command", fill("rm -r", counted(" f%d"), "")},
		{"paths of a changing command", fill("mytool", counted(" --in=src/a:b%d,c"), "")},
		{"patterns", fill("ls", counted(" src/*%d.go"), "")},
		{"directories", fill("", counted("cd src && cat f%d && cd ..; "), "ls")},
		{"loops", fill("", same("for f in a b; do if cat README.md src/main.go src/a/b/c.go | sort | uniq -c | head "+
			"-5; then ls -la src; else wc -l README.md; fi; done; "), "ls")},
		{"redirections", fill("", same("ls >/dev/null 2>&1; "), "ls")},
		{"a program", fill("python3 -c '", counted("open(\"src/f%d\").read(); "), "'")},
	}
}

// fillTo makes a command of a size from pieces.
func fillTo(size int, head string, piece func(n int) string, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for n := 0; ; n++ {
		p := piece(n)
		if b.Len()+len(p)+len(tail) > size {
			break
		}
		b.WriteString(p)
	}
	return b.String() + tail
}

// longCommands returns long commands as agents send them, from 1 to 16 KB: mostly a few commands around a text.
func longCommands() []string {
	var all []string
	for size := 1 << 10; size <= 16<<10; size *= 2 {
		code := fillTo(size-200, "", func(n int) string {
			return fmt.Sprintf("\tif x%d := load(\"%d\"); x%d != nil {\n\t\treturn x%d\n\t}\n", n, n, n, n)
		}, "")
		words := fillTo(size-200, "", func(n int) string {
			return fmt.Sprintf(
				"- the %dth thing that was changed, and why\n", n)
		}, "")
		all = append(all,
			"cat > src/gen.go <<'EOF'\npackage main\n"+code+"EOF",
			"mkdir -p src/a && cat <<EOF > src/a/gen.go && gofmt -l src\npackage main\n"+code+"EOF",
			"cat >> README.md <<'EOF'\n"+words+"EOF\ngit diff --stat",
			"python3 - <<'PY'\n"+code+"PY",
			"python3 -c '"+strings.ReplaceAll(code, "load", "open")+"'",
			"git add -A && git commit -m \"the title\n\n"+words+"\"",
			"gh pr create --title x --body '"+words+"'",
			"echo '"+words+"' | wc -l",
			"grep -n TODO"+strings.Repeat(" README.md src/main.go src/a/b/c.go go.mod", size>>10),
			"sed -n '1,40p' README.md; "+strings.Repeat("echo ---; cat src/main.go | head -20; ", size>>10)+
				"git status --short",
			"node -e \""+strings.NewReplacer(`"`, `'`, "\t", " ").Replace(code)+"\"",
			"cat <<'EOF' | jq .\n{\"list\": ["+fillTo(size-200, "1",
				func(n int) string { return fmt.Sprintf(", %d", n) }, "")+"]}\nEOF",
		)
	}
	return all
}
