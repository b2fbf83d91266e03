package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/google/go-cmp/cmp"
)

// column is a sandbox that every attempt is made in.
type column struct {
	name    string
	mode    sandbox.Mode
	without sandbox.Layers
	sockets bool
	wrapped bool // by bubblewrap
}

// The first column is none: it shows that the attempt succeeds by itself.
var columns = []column{
	{name: "off", mode: sandbox.Off},
	{name: "read-only", mode: sandbox.ReadOnly},
	{name: "workspace", mode: sandbox.Workspace},
	{name: "workspace+network", mode: sandbox.WorkspaceNetwork},
	{name: "read-only by namespaces", mode: sandbox.ReadOnly, without: sandbox.Landlock},
	{name: "workspace by Landlock and seccomp", mode: sandbox.Workspace, without: sandbox.Namespaces},
	{name: "workspace without Landlock", mode: sandbox.Workspace, without: sandbox.Landlock},
	{name: "workspace with unix sockets", mode: sandbox.Workspace, sockets: true},
	{name: "workspace without Landlock and process numbers", mode: sandbox.Workspace, without: sandbox.Landlock | sandbox.PIDs},
	{name: "read-only by bubblewrap", mode: sandbox.ReadOnly, wrapped: true},
	{name: "workspace by bubblewrap", mode: sandbox.Workspace, wrapped: true},
	{name: "workspace+network by bubblewrap", mode: sandbox.WorkspaceNetwork, wrapped: true},
	{name: "read-only by Landlock and seccomp", mode: sandbox.ReadOnly, without: sandbox.Namespaces},
	{name: "workspace by bubblewrap without Landlock", mode: sandbox.Workspace, without: sandbox.Landlock, wrapped: true},
}

