package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// observing is a session whose commands are tried in the read-only place.
type observing struct {
	set   *Set
	exec  *tool.Executor
	dir   string
	asked []tool.Request
	saved int
}

const testSecret = "CANARY-of-the-read-only-place"

// newObserving returns a session. answer is the user's; nil: there is no user.
func newObserving(t *testing.T, answer *tool.Decision, change ...func(*Options)) *observing {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &observing{dir: filepath.Join(dir, "work")}
	home := filepath.Join(dir, "home")
	put(t, w.dir, observedFiles)
	put(t, home, map[string]string{".bashrc": ""})
	for _, name := range []string{"script.sh", "hello.sh"} {
		os.Chmod(filepath.Join(w.dir, name), 0o755)
	}
	os.Chmod(filepath.Join(w.dir, "a.txt"), 0o644)
	w.setUp(t, home)
	o := Options{
		Dir: w.dir, State: filepath.Join(dir, "state"), Helper: testHelper,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOPROXY=off", "GOTOOLCHAIN=local"},
		Sandbox: Sandbox{Trial: true, ReadOnlyTrial: true, Limits: &ReadLimits{
			System: []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt"},
		}},
		Output: func(tool.Call) (io.WriteCloser, string, error) {
			w.saved++
			return savedOutput{&late{}}, "/saved", nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	if w.set, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.set.Close() })
	if err := testRunner(t).CanObserve(); err != nil {
		t.Skipf("refused writes can't be observed here: %v", err)
	}
	w.exec = executor(w.set)
	w.exec.Policy = func(r tool.Request) tool.Decision {
		if r.Access[0] == tool.Nothing {
			return tool.Decision{Verdict: tool.Allow}
		}
		return tool.Decision{Verdict: tool.Ask, Try: true}
	}
	if answer != nil {
		w.exec.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
			w.asked = append(w.asked, r)
			return *answer, nil
		}
	}
	return w
}

var observedFiles = map[string]string{
	"a.txt": "one\n", "sub/b.txt": "two\n", "empty/.keep": "", "data.bin": strings.Repeat("x", 5000),
	"script.sh": "#!/bin/sh\ntouch by-script\necho ran\n", "hello.sh": "#!/bin/sh\necho hello\n",
	"package.json": `{"name": "observed"}`, "pkg/__init__.py": "x = 1\n",
	".env": "KEY=" + testSecret + "\n", "sub/id_rsa": testSecret + "\n",
	"change.patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n",
	"Makefile": `all: one two
one:
	echo x > one
two:
	echo two
touch-only:
	@touch made
hello:
	@echo hello
`,
	"go.mod": "module example.test/observed\n\ngo 1.20\n",
	"good/main.go": `package main

//go:generate touch generated

import "fmt"

func main() { fmt.Println("good",
	1) }
`,
	"good/main_test.go": `package main

import "testing"

func TestNothing(t *testing.T) {}
`,
	"writes/w.go": "package writes\n",
	"writes/w_test.go": `package writes

import (
	"os"
	"testing"
)

func TestWrites(t *testing.T) { os.WriteFile("made", nil, 0o600) }
`,
}

// setUp makes a repository, links and archives in the workspace.
func (w *observing) setUp(t *testing.T, home string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `set -e
ln -s a.txt link; ln -s sub dirlink; tar cf x.tar sub/b.txt; printf '.env\nid_rsa\n' > .gitignore
git init -q -b main; git config user.name Test; git config user.email test@example.test; git config gc.auto 0
git add a.txt sub/b.txt Makefile .gitignore; git commit -qm first
echo more >> sub/b.txt; git stash -q; git stash apply -q`)
	cmd.Dir, cmd.Env = w.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// sum returns a hash of everything in the workspace and around it: names, modes, owners, times and contents.
func (w *observing) sum(t *testing.T) (sum string, all []byte) {
	t.Helper()
	var b bytes.Buffer
	for _, root := range []string{w.dir, filepath.Join(filepath.Dir(w.dir), "home")} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := os.Lstat(path)
			if err != nil {
				return err
			}
			sys := st.Sys().(*syscall.Stat_t)
			fmt.Fprintln(&b, path, st.Mode(), sys.Uid, sys.Gid, st.Size(), sys.Mtim, sys.Ctim, sys.Nlink)
			if st.Mode().IsRegular() {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "%x\n", sha256.Sum256(text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes())), b.Bytes()
}

// outsiders are paths outside the workspace that the commands of refused.txt try to create.
var outsiders = []string{"/tmp/adze-readonly-refused", "/etc/adze-readonly-refused", "/dev/shm/adze-readonly-refused"}

// sampled is how many lines of a table there are for one that make test runs: always the same ones, of all kinds. A part
// of the soak runs as many others (go list among them), the full one all.
const sampled = 8

