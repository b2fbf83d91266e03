package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// denying is a directory with paths that deny rules name, and the sandbox that enforces only these.
func denying(t *testing.T) (dir string, spec *sandbox.Spec, r *Runner) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"private/n.txt": "CANARY-dir\n", ".env": "CANARY-file\n", "fixed/a": "old\n", "one.txt": "old\n", "free": "free\n",
		"deep/er/secret": "CANARY-deep\n", "deep/down/fixed": "old\n",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	spec = &sandbox.Spec{Mode: sandbox.DenyRules, Roots: []string{dir}, Covers: sandbox.Unreadable.Cover(at("private"), at(".env"), at("gone"), at("deep/er/secret"))}
	spec.Covers = append(spec.Covers, sandbox.Unwritable.Cover(at("fixed"), at("one.txt"), at("missing"), at("deep/down/fixed"))...)
	if _, err := spec.Plan(); err != nil {
		t.Skipf("deny rules can't be enforced here: %v", err)
	}
	r = Open(Options{Helper: helper})
	t.Cleanup(func() { r.Close() })
	return dir, spec, r
}

// state returns the contents of the protected paths, from outside.
func stateOf(dir string) string {
	var out []string
	for _, name := range []string{"fixed/a", "fixed/b", "one.txt", "missing", "private/n.txt", ".env", "deep/er/secret", "deep/down/fixed"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		out = append(out, fmt.Sprint(name, "=", strings.TrimSpace(string(text)), err != nil))
	}
	return strings.Join(out, " ")
}

// Paths of deny rules can't be read or written by any way, which works without the sandbox. Without Landlock, root is in a user
// namespace too.
func TestDenyRulesHold(t *testing.T) {
	t.Run("as planned", func(t *testing.T) { testDenyRulesHold(t, 0) })
	if os.Getuid() == 0 {
		t.Run("without Landlock", func(t *testing.T) { testDenyRulesHold(t, sandbox.Landlock) })
	}
}

func testDenyRulesHold(t *testing.T, without sandbox.Layers) {
	for _, line := range []string{
		"cat private/n.txt", "cat .env", "cat /proc/self/cwd/private/n.txt", "cat /proc/self/root$PWD/.env", "cat /proc/$$/cwd/.env", "cat /proc/thread-self/cwd/.env",
		"ln -s private pp; cat pp/n.txt", "exec 3<.env; cat /dev/fd/3", "cp -r . ../copy$$; cat ../copy$$/private/n.txt ../copy$$/.env", "cp .env z; cat z",
		"tar cf - . | tar xOf - ./private/n.txt ./.env", "ln .env hard; cat hard", "mv .env z; cat z", "mv private p2; cat p2/n.txt",
		"mkdir sub; mv private sub; cat sub/private/n.txt", "grep -rs CANARY .", "(cd private; cat n.txt)", "dd if=.env", "bash -c 'source .env; cat < .env'",
		"for p in /proc/[0-9]*; do cat $p/root$PWD/.env $p/cwd/.env; done 2>/dev/null; cat .env",
		"umount .env; umount private; cat .env private/n.txt", "unshare -m sh -c 'umount .env; cat .env'; cat .env", "unshare -rm sh -c 'umount -l .env; cat .env'; cat .env",
		"nsenter -t 1 -m cat $PWD/.env; nsenter -t $PPID -m cat $PWD/.env; cat .env", "chroot /proc/1/root cat $PWD/.env; cat .env",
		"mkdir m; mount --bind . m; cat m/.env; cat .env", "mount -o remount,rw .env; chmod 777 private; cat .env private/n.txt",
	} {
		t.Run(line, func(t *testing.T) {
			dir, spec, r := denying(t)
			spec.Without = without
			o := run(t, r, Command{Line: "exec 2>&1; " + line, Dir: dir, Sandbox: spec, Timeout: hangTime})
			if strings.Contains(o.Output.String(), "CANARY") || o.Boxed != sandbox.DenyRules {
				t.Errorf("in %v: printed %q", o.Boxed, o.Output.String())
			}
			if without != 0 || privileged(line) { // what it does without a sandbox was seen before
				return
			}
			if o := run(t, r, Command{Line: line, Dir: dir, Timeout: hangTime}); !strings.Contains(o.Output.String(), "CANARY") {
				t.Errorf("proves nothing: without a sandbox it printed %q", o.Output.String())
			}
		})
	}
	for _, line := range []string{
		"echo x > fixed/a", "touch fixed/b", "rm fixed/a", "rm -rf fixed", "mv fixed f2", "echo x > one.txt", "rm one.txt", "mv free one.txt", "ln -sf free one.txt",
		"sed -i s/old/new/ one.txt fixed/a", "ln -s fixed ff; touch ff/b", "ln -s fixed/b bb; echo x > bb", "echo x > /proc/self/cwd/fixed/a", "rm -f hard; ln one.txt hard; echo x > hard",
		"rm -f hard; ln fixed/a hard; echo x > hard", "echo x > missing", "mkdir missing; rmdir missing; touch missing", "ln -s free missing", "mv free missing", "exec 3<>one.txt; echo x >&3",
		"mv private p2", "mv deep d2", "mv deep/er e2", "mv deep/down ../down$$", "mv deep/er/secret s2", "rm -rf deep/down", // a later command would read and write them there
		"truncate -s 0 one.txt", "mount -o remount,rw fixed; touch fixed/b", "umount fixed; umount -l one.txt; touch fixed/b", "unshare -rm sh -c 'mount -o remount,rw,bind fixed; touch fixed/b'; touch fixed/b",
		"for p in /proc/[0-9]*; do echo x > $p/root$PWD/fixed/b; done; touch fixed/b", "rm -rf private .env; rm -f one.txt", "echo x > .env; echo x > private/n.txt; touch fixed/b",
	} {
		t.Run(line, func(t *testing.T) {
			dir, spec, r := denying(t)
			spec.Without = without
			before := stateOf(dir)
			o := run(t, r, Command{Line: line, Dir: dir, Sandbox: spec, Timeout: hangTime})
			r.Close() // placeholders are removed
			if after := stateOf(dir); after != before || o.Boxed != sandbox.DenyRules {
				t.Errorf("in %v: before %s, after %s; printed %q", o.Boxed, before, after, o.Output.String())
			}
			if without != 0 || privileged(line) { // what it does without a sandbox was seen before
				return
			}
			bare := Open(Options{Helper: helper})
			defer bare.Close()
			if run(t, bare, Command{Line: line, Dir: dir, Timeout: hangTime}); stateOf(dir) == before {
				t.Errorf("proves nothing: without a sandbox nothing changed")
			}
		})
	}
}

