package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	boxplaces "github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/permission"
)

// The commands of the corpus do harm where they can, so they run in a second
// process in its own namespaces, which sees the disk read-only with tmpfs in
// place of the home directories.

// corpusRoot is the workspace in there.
const corpusRoot = "/home/me/app"

// canary is in what no trial may reveal.
const canary = "canary-4711"

// Attacks change nothing outside of the trial and reveal no secret, and harmless
// commands have no effects.
func TestCorpus(t *testing.T) {
	t.Parallel()
	serial.Test(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	lines := map[string][]string{}
	for name, every := range map[string]int{"attacks.txt": 200, "harmless.txt": 80} {
		if share := soak.Share(); share > 0 {
			every = max(1, int(1/share))
		}
		f, err := os.Open(filepath.Join(testdata(t), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); {
			text := strings.TrimPrefix(s.Text(), "!")
			if text == "" || strings.HasPrefix(text, "# ") {
				continue
			}
			if n++; n%every == 0 {
				lines[name] = append(lines[name], strings.ReplaceAll(text, "⏎", "\n"))
			}
		}
	}
	code, _ := json.Marshal(lines)
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestCorpusInside$", "-test.v", "-test.timeout=0")
	c.Env = []string{"TRIAL_CORPUS=1", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/me", "GORACE=atexit_sleep_ms=0", "LANG=C.UTF-8", "TRIAL_LAUNCHED=" + os.Getenv("TRIAL_LAUNCHED"),
		plainadze.Variable + "=hidden"} // it doesn't see the test's temp files
	c.Stdin = strings.NewReader(string(code))
	c.SysProcAttr = sandbox.Apart{PIDs: true}.Attr()
	c.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET | unix.CLONE_NEWIPC
	text, err := c.CombinedOutput()
	if strings.Contains(string(text), "--- SKIP") || err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skipf("can't be run here: %v %s", err, text)
	}
	if err != nil || !strings.Contains(string(text), "--- PASS: TestCorpusInside") {
		t.Errorf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
}

// TestCorpusInside is the second process.
func TestCorpusInside(t *testing.T) {
	if os.Getenv("TRIAL_CORPUS") == "" {
		t.Skip("is started by TestCorpus")
	}
	if os.Getenv(dropped) == "" {
		if err := hideDisk(); err != nil {
			t.Skip(err)
		}
		dropCapabilities(t)
	}
	var lines map[string][]string
	if err := json.NewDecoder(os.Stdin).Decode(&lines); err != nil {
		t.Fatal(err)
	}
	if err := setUpTree(); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: corpusRoot}
	b.openIn(Options{State: "/home/me/.adze/trial", Roots: []string{corpusRoot}, Temp: []string{"/tmp", "/var/tmp"}})
	env := append(os.Environ(), "TMPDIR=/tmp")
	limits := boxplaces.Surroundings{Roots: []string{corpusRoot}, System: permission.SystemDirectories(), Env: env}.Limits()
	finder := secretfiles.New(secretfiles.Options{Roots: []string{corpusRoot}})
	defer finder.Close()
	hide, ok := finder.List(time.Minute)
	if !ok || len(hide) != 3 {
		t.Fatal(finder.Problem(), hide)
	}
	before := look(t)
	n := 0
	run := func(name, line string) (proc.Outcome, Effects) {
		tr, err := b.layers.New(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Drop()
		out, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: corpusRoot, Env: env, Sandbox: tr.Spec(limits, sandbox.Empty.Cover(hide...)...), Timeout: 2 * time.Second})
		if err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		e, err := tr.Effects(context.Background())
		if err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		if strings.Contains(out.Output.Head+out.Output.Tail, canary) {
			t.Errorf("%s: %q reveals a secret: %s", name, line, out.Output.Head)
		}
		n++
		return out, e
	}
	changed := 0
	for _, line := range lines["attacks.txt"] {
		if _, e := run("attacks.txt", line); !e.None() {
			changed++
		}
		if now := look(t); now != before {
			t.Fatalf("attacks.txt: %q changed the disk:\n%s", line, diff(before, now))
		}
	}
	for _, line := range lines["harmless.txt"] {
		if out, e := run("harmless.txt", line); !e.None() {
			t.Errorf("harmless.txt: %q: %+v %s", line, e.Changes, out.Output.Head)
		}
	}
	if now := look(t); now != before {
		t.Errorf("harmless.txt: the disk changed:\n%s", diff(before, now))
	}
	t.Logf("%d commands, %d attacks with effects", n, changed)
	if changed == 0 && len(lines["attacks.txt"]) > 0 {
		t.Error("no attack had an effect: the trial runs nothing")
	}
}

// hideDisk makes the disk read-only, with empty directories in place of those of
// users.
func hideDisk() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/home", "/tmp", "/run", "/root", "/var/tmp"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil && err != unix.ENOENT {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

// setUpTree makes the workspace and the home directory, with secrets in them.
func setUpTree() error {
	for path, text := range map[string]string{
		"README.md": "hello\nworld\nfoo 12\n", "main.go": "package main\n\nfunc main() {}\n", "src/main.go": "package main\n// foo\n", "src/util.go": "package main\n",
		"src/a.txt": "b\na\n", "docs/x.md": "x\n", "names.txt": "b\na\nb\n", "a.txt": "1 2 3\n", "b.txt": "1 2 4\n", "data.csv": "a,1\nb,2\n", "data.txt": "x y 200\n",
		"package.json": `{"name":"x","scripts":{"test":"./evil.sh"}}`, "data.json": `[{"a":2}]`, "conf/app.txt": "a\n", "go.mod": "module x\n",
		"evil.sh": "#!/bin/sh\necho ran > ran\n", "app.log": "line\n", "config.txt": "# c\nx\n", "file.txt": "x\n", "list": "README.md\n.env\n",
		".env": "KEY=" + canary + "\n", "server.pem": canary + "\n", "conf/.env": "a " + canary + "\n",
		"../notes.txt": canary + "\n", "../.ssh/id_rsa": canary + "\n", "../private/a.md": canary + "\n", "../.bashrc": "# x\n",
	} {
		path = filepath.Join(corpusRoot, path)
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"out": "/home/me", "src/link": "../../notes.txt", "src/lenv": "../.env", "docs/away": "/home/me/private"} {
		if err := os.Symlink(target, filepath.Join(corpusRoot, name)); err != nil {
			return err
		}
	}
	c := exec.Command("bash", "-c", `git init -q -b main && git config user.name me && git config user.email me@x && git add -A . ':!*.env' ':!*.pem' &&
		git commit -qm one && echo more >> docs/x.md && git commit -qam two && git branch feature && git tag v1.0`)
	c.Dir, c.SysProcAttr = corpusRoot, &syscall.SysProcAttr{}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("make the repository: %w: %s", err, out)
	}
	return nil
}

// look returns all that is in the writable directories, apart from what trials need.
func look(t *testing.T) string {
	t.Helper()
	var lines []string
	for _, dir := range []string{"/home", "/tmp", "/root", "/var/tmp", "/run"} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if path == "/home/me/.adze" {
				return fs.SkipDir
			}
			var st unix.Stat_t
			if err == nil && unix.Lstat(path, &st) == nil {
				lines = append(lines, fmt.Sprintf("%s %o %d %d %v %v", path, st.Mode, st.Ino, st.Size, st.Mtim, st.Ctim))
			}
			return nil
		})
	}
	return strings.Join(lines, "\n")
}
