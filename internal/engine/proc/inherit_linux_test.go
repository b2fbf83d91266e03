package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// sleeping returns a process that does nothing until the test ends.
func sleeping(t *testing.T) (pid int) {
	t.Helper()
	c := exec.Command("/bin/sleep", "300")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, c) })
	return c.Process.Pid
}

// listDescriptors prints what a shell has open.
const listDescriptors = "for f in /proc/$$/fd/*; do [ -e $f ] && printf '%s ' ${f##*/}; done"

// left opens a directory without close-on-exec, like a careless caller, and shows that a child inherits it.
func left(t *testing.T) {
	t.Helper()
	fd, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const at = 77
	if err := unix.Dup2(fd, at); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	t.Cleanup(func() { unix.Close(at) })
	if text, _ := exec.Command("/bin/sh", "-c", listDescriptors).Output(); !strings.Contains(string(text), " 77 ") {
		t.Fatalf("it does not reach a child, which has %q: the test shows nothing", text)
	}
}

// Nothing but its three streams reaches a command.
func TestNothingInherited(t *testing.T) {
	inEachLife(t, func(t *testing.T, r *Runner, c Command) {
		left(t)
		c.Line = listDescriptors
		if o := run(t, r, c); strings.TrimSpace(o.Output.Head) != "0 1 2" {
			t.Errorf("it has %q", o.Output.Head)
		}
		// A long command comes as its own file.
		c.Line = listDescriptors + "; :" + strings.Repeat(" ", maxArg)
		o := run(t, r, c)
		for _, f := range strings.Fields(o.Output.Head) {
			if n, _ := strconv.Atoi(f); n > 2 && n != 3 && n != 255 { // 255: where bash moves its script
				t.Errorf("it has %q", o.Output.Head)
			}
		}
	})
}

// The same in the foreground, and without a directory among the streams.
func TestNothingInheritedHere(t *testing.T) {
	needsLayers(t)
	outside := t.TempDir()
	for name, spec := range lives {
		t.Run(name, func(t *testing.T) {
			c := Command{Dir: t.TempDir(), Line: listDescriptors + "; stat -L -c %F /dev/stdin; touch /proc/self/fd/0/planted; true"}
			if name == "bubblewrap" {
				needsBubblewrap(t)
			}
			if spec != nil {
				mine := *spec
				mine.Roots = []string{c.Dir}
				c.Sandbox = &mine
			}
			left(t)
			out := filepath.Join(t.TempDir(), "out")
			if _, err := withStreams(t, outside, out, func() (Outcome, error) { return Here(t.Context(), helper, c, func(string) {}) }); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(out)
			_, err := os.Lstat(outside + "/planted")
			os.Remove(outside + "/planted")
			want := "0 1 2 character special file\n"
			if spec == nil {
				want = "0 1 2 directory\n"
			}
			if !strings.HasPrefix(string(text), want) || (err == nil) != (spec == nil) {
				t.Errorf("printed %q; planted: %v", text, err)
			}
		})
	}
}

// Bubblewrap can't mount on a link, so a temp directory that was one kept it
// from starting.
func TestLinkedTempInBubblewrap(t *testing.T) {
	needsBubblewrap(t)
	r := opened(t, Options{})
	base, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(base+"/real", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", base+"/link"); err != nil {
		t.Fatal(err)
	}
	spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: []string{base + "/link"}, Bubblewrap: true}
	o := run(t, r, Command{Line: "touch $TMPDIR/made", Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + base + "/link"}, Sandbox: spec})
	if _, err := os.Stat(base + "/real/made"); err != nil || o.Exit != 0 {
		t.Errorf("%v %+v", err, o)
	}
}

