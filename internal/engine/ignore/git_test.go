package ignore

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// gitEnv keeps the machine's own configuration out.
func gitEnv(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
}

func getenvOf(home string) func(string) string {
	return func(k string) string {
		return map[string]string{"HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}[k]
	}
}

func runGit(t testing.TB, home, dir string, in []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(home), bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); ok && ee.ExitCode() == 1 && args[0] == "check-ignore" {
		err = nil // no path is ignored
	}
	if err != nil {
		t.Fatalf("git %v: %v %s", args, err, stderr.Bytes())
	}
	return out
}

// gitVerdicts asks the real git about paths relative to top.
func gitVerdicts(t testing.TB, home, top string, paths []string) []Verdict {
	t.Helper()
	out := runGit(t, home, top, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin")
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields) != 4*len(paths) {
		t.Fatalf("git gave %d fields for %d paths", len(fields), len(paths))
	}
	vs := make([]Verdict, len(paths))
	for i := range paths {
		f := fields[4*i:]
		if f[3] != paths[i] {
			t.Fatalf("git answered %q for %q", f[3], paths[i])
		}
		if f[0] == "" {
			continue
		}
		v := Verdict{State: Hidden, File: f[0], Pattern: f[2]}
		v.Line, _ = strconv.Atoi(f[1])
		if !filepath.IsAbs(v.File) {
			v.File = filepath.Join(top, v.File)
		}
		if strings.HasPrefix(v.Pattern, "!") {
			v.State = Clear
		}
		vs[i] = v
	}
	return vs
}

// forest makes random trees with random ignore files in a small alphabet, so that patterns often match.
type forest struct {
	*rand.Rand
	t testing.TB
}

func (f forest) pick(from ...string) string { return from[f.Intn(len(from))] }

func (f forest) name() string {
	switch f.Intn(12) {
	case 0:
		return f.pick("node_modules", "build", ".cache", "a b", "x ", "#c", "!d", "[e]", "f*g", `h\i`, "ü", "a.b.c", "\xff\xfe", "new\nline", "tab\t", "-", "^", "A")
	case 1, 2, 3:
		return f.pick("a", "b", "foo", "bar", "ab", "c1") + f.pick(".o", ".txt", ".go", ".min.js", ".", "~")
	default:
		return f.pick("a", "b", "c", "d", "foo", "bar", "foobar", "src", "lib", "aa", "ab", "b1", "c9", "z")
	}
}

