package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// birdseye is in every file that a command must not print, and in no command. A program of the workspace prints it too.
const birdseye = "C4N4RY"

// den is a workspace with secrets, a home directory, that of another user, and files outside of all.
type den struct {
	t                         *testing.T
	base, work, home, outside string
	program                   string // Adze
	uid                       int
	path                      []string // directories before those of PATH
	settings                  string   // further settings, as members of a JSON object
	env                       []string // further variables
}

// hole is a way in which a command read or ran what it must not, with the number it has in the review.
type hole struct {
	name  string
	needs []string // programs
	build func(d *den)
	lines []string // WORK, OUTSIDE and HOME stand for directories, PID for a process with a secret in its environment
	// mute are lines that disclose nothing on some machines even without a sandbox, so that doesn't fail the test.
	mute bool
	// asks: every line must require approval, in any sandbox.
	asks bool
}

// newDen makes the directories, with a canary in everything that is secret or outside the workspace.
func newDen(t *testing.T, program string, uid int) *den {
	t.Helper()
	return newDenIn(t, "", program, uid)
}

// newDenIn is newDen below a directory; "": the one for temp files.
func newDenIn(t *testing.T, top, program string, uid int) *den {
	t.Helper()
	base, err := os.MkdirTemp(top, "adze-den-")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	d := &den{t: t, base: base, work: base + "/work", home: base + "/home", outside: base + "/outside", program: program, uid: uid}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	secret := "API_KEY=" + birdseye + "\n"
	for _, path := range []string{
		"work/.env", "work/server.pem", "work/id_rsa", "work/sub/.env", "work/sub/deep/tls.key", "outside/file", "outside/.env", "home/.ssh/id_rsa", "home/.netrc", "home/notes.txt",
		"other/.ssh/id_rsa", "other/notes.txt",
	} {
		d.put("/"+path, secret, 0o600)
	}
	d.put("README.md", "plain\n", 0o644)
	d.put("sub/main.go", "package main\n", 0o644)
	// Outside a sandbox it leaves a witness file; inside one, its output shows the result.
	d.put("evil", "#!/bin/sh\nprintf 'C4%s ran\\n' N4RY\nprintf 'C4%s ran\\n' N4RY >&2\n: > "+d.witness()+"\n", 0o755)
	d.mkdir("/bin")
	d.mkdir("/tmp")
	return d
}

func (d *den) witness() string { return d.base + "/witness" }

// at returns a path: below the base if it begins with a slash, else in the workspace.
func (d *den) at(path string) string {
	if strings.HasPrefix(path, "/") {
		return d.base + path
	}
	return filepath.Join(d.work, path)
}

