package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxArg is below Windows' limit of 32,767 characters for a command line.
const maxArg = 30 << 10

// bare is a command in a job object, which contains all processes that it starts. They are killed when Adze ends,
// because nothing else has the job open.
type bare struct {
	process *os.Process
	job     windows.Handle
	exits   chan exit
	ended   chan struct{}
	once    sync.Once
	stopped chan struct{}
	left    int // set before ended is closed
}

func startBare(s *spec, _ *ledger) (tree, *os.File, *ledgerEntry, error) {
	if s.script != "" {
		return nil, nil, nil, errors.New("command line too long for this system; put it in a file")
	}
	r, w, err := pipeOf()
	if err != nil {
		return nil, nil, nil, err
	}
	defer w.Close()
	files, done, err := s.streams(w)
	if err != nil {
		r.Close()
		return nil, nil, nil, err
	}
	defer done()
	p, job, err := startInJob(s.argv[0], s.argv, &os.ProcAttr{
		Dir: s.dir, Env: s.env, Files: files, Sys: &syscall.SysProcAttr{
			CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
			HideWindow:    true, CmdLine: s.raw,
		},
	})
	if err != nil {
		r.Close()
		s.errs.Close()
		return nil, nil, nil, err
	}
	t := &bare{
		process: p, job: job, exits: make(chan exit, 1), ended: make(chan struct{}), stopped: make(chan struct{}),
	}
	go t.wait()
	return t, r, nil, nil
}

// startInJob starts a process that is suspended at first, so that it is in the job before it starts others.
func startInJob(path string, argv []string, attr *os.ProcAttr) (p *os.Process, job windows.Handle, err error) {
	job, err = windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		p, err = os.StartProcess(path, argv, attr)
	}
	if err != nil {
		windows.CloseHandle(job)
		return nil, 0, err
	}
	failed := p.WithHandle(func(h uintptr) {
		if err = windows.AssignProcessToJobObject(job, windows.Handle(h)); err == nil {
			err = resume(uint32(p.Pid))
		}
	})
	if err = errors.Join(failed, err); err != nil {
		p.Kill()
		p.Wait()
		windows.CloseHandle(job)
		return nil, 0, fmt.Errorf("start in a job object: %w", err)
	}
	return p, job, nil
}

// resume lets a suspended process run.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(all)
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &e); err == nil; err = windows.Thread32Next(all, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(h)
		windows.CloseHandle(h)
		return err
	}
	return fmt.Errorf("find the thread of process %d: %w", pid, err)
}

// wait waits for the command, then for processes that it left.
func (t *bare) wait() {
	defer close(t.ended)
	defer windows.CloseHandle(t.job)
	dead := make(chan exit, 1)
	go func() {
		st, err := t.process.Wait()
		if err != nil {
			dead <- exit{code: -1, note: "Waiting for the command failed: " + err.Error() + "."}
			return
		}
		dead <- exit{code: st.ExitCode()}
	}()
	select {
	case e := <-dead:
		e.leftover = t.count()
		t.exits <- e
	case <-t.stopped:
		if windows.TerminateJobObject(t.job, 1) != nil {
			t.process.Kill()
		}
		t.exits <- <-dead
	}
	stopped, last := t.stopped, time.Time{}
	for {
		if t.left = t.count(); t.left == 0 || !last.IsZero() && time.Now().After(last) {
			return
		}
		select {
		case <-stopped:
			windows.TerminateJobObject(t.job, 1)
			stopped, last = nil, time.Now().Add(patience)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// count returns how many processes of the job run.
func (t *bare) count() int {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		times                                [4]int64
		faults, total, active, limitViolated uint32
	}
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0 // closing the job kills what may be left
	}
	return int(info.active)
}

func (t *bare) exited() <-chan exit   { return t.exits }
func (t *bare) gone() <-chan struct{} { return t.ended }
func (t *bare) remaining() int        { return t.left }

// stop kills all processes at once: Windows has no signal that asks all programs to exit.
func (t *bare) stop(time.Duration) { t.once.Do(func() { close(t.stopped) }) }

func (t *bare) abandon() { <-t.ended }
