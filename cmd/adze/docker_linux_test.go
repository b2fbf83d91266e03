package main

import (
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
)

//go:embed testdata/docker-seccomp.txt
var dockerSeccomp string

// dockerCapabilities are those of a container that is started without options.
var dockerCapabilities = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// becomeDocker restricts the programs that this thread starts like Docker's default container: its seccomp profile and its
// capabilities, and more of them. Unlike Docker it sets no_new_privs, without which only root may load a filter.
func becomeDocker(more ...uintptr) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("the numbers of the profile are those of amd64")
	}
	allowed := slices.Concat(dockerCapabilities, more)
	code, err := dockerFilter(dockerSeccomp, slices.Contains(allowed, unix.CAP_SYS_PTRACE))
	if err != nil {
		return err
	}
	runtime.LockOSThread() // it has fewer capabilities from here on
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if !slices.Contains(allowed, c) {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // only root can, and needs to
		}
	}
	return kerneltest.Load(code)
}

// Instructions of a seccomp filter, and offsets in what it reads.
const (
	load         = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jump         = unix.BPF_JMP | unix.BPF_K
	answer       = unix.BPF_RET | unix.BPF_K
	callNumber   = 0
	callArch     = 4
	callArgument = 16 // the first
)

// tracing are calls that the profile allows with CAP_SYS_PTRACE.
var tracing = []string{"kcmp", "pidfd_getfd", "process_madvise"}

// dockerFilter compiles the lines of testdata/docker-seccomp.txt.
func dockerFilter(profile string, traces bool) ([]unix.SockFilter, error) {
	code := []unix.SockFilter{
		{Code: load, K: callArch}, {Code: jump | unix.BPF_JEQ, Jt: 1, K: unix.AUDIT_ARCH_X86_64}, errnoAnswer(unix.EPERM),
		{Code: load, K: callNumber},
	}
	for line := range strings.Lines(profile) {
		words := strings.Fields(line)
		if words[0] == "#" || traces && slices.Contains(tracing, words[2]) {
			continue
		}
		errno := map[string]unix.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS}[words[0]]
		first, last, isRange := strings.Cut(words[1], "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		rule, err3 := dockerRule(errno, words[3:])
		if err := errors.Join(err1, err2, err3); err != nil || errno == 0 {
			return nil, fmt.Errorf("%q: %v", line, err)
		}
		code = append(code, unix.SockFilter{Code: jump | unix.BPF_JGE, Jf: uint8(len(rule) + 1), K: uint32(from)},
			unix.SockFilter{Code: jump | unix.BPF_JGT, Jt: uint8(len(rule)), K: uint32(to)})
		code = append(code, rule...)
	}
	return append(code, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}), nil
}

func errnoAnswer(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// dockerRule returns what to do about a call, whose condition is an operator with values, or something else: none.
func dockerRule(errno unix.Errno, condition []string) ([]unix.SockFilter, error) {
	if len(condition) < 2 || !strings.Contains("&=!", condition[0]) {
		return []unix.SockFilter{errnoAnswer(errno)}, nil
	}
	compare, match, otherwise := uint16(jump|unix.BPF_JEQ), errnoAnswer(errno), unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}
	switch condition[0] {
	case "&":
		compare = jump | unix.BPF_JSET
	case "!":
		match, otherwise = otherwise, match
	}
	rule, values := []unix.SockFilter{{Code: load, K: callArgument}}, condition[1:]
	for i, text := range values {
		value, err := strconv.ParseUint(text, 0, 32)
		if err != nil {
			return nil, err
		}
		rule = append(rule, unix.SockFilter{Code: compare, Jt: uint8(len(values) - i), K: uint32(value)})
	}
	return append(rule, otherwise, match), nil
}