// atom returns a piece of a pattern: wildcards, classes, escapes and names of the tree.
func (f forest) atom() string {
	switch f.Intn(16) {
	case 0, 1:
		return "*"
	case 2:
		return "?"
	case 3:
		return f.pick("[a-c]", "[!a]", "[^b-f]", "[abc]", "[]a]", "[!]]", "[a-", "[[:alpha:]]", "[[:digit:]x]", "[[:nope:]]", `[\a]`, `[\]]`, "[a\\-c]", "[[:a]", "[-a]", "[a-]", "[9-0]", "[", "[[:upper:]]", "[[:punct:][:space:]]", "[+--]", `[\\-^]`, "[*]", "[a/b]", "[!/]")
	case 4:
		return "**"
	case 5:
		return f.pick(`\*`, `\a`, `\[`, `\#`, `\!`, `\ `, `\\`, `\`, `\?`)
	case 6:
		return "*" + f.pick(".o", ".txt", ".js", "r", "~", ".min.js", ".")
	default:
		return f.name()
	}
}

func (f forest) pattern() string {
	var b strings.Builder
	if f.Intn(6) == 0 {
		b.WriteString(f.pick("!", "!", "#", "\\!", "\ufeff"))
	}
	if f.Intn(4) == 0 {
		b.WriteString("/")
	}
	for i, n := 0, f.pick("1", "1", "1", "2", "2", "3", "4")[0]-'0'; i < int(n); i++ {
		if i > 0 {
			b.WriteString(f.pick("/", "/", "", "", "//"))
		}
		if f.Intn(8) == 0 {
			b.WriteString("**/")
		}
		b.WriteString(f.atom())
		if f.Intn(4) == 0 {
			b.WriteString(f.atom())
		}
	}
	b.WriteString(f.pick("", "", "", "", "/", "/", "/**", "/*", " ", "  ", `\ `, "\t", "\r"))
	return strings.ReplaceAll(b.String(), "\n", "")
}

func (f forest) ignoreFile() []byte {
	var b strings.Builder
	if f.Intn(10) == 0 {
		b.WriteString("\ufeff")
	}
	for range 1 + f.Intn(7) {
		b.WriteString(f.pattern() + f.pick("\n", "\n", "\n", "\r\n", "\n\n", "\n# note\n"))
	}
	return []byte(strings.TrimSuffix(b.String(), f.pick("\n", "#")))
}

// grow fills a directory and returns all paths in it, relative to top, directories before their content.
func (f forest) grow(top, rel string, depth int, paths *[]string) {
	dir := filepath.Join(top, rel)
	if f.Intn(3) == 0 || rel == "" {
		f.write(filepath.Join(dir, ".gitignore"), f.ignoreFile())
	}
	for range 3 + f.Intn(4) {
		name := f.name()
		p := filepath.Join(rel, name)
		if _, err := os.Lstat(filepath.Join(top, p)); err == nil {
			continue
		}
		*paths = append(*paths, p)
		switch {
		case depth > 0 && f.Intn(2) == 0:
			f.must(os.Mkdir(filepath.Join(top, p), 0o755))
			f.grow(top, p, depth-1, paths)
		case f.Intn(12) == 0:
			f.must(os.Symlink(".", filepath.Join(top, p)))
		default:
			f.write(filepath.Join(top, p), nil)
		}
	}
}

func (f forest) write(path string, data []byte) { f.must(os.WriteFile(path, data, 0o644)) }

func (f forest) must(err error) {
	if err != nil {
		f.t.Fatal(err)
	}
}

func kindOf(path string) Kind {
	st, err := os.Lstat(path)
	return Kind(err == nil && st.IsDir())
}

// TestEqualToGit compares answers, down to the file, line and pattern, with git check-ignore over random trees.
func TestEqualToGit(t *testing.T) {
	serial.Test(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	answers, want := 0, soak.Count(5000, 200_000)
	for seed := int64(1); answers < want; seed++ {
		base := t.TempDir()
		home, top := filepath.Join(base, "home"), filepath.Join(base, "repo")
		f := forest{rand.New(rand.NewSource(seed)), t}
		f.must(os.MkdirAll(filepath.Join(home, ".config", "git"), 0o755))
		f.must(os.MkdirAll(top, 0o755))
		runGit(t, home, top, nil, "init", "-q")
		f.write(filepath.Join(top, ".git", "info", "exclude"), f.ignoreFile())
		if f.Intn(2) == 0 {
			f.write(filepath.Join(home, ".config", "git", "ignore"), f.ignoreFile())
		} else {
			f.write(filepath.Join(home, "my ignores"), f.ignoreFile())
			f.write(filepath.Join(home, ".gitconfig"), []byte("[Core]\n\texcludesFile = \"~/my ignores\" ; note\n"))
		}
		var paths []string
		f.grow(top, "", 4, &paths)
		rules := New(Options{Roots: []string{top}, Getenv: getenvOf(home)})
		for i, want := range gitVerdicts(t, home, top, paths) {
			full := filepath.Join(top, paths[i])
			got := rules.Check(full, kindOf(full))
			if got != want {
				t.Fatalf("seed %d, %q:\n got %v\nwant %v\n%s", seed, paths[i], got, want, dump(got, want))
			}
		}
		answers += len(paths)
		checkWalk(t, rules, top, paths)
	}
	t.Logf("%d answers compared", answers)
}

func dump(vs ...Verdict) string {
	var b strings.Builder
	for _, v := range vs {
		if data, err := os.ReadFile(v.File); err == nil {
			fmt.Fprintf(&b, "%s:\n%q\n", v.File, data)
		}
	}
	return b.String()
}

// checkWalk compares a walk with Start, Enter and Match, which reads ignore files in its own way, with Check.
func checkWalk(t *testing.T, rules *Rules, top string, paths []string) {
	t.Helper()
	var want, got []string
	for _, p := range paths {
		full := filepath.Join(top, p)
		if rules.Check(full, kindOf(full)).State == Clear {
			want = append(want, p)
		}
	}
	d, _ := rules.Start(top)
	seen := map[string]bool{}
	walk(t, d, top, "", func(p string) { seen[p] = true })
	for _, p := range paths {
		if seen[p] {
			got = append(got, p)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("a walk and Check disagree in %s:\n%s", top, diff)
	}
}

func walk(t *testing.T, d *Dir, top, rel string, visit func(string)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(top, rel))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" || d.Match(e.Name(), Kind(e.IsDir())).State != Clear {
			continue
		}
		p := filepath.Join(rel, e.Name())
		visit(p)
		if !e.IsDir() {
			continue
		}
		var marks Marks
		inside, err := os.ReadDir(filepath.Join(top, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range inside {
			marks |= d.Mark(i.Name())
		}
		walk(t, d.Enter(e.Name(), marks), top, p, visit)
	}
}
