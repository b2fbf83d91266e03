package proc

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// forbidden is a system call that a container does not let through, and the
// error that it answers with.
type forbidden struct {
	nr    uintptr
	errno unix.Errno
	arg   uint32 // if not 0: only where the first argument has this bit, or is it
}

// barrens are places to be in: a nested container, an old kernel, a strict one.
var barrens = map[string]struct {
	forbids []forbidden
	says    string // in what is said of the sandbox
	runs    string // which modes can be had: r(ead-only), w(orkspace)
}{
	"no Landlock":      {[]forbidden{{unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, 0}}, "this kernel has no Landlock", "rw"},
	"a container":      {[]forbidden{{unix.SYS_UNSHARE, unix.EPERM, 0}, {unix.SYS_CLONE, unix.EPERM, unix.CLONE_NEWUSER}}, "user namespaces are not allowed here", "rw"},
	"too many already": {[]forbidden{{unix.SYS_CLONE, unix.ENOSPC, unix.CLONE_NEWUSER}}, "no more user namespaces may be made here", "rw"},
	"no mounts":        {[]forbidden{{unix.SYS_MOUNT, unix.EPERM, 0}}, "", "rw"},
	"old mounts":       {[]forbidden{{unix.SYS_MOUNT_SETATTR, unix.ENOSYS, 0}}, "this kernel cannot make mounts read-only at once", "rw"},
	"no seccomp":       {[]forbidden{{unix.SYS_SECCOMP, unix.EPERM, 0}}, "seccomp filters cannot be used: operation not permitted", "w"},
	"no keeper":        {[]forbidden{{unix.SYS_PRCTL, unix.EINVAL, unix.PR_SET_CHILD_SUBREAPER}}, "a box is made by a keeper process, and there is none", ""},
	"nothing": {[]forbidden{
		{unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, 0}, {unix.SYS_SECCOMP, unix.EPERM, 0}, {unix.SYS_UNSHARE, unix.EPERM, 0}, {unix.SYS_CLONE, unix.EPERM, unix.CLONE_NEWUSER},
	}, "There is no sandbox here", ""},
}

// Wherever one is, a command runs with a word about what is missing, or does
// not run with a word about it. Nothing hangs.
func TestBarrenPlaces(t *testing.T) {
	if name := os.Getenv("BOX_BARREN"); name != "" {
		inBarren(t, name)
		return
	}
	needsLayers(t)
	for name := range barrens {
		t.Run(name, func(t *testing.T) { again(t, "TestBarrenPlaces", nil, "BOX_BARREN="+name) })
	}
}

func inBarren(t *testing.T, name string) {
	place := barrens[name]
	forbid(t, place.forbids)
	began := time.Now()
	r := opened(t, Options{})
	dir := t.TempDir()
	for letter, mode := range map[string]sandbox.Mode{"r": sandbox.ReadOnly, "w": sandbox.Workspace} {
		can := strings.Contains(place.runs, letter)
		spec := func() *sandbox.Spec { return sandbox.For(mode, []string{dir}, nil, os.Environ(), nil) }
		o, err := r.Run(context.Background(), Command{Line: "echo ran", Dir: dir, Sandbox: spec()})
		if can != (err == nil) || can && (o.Boxed != mode || o.Output.Head != "ran\n") {
			t.Errorf("%s: %v %+v", mode, err, o)
		}
		if !can && !errors.Is(err, sandbox.ErrUnenforceable) && !errors.Is(err, errNoKeeper) {
			t.Errorf("%s: %v", mode, err)
		}
		effort := spec()
		effort.BestEffort = true
		o = run(t, r, Command{Line: "echo ran", Dir: dir, Sandbox: effort})
		if said := strings.Join(o.Notes, " "); o.Output.Head != "ran\n" || !can && !strings.Contains(said, "sandbox") {
			t.Errorf("%s, best effort: %+v", mode, o)
		}
	}
	if text := strings.Join(r.Health().Sandbox.Lines(false), "\n"); !strings.Contains(text, place.says) {
		t.Errorf("%q is not in\n%s", place.says, text)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// forbid makes this whole process such a place, for good.
func forbid(t *testing.T, all []forbidden) {
	t.Helper()
	const load, equal, bits, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	var code []unix.SockFilter
	for _, f := range all {
		no := unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(f.errno)}
		code = append(code, unix.SockFilter{Code: load, K: 0})
		if f.arg == 0 {
			code = append(code, unix.SockFilter{Code: equal, Jf: 1, K: uint32(f.nr)}, no)
			continue
		}
		how := uint16(bits)
		if f.nr == unix.SYS_PRCTL {
			how = equal
		}
		code = append(code, unix.SockFilter{Code: equal, Jf: 3, K: uint32(f.nr)}, unix.SockFilter{Code: load, K: 16}, unix.SockFilter{Code: how, Jf: 1, K: f.arg}, no)
	}
	code = append(code, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		t.Skip("no filter can be loaded here:", errno)
	}
}