// rows list in which columns each attempt succeeds. "." means that the layer that would deny it is missing, with a note.
var rows = map[string]string{
	//                          off, read-only, workspace, +network, by namespaces, by Landlock, without Landlock, unix sockets, without Landlock and pids, bubblewrap ×3, read-only by Landlock, bubblewrap without Landlock
	"read outside":             "+ + + + + + + + + + + + + +",
	"write to /dev/null":       "+ + + + + + + + + + + + + +",
	"write to temp":            "+ + + + + + + + + + + + + +",
	"fork and exec":            "+ + + + + + + + + + + + + +",
	"signal to a child":        "+ + + + + + + + + + + + + +",
	"socket pair":              "+ + + + + + + + + + + + + +",
	"write inside":             "+ - + + - + + + + - + + - +",
	"write in a deep folder":   "+ - + + - + + + + - + + - +",
	"chmod inside":             "+ - + + - + + + + - + + - +",
	"git object":               "+ - + + - + + + + - + + - +",
	"write outside":            "+ - - - - - - - - - - - - -",
	"append outside":           "+ - - - - - - - - - - - - -",
	"truncate outside":         "+ - - - - - - - - - - - - -",
	"remove outside":           "+ - - - - - - - - - - - - -",
	"folder outside":           "+ - - - - - - - - - - - - -",
	"move from outside":        "+ - - - - - - - - - - - - -",
	"link escape":              "+ - - - - - - - - - - - - -",
	"hard-link escape":         "+ - - - - - - - - - - - - -",
	"/proc/self/root escape":   "+ - - - - - - - - - - - - -",
	"chmod outside":            "+ - - - - . - - - - - - - -",
	"utime outside":            "+ - - - - . - - - - - - - -",
	"xattr outside":            "+ - - - - . - - - - - - - -",
	"git config":               "+ - - - - . - - - - - - - -",
	"git hook":                 "+ - - - - . - - - - - - - -",
	"replace .git":             "+ - - - - . - - - - - - - -",
	"absent settings":          "+ - - - - . - - - - - - - -",
	"settings by rename":       "+ - - - - . - - - - - - - -",
	"protected by link":        "+ - - - - . - - - - - - - -",
	"replace a protected link": "+ - - - - . - - - - . . - .",
	"TCP to the host":          "+ - - + - - - - - - - + - -",
	"UDP to the host":          "+ - - + - - - - - - - + - -",
	"loopback of its own":      "+ - + + - - + + + - + + - +",
	"unix socket":              "+ - - - - - - + - - - - - -",
	"abstract socket":          "+ - - - - - - - - - - - - -",
	"ptrace":                   "+ - - - - - - - - - - - - -",
	"memory of another":        "+ - - - - - - - - - - - - -",
	"io_uring":                 "+ - - - - - - - - - - - - -",
	"namespaces and mount":     "+ - - - - - - - - - - - - -",
	"kernel keys":              "+ - - - - - - - - - - - - -",
	"setuid":                   "+ - - - - - - - - - - - - -",
	"signal outside":           "+ - - - - - - - . - - - - -",
	"memory of its keeper":     "+ - - - - - - - - - - - - .",
	"root of another":          "+ - - - - - - - - - - - - -",
	"root of its keeper":       "+ - - - - - - - - - - - - -",
	"environment of another":   "+ - - - - - - - - - - - - -",
	"/proc/self/mem":           "+ - - - - - - - - - - - - -",
	"raw packet socket":        "+ - - - - - - - - - - - - -",
	"mount":                    "+ - - - - - - - - - - - - -",
	"device node":              "+ - - - - - - - - - - - - -",
	"packet socket pair":       "+ + + + + + + + + + + + + +",
	"datagram to a name":       "+ - - - - - - + - - - - - -",
	"datagram to an abstract":  "+ - - - - - - - - - - - - -",
	"descriptor to a name":     "+ - - - - - - + - - - - - -",
	"shared memory outside":    "+ - - - - - - - - - - - - -",
	"semaphores outside":       "+ - - - - - - - - - - - - -",
	"messages outside":         "+ - - - - - - - - - - - - -",
	"shared memory of its own": "+ + + + + - + + + + + + - +",
	"limit of another":         "+ - - - - - - - - - - - - -",
	"limit of its own":         "+ + + + + + + + + + + + + +",
	"priority of another":      "+ - - - - - - - - - - - - -",
	"processors of another":    "+ - - - - - - - - - - - - -",
	"scheduler of another":     "+ - - - - - - - - - - - - -",
	"I/O priority of another":  "+ - - - - - - - - - - - - -",
	"pages of another":         "+ - - - - - - - - - - - - -",
	"file flags outside":       "+ - - - - . - - - - - - - -",
	"file version outside":     "+ - - - - . - - - - - - - -",
	"read another's terminal":  "+ - - - - - - - - - - - - -",
	"write another's terminal": "+ - - - - - - - - - - - - -",
	"terminal of its own":      "+ - + + + - + + + - + + - +",
	"shared file outside":      "+ - - - - . - - - - - - - -",
	"shared file of its own":   "+ + + + + + + + + + + + - +",
	"read a console":           "+ - - - - - - - - - - - - -",
	"read a disk":              "+ - - - - - - - - - - - - -",
	"write the kernel's log":   "+ - - - - - - - - - - - - -",
	"named pipe outside":       "+ - - - . - . - . - - - - .",
	"capabilities":             "+ - - - - - - - - - - - - -",
	"capabilities after exec":  "+ - - - - - - - - - - - - -",
	"kernel settings":          "+ - - - - - - - - - - - - -",
	"setuid and setgid bits":   "+ - - - - - - - - - - - - -",
	"setgid directory":         "+ - + + - + + + + - + - - -",
	"setgid directory outside": "+ - - - - . - - - - - - - -",
	"kernel requests":          "+ - - - - - - - - - - - - -",
}

