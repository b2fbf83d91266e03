package proc

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// boxArg is the only argument of a process that enters a sandbox and becomes the command, or its parent. It does
// nothing by itself: the command comes through a pipe.
const (
	boxArg   = "--adze-process-box"
	boxFD    = 3
	reportFD = 4 // for the report on a trial
)

// missing returns why this program can't start itself again, or nil: without /proc it can't.
func (h Helper) missing() error {
	if h.path == "" {
		return fmt.Errorf("%w, but the program doesn't call adze.Main first", errNoKeeper)
	}
	if _, err := os.Stat(h.path); err != nil {
		return cantStart(err)
	}
	return nil
}

func cantStart(why error) error {
	return fmt.Errorf("%w, which can't be started: %w", errNoKeeper, why)
}

// launch returns the command line by which bubblewrap starts a process of this program. The last file is the program.
// dies means that it dies with the calling thread.
func (h Helper) launch(argv []string, files []*os.File, dies bool) (string, []string, []*os.File, error) {
	launcher, err := sandbox.LauncherArgs(dies)
	if err != nil {
		return "", nil, nil, err
	}
	program, err := os.Open(h.path)
	if err != nil {
		return "", nil, nil, err
	}
	launcher = append(launcher, "/proc/self/fd/"+strconv.Itoa(len(files)))
	return launcher[0], append(launcher, argv[1:]...), append(files, program), nil
}

// startHere starts a process of this program that becomes the command.
func startHere(h Helper, s *spec) (*os.Process, func() sandbox.Report, error) {
	if s.made == nil || !s.plan.InProcess() {
		p, err := startPlain(s)
		return p, noReport, err
	}
	s.env = s.made.Environ(s.env)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	back, theirs, err := os.Pipe()
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	defer theirs.Close()
	files, done := streams(s)
	defer done()
	attr, path, argv, files := &syscall.SysProcAttr{}, h.path, []string{"adze-box", boxArg}, append(files, r, theirs)
	switch what := kindOf(s.plan); {
	case what&launched != 0:
		if path, argv, files, err = h.launch(argv, files, true); err != nil {
			w.Close()
			back.Close()
			return nil, nil, err
		}
		defer files[len(files)-1].Close()
	case what != plain:
		attr = what.apart().Attr()
	}
	p, err := os.StartProcess(path, argv, &os.ProcAttr{Env: helperEnv(), Files: files, Sys: attr})
	if err == nil {
		_, err = w.Write(s.encode())
		if err != nil {
			p.Kill()
			p.Wait()
		}
	}
	w.Close()
	if err != nil {
		back.Close()
		return nil, nil, err
	}
	return p, reporting(back), nil
}

// reporting reads a report. The returned function waits for it.
func reporting(f *os.File) func() sandbox.Report {
	done := make(chan sandbox.Report, 1)
	go func() {
		defer f.Close()
		var r sandbox.Report
		text, _ := io.ReadAll(f)
		json.Unmarshal(text, &r) // empty text leaves an empty report
		done <- r
	}()
	return func() sandbox.Report { return <-done }
}

// closeInherited marks all descriptors except the three streams close-on-exec, including those that the parent process
// left open.
func closeInherited() {
	const first = 3
	if unix.CloseRange(first, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}

// become is that process. It only returns if it fails, with an exit code as of a shell that can't execute a command.
func become() int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "adze: create the sandbox: %v\n", err)
		return 126
	}
	runtime.LockOSThread() // it is this thread that enters the sandbox
	body, err := io.ReadAll(os.NewFile(boxFD, "command"))
	if err != nil {
		return fail(err)
	}
	s, box, err := decodeSpec(body)
	if err != nil || box == nil {
		return fail(fmt.Errorf("the command was not received: %w", err))
	}
	closeInherited()
	what := kindOf(box.Plan())
	if what != plain {
		if err := what.apart().Enter(); err != nil {
			return fail(err)
		}
	}
	box.OnLimit(func() { unix.Kill(-1, unix.SIGKILL) })
	if err := box.Enter(s.dir); err != nil {
		return fail(err)
	}
	// After entering the sandbox, so that the directory is the one inside.
	if err := os.Chdir(s.dir); err != nil {
		return fail(err)
	}
	code := 126
	if what&ownPIDs != 0 {
		code, err = beFirst(s, box)
	} else {
		err = syscall.Exec(s.argv[0], s.argv, s.env)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "adze: start %s: %v\n", s.argv[0], err)
	}
	return code
}

// beFirst is the first process of a PID namespace. The command itself in that role would ignore signals without a
// handler, and would have to reap orphans. Keyboard signals reach the command directly.
func beFirst(s *spec, box *sandbox.Box) (code int, err error) {
	signal.Notify(make(chan os.Signal, 1)) // all, like a keeper
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // its other threads aren't sandboxed
	pid, err := syscall.ForkExec(s.argv[0], s.argv, &syscall.ProcAttr{Env: s.env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 126, err
	}
	go func() {
		for range told {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}()
	for {
		var ws syscall.WaitStatus
		switch ended, err := syscall.Wait4(-1, &ws, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return 126, err
		case ended == pid && box.IsTrial():
			reportTrial(box)
			return exitCode(ws), nil
		case ended == pid:
			return exitCode(ws), nil
		}
	}
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// reportTrial stops the processes that a trial left running, which would change more, and reports on it.
func reportTrial(box *sandbox.Box) {
	box.Ended()
	unix.Kill(-1, unix.SIGKILL)
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	report, _ := json.Marshal(box.Report())
	f := os.NewFile(reportFD, "report")
	f.Write(report)
	f.Close()
}