// Root has no capabilities, unless the directory is another user's: then it
// can work there as before.
func TestRootInAnothersDirectory(t *testing.T) {
	needsLayers(t)
	if os.Getuid() != 0 {
		t.Skip("only root has capabilities")
	}
	r := opened(t, Options{})
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own := run(t, r, Command{Line: "grep CapEff /proc/self/status", Dir: dir, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}})
	if own.Output.Head != "CapEff:\t0000000000000000\n" {
		t.Errorf("in its own directory: %q", own.Output.Head)
	}
	for _, path := range []string{dir + "/file", dir} {
		if err := os.Lchown(path, 12345, 12345); err != nil {
			t.Skip(err)
		}
		os.Chmod(path, 0o700)
	}
	for mode, line := range map[sandbox.Mode]string{sandbox.ReadOnly: "cat file", sandbox.Workspace: "echo x >> file && chmod 600 file && touch new"} {
		if o := run(t, r, Command{Line: line, Dir: dir, Sandbox: &sandbox.Spec{Mode: mode, Roots: []string{dir}}}); o.Exit != 0 {
			t.Errorf("%s: %+v", mode, o)
		}
	}
	// Capabilities that bypass file modes, and no others: DAC_READ_SEARCH, and for writing CHOWN, DAC_OVERRIDE and FOWNER.
	for mode, want := range map[sandbox.Mode]string{sandbox.ReadOnly: "0000000000000004", sandbox.Workspace: "000000000000000f"} {
		o := run(t, r, Command{Line: "grep -E 'Cap(Eff|Bnd)' /proc/self/status", Dir: dir, Sandbox: &sandbox.Spec{Mode: mode, Roots: []string{dir}}})
		if text := "CapEff:\t" + want + "\nCapBnd:\t" + want + "\n"; o.Output.Head != text {
			t.Errorf("%s: %q", mode, o.Output.Head)
		}
	}
}

// An archive of other users' files can be unpacked by root too.
func TestUnpackInWorkspace(t *testing.T) {
	needsLayers(t)
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("there is no tar")
	}
	dir := t.TempDir()
	spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}
	line := "touch a && tar --owner=12345 --group=12345 -cf a.tar a && rm a && tar -xf a.tar && test -e a"
	if o := run(t, opened(t, Options{}), Command{Line: line, Dir: dir, Sandbox: spec}); o.Exit != 0 {
		t.Errorf("%+v", o)
	}
}

// A device that the settings name can be used.
func TestDeviceInWrite(t *testing.T) {
	needsLayers(t)
	dir, device := t.TempDir(), firstOf(os.O_RDONLY, "/dev/vd?", "/dev/sd?", "/dev/nvme*", "/dev/loop[0-9]*")
	if device == "/dev/missing" {
		t.Skip("no device can be opened here")
	}
	r := opened(t, Options{})
	spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}}
	for _, write := range [][]string{nil, {device}} {
		spec.Write = write
		if o := run(t, r, Command{Line: "exec 3<" + device, Dir: dir, Sandbox: spec}); (o.Exit == 0) != (write != nil) {
			t.Errorf("with %q writable: %+v", write, o)
		}
	}
}

// A workspace in memory is not hidden by the directory that takes its place.
func TestWorkspaceInSharedMemory(t *testing.T) {
	needsLayers(t)
	dir, err := os.MkdirTemp("/dev/shm", "adze-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	r := opened(t, Options{})
	for _, wrapped := range []bool{false, true} {
		if wrapped {
			needsBubblewrap(t)
		}
		spec := &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: []string{"/dev/shm"}, Bubblewrap: wrapped}
		if o := run(t, r, Command{Line: "touch made && rm made", Dir: dir, Sandbox: spec}); o.Exit != 0 {
			t.Errorf("by bubblewrap %v: %+v", wrapped, o)
		}
		if o := run(t, r, Command{Line: "ls", Dir: dir, Sandbox: &sandbox.Spec{Mode: sandbox.ReadOnly, Bubblewrap: wrapped}}); o.Exit != 0 {
			t.Errorf("read-only, by bubblewrap %v: %+v", wrapped, o)
		}
	}
}