// restricted are attempts that a container's rules may refuse without any sandbox,
// and those of root's that others cannot make. Where it is so, nothing can be
// shown.
var restricted = map[string]bool{
	"raw packet socket": true, "mount": true, "device node": true, "setuid": true, "io_uring": true,
	"namespaces and mount": true, "ptrace": true, "kernel keys": true, "xattr outside": true, "memory of another": true,
	"file flags outside": true, "file version outside": true, "capabilities": true, "capabilities after exec": true, "kernel settings": true, "kernel requests": true,
	"shared memory outside": true, "semaphores outside": true, "messages outside": true, "shared file outside": true, "shared file of its own": true, "pages of another": true,
	"read a console": true, "read a disk": true, "write the kernel's log": true,
}

func TestBoxes(t *testing.T) {
	needsLayers(t)
	r := opened(t, Options{})
	other := setuid
	untried := map[string]bool{}
	for i, col := range columns {
		t.Run(col.name, func(t *testing.T) {
			f := newField(t, other)
			spec := f.spec(col.mode)
			spec.Without, spec.UnixSockets, spec.Bubblewrap = col.without, col.sockets, col.wrapped
			if col.wrapped {
				needsBubblewrap(t)
			}
			got := f.attempt(t, r, spec)
			want := map[string]string{}
			for name, row := range rows {
				if i == 0 && restricted[name] && got[name] != "+" {
					t.Logf("%s cannot be tried here: %s", name, got[name])
					untried[name] = true
				}
				if untried[name] {
					delete(got, name)
					continue
				}
				want[name] = strings.Fields(row)[i]
				if want[name] == "." {
					want[name] = "+"
				}
			}
			if d := cmp.Diff(want, marks(got)); d != "" {
				t.Errorf("%s\n%v", d, got)
			}
			f.intact(t, col.mode)
		})
	}
}

// needsLayers skips a test where the kernel does not have everything.
func needsLayers(t *testing.T) {
	t.Helper()
	if !sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces) {
		t.Skip("not all layers work here:", strings.Join(sandbox.Probe().Lines(false), "; "))
	}
}

// needsBubblewrap skips a test where there is none, or it does not work.
func needsBubblewrap(t *testing.T) {
	t.Helper()
	p, err := (&sandbox.Spec{Mode: sandbox.ReadOnly, Bubblewrap: true}).Plan()
	if err != nil || !p.Layers.Has(sandbox.Bubblewrap) {
		t.Skip("bubblewrap cannot be tried here:", err, p.Notes)
	}
}

// marks takes the reasons off.
func marks(got map[string]string) map[string]string {
	out := map[string]string{}
	for name, what := range got {
		out[name] = what[:1]
	}
	return out
}

// asNobody are the tests that an ordinary user runs too.
const asNobody = "TestBoxes|TestLimitsHold|TestLimitsAreWhatHolds|TestObserved.*|TestHostSocketsStay|TestServerAndClient|TestConnect.*|TestHandedDescriptors"

// soakAsNobody are those that make soak adds: work and attacks in the boxes whose limits TestBoxes lists.
const soakAsNobody = "TestWorkInWorkspace|TestEscapes|TestLimitedWork|TestHostSockets.*|TestServers"

// An ordinary user has the same boxes.
func TestBoxesAsNobody(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("is tested by TestBoxes: this is no root")
	}
	tests, first := asNobody, "TestBoxes"
	switch {
	case soak.Share() >= 1:
		tests += "|" + soakAsNobody
	case soak.On(): // make test runs the others
		tests, first = soakAsNobody, "TestWorkInWorkspace"
	}
	cmd := exec.CommandContext(t.Context(), unraced, "-test.run=^("+tests+")$", "-test.v")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "BOX_SETUID=" + setuid, unracedVariable + "=" + unraced}
	if soak.Share() >= 1 {
		cmd.Env = append(cmd.Env, soak.Variable+"="+os.Getenv(soak.Variable))
	}
	cmd.Dir = nobodysDir(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	text, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("cannot become another user here")
	}
	if err != nil || !strings.Contains(string(text), "--- PASS: "+first) && !strings.Contains(string(text), "--- SKIP: "+first) {
		t.Errorf("%v\n%s", err, text)
	}
}

