// Package jobobject contains a process of Windows and all processes that it starts, so that they can be killed
// together.
//
//	cmd.SysProcAttr = jobobject.Attributes()
//	job, err := jobobject.Open()
//	defer job.Close()
//	err = cmd.Start()
//	err = job.Adopt(cmd.Process)
//
// The processes are killed when Adze ends, whatever the reason, because nothing else has the job open.
package jobobject

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Attributes are those of a process that a job adopts: it waits to be adopted, so that it starts others in the job, and
// Ctrl+C in the console of Adze doesn't reach it.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true,
	}
}

// Job is a job object. Its methods may be called at the same time, and after Close they do nothing.
type Job struct {
	mu     sync.Mutex
	handle windows.Handle // 0: closed
}

// Open creates a job without processes.
func Open() (*Job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(handle)
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	return &Job{handle: handle}, nil
}

// Adopt puts a process with Attributes into the job and lets it run. If that fails, the process is killed.
func (j *Job) Adopt(p *os.Process) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	failed := p.WithHandle(func(h uintptr) {
		if err = windows.AssignProcessToJobObject(j.handle, windows.Handle(h)); err == nil {
			err = resume(uint32(p.Pid))
		}
	})
	if err = errors.Join(failed, err); err != nil {
		p.Kill()
		return fmt.Errorf("start in a job object: %w", err)
	}
	return nil
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

// Count returns how many processes of the job run.
func (j *Job) Count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 { // it would be the job that Adze is in
		return 0
	}
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		times                                [4]int64
		faults, total, active, limitViolated uint32
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0 // closing the job kills what may be left
	}
	return int(info.active)
}

// Kill kills all processes of the job.
func (j *Job) Kill() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		return nil
	}
	return windows.TerminateJobObject(j.handle, 1)
}

// Close kills what is left. A process can't be adopted afterwards.
func (j *Job) Close() {
	j.Kill()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		windows.CloseHandle(j.handle)
		j.handle = 0
	}
}