func (d *den) mkdir(path string) {
	d.t.Helper()
	if err := os.MkdirAll(d.at(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
}

func (d *den) put(path, text string, mode os.FileMode) {
	d.t.Helper()
	d.mkdir(filepath.Dir(path))
	if err := os.WriteFile(d.at(path), []byte(d.expand(text)), mode); err != nil {
		d.t.Fatal(err)
	}
}

func (d *den) link(path, target string) {
	d.t.Helper()
	d.mkdir(filepath.Dir(path))
	os.RemoveAll(d.at(path))
	if err := os.Symlink(d.expand(target), d.at(path)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *den) expand(text string) string {
	return strings.NewReplacer("WORK", d.work, "OUTSIDE", d.outside, "HOME", d.home, "BASE", d.base).Replace(text)
}

// git runs git in a directory.
func (d *den) git(dir string, args ...string) string {
	d.t.Helper()
	d.mkdir(dir)
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.test"}, args...)...)
	c.Dir, c.Env = d.at(dir), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.base, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository of a directory, with some files tracked.
func (d *den) repository(dir string, files ...string) {
	d.t.Helper()
	d.git(dir, "init", "-q", "-b", "main", ".")
	for _, f := range files {
		d.git(dir, "add", "-f", f)
	}
	d.git(dir, "commit", "-qm", "first", "--allow-empty")
}

// configure adds to the configuration of the workspace's repository.
func (d *den) configure(text string) {
	d.t.Helper()
	f, err := os.OpenFile(d.at(".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(d.expand(text)); err != nil {
		d.t.Fatal(err)
	}
}

// give gives all of it to the user that commands run as.
func (d *den) give() {
	d.t.Helper()
	if d.uid == os.Getuid() {
		return
	}
	if out, err := exec.Command("chown", "-hR", fmt.Sprintf("%d:%d", d.uid, d.uid), d.base).CombinedOutput(); err != nil {
		d.t.Skipf("files can't be given to another user here: %s", out)
	}
}

// as returns how a process of the den's user starts.
func (d *den) as() *syscall.SysProcAttr {
	if d.uid == os.Getuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(d.uid), Gid: uint32(d.uid)}}
}

// run has Adze call the shell tool, with settings for tools, and returns all that it prints and its exit code.
func (d *den) run(line, tools string, flags ...string) (string, int) {
	d.t.Helper()
	state, err := os.MkdirTemp(d.base, "state-")
	if err != nil {
		d.t.Fatal(err)
	}
	return d.call(state, tools, "run_shell_command", map[string]any{"command": line, "timeout": 60_000}, flags...)
}

// call has Adze, with its own directory, call a tool.
func (d *den) call(state, tools, name string, arguments map[string]any, flags ...string) (string, int) {
	d.t.Helper()
	d.settle(state, tools)
	args, err := json.Marshal(arguments)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.adze(state, append([]string{"tool", "call", name, string(args)}, flags...)...)
}

// settle writes the settings of a directory of Adze.
func (d *den) settle(state, tools string) {
	d.t.Helper()
	settings := `{"tools":{` + tools + `}` + d.settings + `}`
	if err := os.WriteFile(state+"/settings.json", []byte(settings), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chown(state, d.uid, d.uid); err != nil {
		d.t.Fatal(err)
	}
}

// adze runs Adze with its own directory.
func (d *den) adze(state string, args ...string) (string, int) {
	d.t.Helper()
	cmd := exec.Command(d.program, args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = d.work, d.as(), append(d.environ(), "ADZE_HOME="+state)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// bash runs a command line without Adze, and so without a sandbox.
func (d *den) bash(line string) string {
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = d.work, d.as(), d.environ()
	out, _ := cmd.CombinedOutput() // a command that fails may have printed something before
	return string(out)
}

// environ returns the environment of the den's user.
func (d *den) environ() []string {
	path := strings.Join(slices.Concat(d.path, []string{d.base + "/bin", os.Getenv("PATH")}), ":")
	return append([]string{"PATH=" + path, "HOME=" + d.home, "TMPDIR=" + d.base + "/tmp", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}, d.env...)
}

// leaked reports whether an output has a canary, or a program of the workspace left its witness, which is removed.
func (d *den) leaked(out string) bool {
	ran := os.Remove(d.witness()) == nil
	return ran || strings.Contains(out, birdseye)
}

// bystander returns a process with a secret in its environment.
func (d *den) bystander() int {
	d.t.Helper()
	c := exec.Command("sleep", "100000")
	c.Env, c.SysProcAttr, c.Dir = []string{"SECRET=" + birdseye}, d.as(), "/"
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c.Process.Pid
}

// backends are the settings that decide what sandbox commands run in. Trials are off: they may run programs of the workspace,
// and this is about commands that may not.
var backends = []struct{ name, tools string }{
	{"built-in", `"trial":"off"`}, {"bubblewrap", `"trial":"off","sandboxBackend":"bubblewrap"`}, {"none", `"sandbox":"off"`},
}

var hasBubblewrap = sync.OnceValue(func() bool {
	p, err := (&sandbox.Spec{Mode: sandbox.ReadOnly, Bubblewrap: true}).Plan()
	return err == nil && p.Layers.Has(sandbox.Bubblewrap)
})

// isOthers reports whether, of the cases that each of two users could run, the other runs this one: only in a full soak
// both do.
func isOthers(n int, d *den) bool {
	return os.Getuid() == 0 && soak.Share() < 1 && (n+min(d.uid, 1))%2 != 0
}

// eachUser runs a test as this user and, if that is root, as an ordinary one.
func eachUser(t *testing.T, test func(t *testing.T, uid int)) {
	t.Run("this user", func(t *testing.T) { t.Parallel(); test(t, os.Getuid()) })
	if os.Getuid() == 0 {
		t.Run("ordinary user", func(t *testing.T) { t.Parallel(); test(t, nobody) })
	}
}

// No hole of the review discloses a secret or runs a program of the workspace: either the command requires approval,
// which a non-interactive session denies, or the sandbox stops it.
func TestHolesAreClosed(t *testing.T) {
	soak.Skip(t, 67, 100)
	t.Parallel()
	program := plainProgram(t)
	for _, h := range holes {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, program := range h.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is not installed", program)
				}
			}
			eachUser(t, func(t *testing.T, uid int) { h.test(t, newDen(t, program, uid)) })
		})
	}
}

func (h *hole) test(t *testing.T, d *den) {
	if h.build != nil {
		h.build(d)
	}
	d.give()
	pid := fmt.Sprint(d.bystander())
	for i, line := range h.lines {
		line = strings.ReplaceAll(d.expand(line), "PID", pid)
		for n, b := range backends {
			if b.name == "bubblewrap" && !hasBubblewrap() {
				continue
			}
			if n > 0 && isOthers(i+n+1, d) {
				continue // both users see the built-in one
			}
			out, code := d.run(line, b.tools)
			if d.leaked(out) {
				t.Errorf("%s, sandbox: %s: %s\n%s", h.name, b.name, line, out)
			}
			if h.asks && code != 3 {
				t.Errorf("%s, sandbox: %s: %s: exit code %d, want 3 (denied)\n%s", h.name, b.name, line, code, out)
			}
		}
		if h.mute || h.asks {
			continue
		}
		out := d.bash(line)
		for range 20 { // a kernel that starts a walk again counts its links twice, and gives up on long chains
			if d.leaked(out) {
				break
			}
			out = d.bash(line)
		}
		if !d.leaked(out) {
			t.Errorf("%s: proves nothing, because it discloses nothing without Adze: %s\n%s", h.name, line, out)
		}
	}
}

// disclosure is something that no sandbox hides. asks: without a sandbox, the command requires approval.
type disclosure struct {
	hole
	asks bool
}

// What docs/security.md lists as not enforced is really disclosed: this fails when it no longer is.
func TestKnownDisclosures(t *testing.T) {
	t.Parallel()
	program := plainProgram(t)
	for _, k := range disclosures {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			eachUser(t, func(t *testing.T, uid int) {
				d := newDen(t, program, uid)
				k.build(d)
				d.give()
				for _, line := range k.lines {
					for _, b := range backends {
						if b.name == "bubblewrap" && !hasBubblewrap() {
							continue
						}
						want := !k.asks
						if out, _ := d.run(line, b.tools); d.leaked(out) != want {
							t.Errorf("sandbox: %s: %s: disclosed: %v, want %v\n%s", b.name, line, !want, want, out)
						}
					}
				}
			})
		})
	}
}