// nobodysDir returns a directory of user 65534 outside of what sandboxes may write; "/" if that user can't enter it.
func nobodysDir(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(here, "nobody-")
	if err != nil {
		return "/"
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, 65534, 65534); err != nil {
		return "/"
	}
	cmd := exec.Command("true")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if cmd.Run() != nil {
		return "/"
	}
	return dir
}

// field is a workspace, an outside, and something on the host to reach for.
type field struct {
	in, out string
	env     []string
}

func newField(t *testing.T, other string) *field {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &field{in: base + "/in", out: base + "/out"}
	for _, dir := range []string{f.in + "/.git/hooks", f.in + "/husky", f.out, base + "/temp"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{f.in + "/file", f.in + "/.git/HEAD", f.in + "/.git/config", f.out + "/file", f.out + "/truncate", f.out + "/remove", f.out + "/move", f.out + "/hard"} {
		if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(f.out, f.in+"/link")
	os.Symlink("husky", f.in+"/.husky")
	own := slices.DeleteFunc(Environ(os.Environ(), nil), func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
	f.env = append(own, "BOX_ATTEMPT=all", "BOX_IN="+f.in, "BOX_OUT="+f.out, "TMPDIR="+base+"/temp",
		"BOX_SETUID="+other, "GORACE=atexit_sleep_ms=0")
	f.serve(t)
	f.sides(t)
	sleeper := exec.Command("/bin/sleep", "300")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, sleeper) })
	f.env = append(f.env, fmt.Sprintf("BOX_SLEEPER=%d", sleeper.Process.Pid))
	return f
}

// serve answers on the host.
func (f *field) serve(t *testing.T) {
	t.Helper()
	abstract := "@adze-box-" + newMarker()
	for name, at := range map[string][2]string{"BOX_TCP": {"tcp", "127.0.0.1:0"}, "BOX_UNIX": {"unix", f.out + "/s"}, "BOX_ABSTRACT": {"unix", abstract}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		go echoAll(l)
		t.Cleanup(func() { l.Close() })
		f.env = append(f.env, name+"="+l.Addr().String())
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	go func() {
		b := make([]byte, 1)
		for {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			u.WriteTo(b, from)
		}
	}()
	f.env = append(f.env, "BOX_UDP="+u.LocalAddr().String())
}

func (f *field) spec(mode sandbox.Mode) *sandbox.Spec {
	protected := func(path string) bool { return filepath.Base(path) == ".husky" }
	return &sandbox.Spec{Mode: mode, Roots: []string{f.in}, Write: []string{filepath.Dir(f.in) + "/temp", "/dev/shm"}, Protect: places.Protected([]string{f.in}, protected)}
}

// attempt makes every attempt in a box.
func (f *field) attempt(t *testing.T, r *Runner, spec *sandbox.Spec) map[string]string {
	t.Helper()
	o := run(t, r, Command{Argv: []string{unraced}, Dir: f.in, Env: f.env, Sandbox: spec})
	got := map[string]string{}
	for line := range strings.Lines(o.Output.String()) {
		name, what, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			t.Fatalf("printed %q, %+v", line, o)
		}
		got[name] = what
	}
	return got
}

// intact checks that denied attempts had no effect outside.
func (f *field) intact(t *testing.T, mode sandbox.Mode) {
	t.Helper()
	if mode == sandbox.Off {
		return
	}
	for _, name := range []string{"file", "truncate", "remove", "move", "hard"} {
		if b, err := os.ReadFile(f.out + "/" + name); err != nil || string(b) != "before" {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	if entries, _ := os.ReadDir(f.out); len(entries) != 8 { // and two sockets and a pipe
		t.Errorf("outside there are %v", entries)
	}
}