// privileged reports whether a line changes mounts, which isn't tried outside of the sandbox.
func privileged(line string) bool {
	return strings.Contains(line, "mount ") || strings.Contains(line, "nsenter") || strings.Contains(line, "chroot")
}

// What no deny rule names works as without a sandbox.
func TestDenyRulesChangeNothingElse(t *testing.T) {
	dir, spec, r := denying(t)
	outside := t.TempDir()
	spec.Covers = append(spec.Covers, sandbox.Unreadable.Cover(filepath.Join(outside, "nothing"))...)
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	root := os.Getuid() == 0
	for _, c := range []struct {
		line string
		root bool
	}{
		{"rm -rf a b d jail own g; echo x > free && mkdir -p d/e && mv free d/e && rm -r d", false},
		{"echo x > " + outside + "/a && mv " + outside + "/a . && ln -f a b", false},
		{fmt.Sprintf("kill -0 %d && grep -q sleep /proc/%d/cmdline", other.Process.Pid, other.Process.Pid), false},
		{"cmp /proc/self/ns/net /proc/self/ns/net; [ $(readlink /proc/self/ns/net) = " + ns(t, "net") + " ] && [ $(readlink /proc/self/ns/ipc) = " + ns(t, "ipc") + " ] && [ $(readlink /proc/self/ns/pid) = " + ns(t, "pid") + " ]", false},
		{"echo x > /dev/shm/adze-deny-$$ && rm /dev/shm/adze-deny-$$", false},
		{"(sleep 60 & kill $!; wait $!); true", false},
		{"chmod 640 b && touch -t 202001010000 b", false},
		{"rm -rf g; git init -q g && cd g && touch f && git add f && git -c user.name=a -c user.email=a@example.test commit -qm x", false},
		{"chown 65534:65534 b && [ $(stat -c %u b) = 65534 ] && chown 0:0 b", true},
		{"setpriv --reuid 65534 --clear-groups id -u | grep -q 65534", true},
		{"mkdir -p own && chmod 700 own && chown 65534 own && touch own/f && rm own/f", true},
		{"mkdir -p jail && chroot / true", true},
		{"rm -f pipe node; mkfifo pipe && mknod node p", false},
	} {
		if c.root && !root {
			continue
		}
		for _, without := range []sandbox.Layers{0, sandbox.Landlock} {
			spec.Without = without
			if o := run(t, r, Command{Line: c.line, Dir: dir, Sandbox: spec, Timeout: hangTime}); o.Exit != 0 || o.Boxed != sandbox.DenyRules {
				t.Errorf("%s: exit %d in %v: %s", c.line, o.Exit, o.Boxed, o.Output.String())
			}
		}
	}
}

func ns(t *testing.T, name string) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return "'" + link + "'"
}

// A deny rule on editing all of the workspace makes it read-only.
func TestUnwritableRoot(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Workspace, sandbox.DenyRules} {
		dir, spec, r := denying(t)
		spec.Mode, spec.Roots = mode, []string{dir}
		spec.Covers = append(sandbox.Unreadable.Cover(sandbox.Covered(spec.Covers, sandbox.Unreadable)...), sandbox.Unwritable.Cover(dir)...)
		if o := run(t, r, Command{Line: "touch new; rm free; echo > free", Dir: dir, Sandbox: spec, Timeout: hangTime}); o.Exit == 0 {
			t.Errorf("%v: %s", mode, o.Output.String())
		}
		if text, err := os.ReadFile(filepath.Join(dir, "free")); err != nil || string(text) != "free\n" {
			t.Errorf("%v: %q %v", mode, text, err)
		}
	}
}

// In the other modes unreadable paths are unreadable too.
func TestUnreadableInEveryMode(t *testing.T) {
	for _, bubblewrap := range []bool{false, true} {
		for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceNetwork} {
			t.Run(fmt.Sprint(mode, bubblewrap), func(t *testing.T) {
				dir, denied, r := denying(t)
				spec := &sandbox.Spec{Mode: mode, Roots: []string{dir}, Covers: denied.Covers, Bubblewrap: bubblewrap}
				if p, err := spec.Plan(); err != nil || p.Layers&(sandbox.Namespaces|sandbox.Bubblewrap) == 0 || bubblewrap && !p.Layers.Has(sandbox.Bubblewrap) {
					t.Skipf("no such sandbox here: %v %v", p.Layers, err)
				}
				o := run(t, r, Command{Line: "cat .env private/n.txt; touch fixed/b; cat free", Dir: dir, Sandbox: spec, Timeout: hangTime})
				if text := o.Output.String(); strings.Contains(text, "CANARY") || !strings.HasSuffix(text, "free\n") || strings.Contains(stateOf(dir), "fixed/b= false") {
					t.Errorf("printed %q, %s", text, stateOf(dir))
				}
			})
		}
	}
}
