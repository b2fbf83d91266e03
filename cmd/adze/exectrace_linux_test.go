package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// execution is one program that was executed.
type execution struct {
	path string // what was asked for; of a script the script, not its interpreter
	exe  string // what runs
}

// traced runs a command to its end and returns every program that it and its descendants executed, in any namespaces, like
// strace -f -e execve.
func traced(t *testing.T, cmd *exec.Cmd) (out string, seen []execution) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "out-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file // files, so that only Wait waits for the command
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // only the thread that began to trace may go on; it ends with this goroutine
		tr := tracer{fresh: map[int]bool{}}
		err := tr.run(cmd)
		seen = tr.seen
		failed <- err
	}()
	err = <-failed
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skip("processes cannot be traced here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	file.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(file)
	return string(text), seen
}

type tracer struct {
	seen  []execution
	mu    sync.Mutex
	fresh map[int]bool // who lives, and whether it has yet to stop for the first time
}

// wnothread waits only for children of this thread.
const wnothread = 0x20000000

func (tr *tracer) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	root := cmd.Process.Pid
	var ws unix.WaitStatus
	if _, err := unix.Wait4(root, &ws, unix.WALL, nil); err != nil {
		return err
	}
	const follow = unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(root, follow); err != nil {
		return err
	}
	tr.fresh[root] = false
	hangs := time.AfterFunc(5*time.Minute, tr.killAll)
	defer hangs.Stop()
	unix.PtraceCont(root, 0)
	for {
		pid, err := unix.Wait4(-1, &ws, unix.WALL|wnothread, nil)
		switch {
		case err == unix.EINTR:
		case err == unix.ECHILD:
			if !hangs.Stop() {
				return fmt.Errorf("%v did not end", cmd.Args)
			}
			return cmd.Process.Release()
		case err != nil:
			return err
		default:
			tr.step(pid, ws)
		}
	}
}

// step continues a stopped process.
func (tr *tracer) step(pid int, ws unix.WaitStatus) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if ws.Exited() || ws.Signaled() {
		delete(tr.fresh, pid)
		return
	}
	known, ok := tr.fresh[pid]
	fresh := !ok || known
	tr.fresh[pid] = false
	signal := 0
	switch stop := ws.StopSignal(); {
	case stop == unix.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
		if e, alive := executed(pid); alive {
			tr.seen = append(tr.seen, e)
		}
	case stop == unix.SIGTRAP: // another event, or the trap of the first exec
	case stop == unix.SIGSTOP && fresh: // that is how those who are followed begin
	default:
		signal = int(stop)
	}
	unix.PtraceCont(pid, signal)
}

func (tr *tracer) killAll() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for pid := range tr.fresh {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// executed asks the kernel what a process has just executed. A process that was killed in this stop has no memory left to
// read: it ran no instruction of the new program.
func executed(pid int) (e execution, alive bool) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	exe, _ := os.Readlink(proc + "exe")
	aux, err := os.ReadFile(proc + "auxv")
	if err != nil || len(aux) == 0 {
		return e, false
	}
	path, alive := execName(proc, aux)
	if !alive {
		return e, false
	}
	if !filepath.IsAbs(path) {
		dir, _ := os.Readlink(proc + "cwd")
		path = filepath.Join(dir, path)
	}
	return execution{path, exe}, true
}

// execName returns the name that execve was given: the new program finds it where the kernel put it. It is false if the
// process was killed meanwhile.
func execName(proc string, aux []byte) (name string, alive bool) {
	const atExecFn = 31
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.NativeEndian.Uint64(aux) != atExecFn {
			continue
		}
		mem, err := os.Open(proc + "mem")
		if err != nil {
			return err.Error(), !errors.Is(err, unix.ESRCH)
		}
		defer mem.Close()
		name := make([]byte, 4096)
		n, _ := mem.ReadAt(name, int64(binary.NativeEndian.Uint64(aux[8:])))
		if n == 0 { // a process without memory reads as an empty file
			return "", false
		}
		name, _, _ = bytes.Cut(name[:n], []byte{0})
		return string(name), true
	}
	return "(unknown)", true
}

// below returns those that come from a directory, or whose origin is not known.
func below(dir string, seen []execution) (found []execution) {
	for _, e := range seen {
		for _, path := range []string{e.path, e.exe} {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				real = path
			}
			if path == "" || strings.Contains(path, "(unknown)") || strings.HasPrefix(path+"/", dir+"/") || strings.HasPrefix(real+"/", dir+"/") {
				found = append(found, e)
				break
			}
		}
	}
	return found
}