// alwaysRun are parts of lines that make test runs too: system calls that no other line of the sample makes.
var alwaysRun = []string{"mv a.txt b.txt", "mv sub other", `os.truncate("a.txt"`, "ln a.txt", "mkdir "}

// observedLines reads a table of commands. Those without their program are skipped.
func observedLines(t *testing.T, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/readonly", name))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]int{}
	number, first := 0, 0
	if soak.On() {
		first = sampled - 2
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		always := slices.ContainsFunc(alwaysRun, func(part string) bool { return strings.Contains(line, part) })
		if number++; soak.Share() < 1 && number%sampled != first && (soak.On() || !always) {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok && !strings.HasPrefix(rest, " ") {
			program, command, _ := strings.Cut(rest, "] ")
			program, long := strings.CutPrefix(program, "soak ")
			if long && !soak.On() {
				continue
			}
			if _, err := exec.LookPath(program); err != nil {
				missing[program]++
				continue
			}
			line = command
		}
		lines = append(lines, strings.ReplaceAll(line, "␤", "\n"))
	}
	for program, n := range missing {
		t.Logf("%d commands need %s, which is missing", n, program)
	}
	return lines
}

func (w *observing) run(t *testing.T, command string) tool.Outcome {
	t.Helper()
	return call(t, w.exec, "run_shell_command", runShellCommandArgs{Command: command, Timeout: 600_000})
}

// The model gets no output of a command that tried to write, whatever that makes of the error, and nothing changes.
func TestReadOnlyPlaceRefused(t *testing.T) {
	serial.Test(t)
	w := newObserving(t, nil)
	before, all := w.sum(t)
	for _, line := range observedLines(t, "refused.txt") {
		o := w.run(t, line)
		text := o.Result.Text()
		const held = "Its output isn't available: tried where nothing can be written, it tried to write "
		if !strings.Contains(text, held) || strings.Contains(text, "Output:") {
			t.Errorf("%s: the model gets %q", line, text)
		}
		if o.Error == nil || o.Result.Display != nil && o.Result.Display.Markdown() != "" {
			t.Errorf("%s: %v, displayed %v", line, o.Error, o.Result.Display)
		}
		if now, text := w.sum(t); now != before {
			t.Fatalf("%s: changed the workspace:\n%s", line, changedLines(all, text))
		}
		for _, path := range outsiders {
			if _, err := os.Lstat(path); err == nil {
				t.Fatalf("%s: created %s", line, path)
			}
		}
	}
	if w.saved > 0 {
		t.Errorf("%d outputs were saved", w.saved)
	}
}

// The user sees what a command that changed nothing wanted and didn't get.
func TestReadOnlyPlaceMissed(t *testing.T) {
	w := newObserving(t, nil)
	o := w.run(t, "(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; echo done")
	if got := strings.Join(o.Result.Missed, "; "); o.Error != nil || !strings.Contains(got, "denied: the network") {
		t.Errorf("%v, missed %q", o.Error, got)
	}
	if o = w.run(t, "echo done"); len(o.Result.Missed) > 0 {
		t.Errorf("missed %q", o.Result.Missed)
	}
}

func changedLines(before, after []byte) string {
	old, now := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	var out []string
	for _, line := range old {
		if !slices.Contains(now, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out, "\n")
}

// Commands that only read, or write to their temp directory, run to their end.
func TestReadOnlyPlaceHarmless(t *testing.T) {
	serial.Test(t)
	w := newObserving(t, nil)
	before, all := w.sum(t)
	for _, line := range observedLines(t, "harmless.txt") {
		o := w.run(t, line)
		text := o.Result.Text()
		if o.Error != nil || !strings.Contains(text, "Exit Code: 0") || !strings.Contains(text, "Output: ") {
			t.Errorf("%s: %v\n%s", line, o.Error, text)
		}
		if strings.Contains(o.Result.Text(), testSecret) {
			t.Errorf("%s: printed a secret: %s", line, o.Result.Text())
		}
	}
	if now, text := w.sum(t); now != before {
		t.Errorf("changed the workspace:\n%s", changedLines(all, text))
	}
}

// An ordinary user has the same place.
func TestReadOnlyPlaceAsNobody(t *testing.T) {
	serial.Test(t)
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	dir, err := os.MkdirTemp("", "adze-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(filepath.Join(dir, "testdata/readonly"), os.DirFS("testdata/readonly")); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "testdata"), filepath.Join(dir, "testdata/readonly")} {
		os.Chmod(path, 0o755)
	}
	const tests = "-test.run=^TestReadOnlyPlace(Refused|Harmless|Secrets|Asks|Search)$"
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), tests, "-test.v")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=/tmp"}
	for _, name := range []string{plainadze.Variable, soak.Variable} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	tried := strings.Count(string(out), "--- PASS") == 5 || strings.Contains(string(out), "can't be observed here")
	if err != nil || !tried {
		t.Errorf("%v\n%s", err, out)
	}
}