// A deny rule applies to commands that hide what they do, also where everything else is approved.
func TestHiddenCommandsAreDenied(t *testing.T) {
	program := plainProgram(t)
	soak.Skip(t, 50, 100)
	for _, e := range evasions {
		for i, line := range e.lines {
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				if os.Getuid() == 0 && soak.Share() < 1 { // one of the users
					e.test(t, newDen(t, program, []int{0, nobody}[i%2]), line)
					return
				}
				eachUser(t, func(t *testing.T, uid int) { e.test(t, newDen(t, program, uid), line) })
			})
		}
	}
}

func (e *evasion) test(t *testing.T, d *den, line string) {
	d.put("private/x", "API_KEY="+birdseye+"\n", 0o644)
	d.repository("", "README.md", "private/x")
	d.give()
	line = strings.ReplaceAll(line, "WITNESS", d.witness())
	d.settings = fmt.Sprintf(`,"permissions":{"deny":[%q]}`, e.rule)
	if out, _ := d.run(line, ``, "--yolo"); d.leaked(out) {
		t.Errorf("deny %s: %s\n%s", e.rule, line, out)
	}
	d.settings = fmt.Sprintf(`,"permissions":{"deny":[%q],"allow":["Shell(*)"]}`, e.rule)
	if out, _ := d.run(line, ``); d.leaked(out) {
		t.Errorf("deny %s, allow Shell(*): %s\n%s", e.rule, line, out)
	}
	if out := d.bash(line); !d.leaked(out) {
		t.Errorf("proves nothing, because it does nothing without Adze: %s\n%s", line, out)
	}
}