// Docker's default container has the same place: it has no user namespaces, and its listener can't take descriptors.
func TestReadOnlyPlaceInDocker(t *testing.T) {
	serial.Test(t)
	const variable = "ADZE_TEST_DOCKER"
	if os.Getenv(variable) == "" {
		newObserving(t, nil)
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "--- SKIP") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := kerneltest.Become("docker"); err != nil {
		t.Fatal(err)
	}
	t.Run("refused", TestReadOnlyPlaceRefused)
	t.Run("missed", TestReadOnlyPlaceMissed)
	t.Run("harmless", TestReadOnlyPlaceHarmless)
	t.Run("secrets", TestReadOnlyPlaceSecrets)
	t.Run("search", TestReadOnlyPlaceSearch)
	t.Run("asks", TestReadOnlyPlaceAsks)
}

// Secrets, files outside and Adze's own can't be read, by any name.
func TestReadOnlyPlaceSecrets(t *testing.T) {
	serial.Test(t)
	w := newObserving(t, nil)
	outside := filepath.Join(filepath.Dir(w.dir), "outside")
	put(t, outside, map[string]string{"file": testSecret})
	os.Symlink(filepath.Join(outside, "file"), filepath.Join(w.dir, "out"))
	waittest.Until(t, "the secrets are found", func() bool { // the first command starts the search
		return strings.Contains(w.run(t, "cat a.txt").Result.Text(), "one")
	})
	for _, line := range []string{
		"cat .env", "cat sub/id_rsa; true", "grep -r CANARY . ; true", "cat out; true", "cat ../outside/file || true",
		"cat < .env; true", "cp .env $TMPDIR/x; cat $TMPDIR/x; true", "tar cf - . 2>/dev/null | tar xOf - ./.env; true",
		"head -c 100 /proc/self/cwd/.env; true", "ln .env $TMPDIR/x; cat $TMPDIR/x; true",
		"cat /proc/self/root" + w.dir + "/.env; true", "exec 3< .env; cat <&3; true",
		"for p in /proc/[0-9]*; do cat $p/cwd/.env $p/root" + w.dir + "/.env; done 2>/dev/null; true",
	} {
		if text := w.run(t, line).Result.Text(); strings.Contains(text, testSecret) {
			t.Errorf("%s: %s", line, text)
		}
	}
}

// A search that comes across hidden files needs no approval, and says so.
func TestReadOnlyPlaceSearch(t *testing.T) {
	serial.Test(t)
	w := newObserving(t, nil)
	text := w.run(t, "grep -rn one .").Result.Text()
	const note = "Files that may be secret are hidden, and could not be opened: "
	if !strings.Contains(text, "./a.txt:1:one\n") || !strings.Contains(text, note) || !strings.Contains(text, "sub/id_rsa") {
		t.Errorf("%s", text)
	}
	if text := w.run(t, "cat ../home/.bashrc").Result.Text(); !strings.Contains(text, "Permission denied: run cat") {
		t.Errorf("a file outside: %s", text)
	}
}

// A command that tried to write requires approval, shown without its output, and runs for real if approved.
func TestReadOnlyPlaceAsks(t *testing.T) {
	serial.Test(t)
	w := newObserving(t, &tool.Decision{Verdict: tool.Allow})
	o := w.run(t, "echo printed; echo x > new.txt; cat new.txt")
	if o.Error != nil || !strings.Contains(o.Result.Text(), "printed\nx") {
		t.Errorf("%v %s", o.Error, o.Result.Text())
	}
	if text, err := os.ReadFile(filepath.Join(w.dir, "new.txt")); err != nil || string(text) != "x\n" {
		t.Errorf("it didn't run: %q, %v", text, err)
	}
	if len(w.asked) != 1 {
		t.Fatalf("asked %d times", len(w.asked))
	}
	shown, ok := w.asked[0].Confirm.(tool.Command)
	if !ok || !strings.Contains(strings.Join(shown.Warnings, ""), "it tried to write new.txt") {
		t.Errorf("shown: %#v", w.asked[0].Confirm)
	}
	if strings.Contains(shown.Markdown(), "printed\n") {
		t.Errorf("its output is shown: %s", shown.Markdown())
	}
	if got := w.asked[0].Access; len(got) != 1 || got[0].Verb != tool.Execs {
		t.Errorf("access %v", got)
	}
	// A command that leaves processes running would do more later.
	w.asked = nil
	w.run(t, "sleep 1000 >/dev/null 2>&1 & echo started")
	shown, ok = w.asked[0].Confirm.(tool.Command)
	if !ok || !strings.Contains(strings.Join(shown.Warnings, ""), "it left processes running") {
		t.Errorf("shown: %#v", w.asked)
	}
}
