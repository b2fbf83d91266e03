package sandbox

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rule says when a system call is refused, and what it is called then.
type rule struct {
	nr   uintptr
	what string
	// first, if not 0, is the first argument of the calls that are refused. The
	// test, which there must be then, is on another.
	first uint32
	// If test is not testNone, only calls whose argument arg meets it are
	// refused. Arguments are looked at as 32 bits: all that are meant are ints.
	test  test
	arg   int
	mask  uint32 // of the argument's bits that count; 0 means all of them
	value uint32
	not   []uint32 // values that pass: of testNoneOf masked, of testEqual whole
	errno unix.Errno
	// served calls are not refused if there is a listener: it makes them.
	served bool
	// quiet refusals are not worth telling: programs try and do without.
	quiet bool
}

type test int

const (
	testNone   test = iota
	testEqual       // argument & mask == value, except for those in not
	testMask        // argument & mask != 0
	testNoneOf      // argument & mask is none of not
)

// Offsets into struct seccomp_data. The low half of an argument comes first:
// all processors that a table is written for are little-endian.
const (
	offNR   = 0
	offArch = 4
	offArgs = 16
)

// assemble makes a filter: refused calls give answer (or their own errno), all
// others pass. Calls by another processor's table, as of 32-bit programs, are
// refused altogether: its numbers mean something else.
func assemble(rules []rule, answer func(rule) uint32) []unix.SockFilter {
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	foreign := uint32(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))

	prog := []unix.SockFilter{load(offArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(foreign), load(offNR)}
	if x32Bit != 0 {
		prog = append(prog, jump(unix.BPF_JGE, x32Bit, 0, 1), ret(foreign))
	}
	for _, r := range rules {
		no := ret(answer(r))
		var body []unix.SockFilter // ends by refusing, or falls out with another value loaded
		argument := load(uint32(offArgs + 8*r.arg))
		var masked []unix.SockFilter
		if r.mask != 0 {
			masked = []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: r.mask}}
		}
		pass := func(further int) { // those in not skip the refusal, and further instructions before it
			for i, v := range r.not {
				body = append(body, jump(unix.BPF_JEQ, v, uint8(len(r.not)-i+further), 0))
			}
		}
		switch r.test {
		case testNone:
			body = []unix.SockFilter{no}
		case testEqual:
			body = []unix.SockFilter{argument}
			pass(len(masked) + 1)
			body = append(append(body, masked...), jump(unix.BPF_JEQ, r.value, 0, 1), no, load(offNR))
		case testMask:
			body = []unix.SockFilter{argument, jump(unix.BPF_JSET, r.mask, 0, 1), no, load(offNR)}
		case testNoneOf:
			body = append([]unix.SockFilter{argument}, masked...)
			pass(0)
			body = append(body, no, load(offNR))
		}
		if r.first != 0 {
			body = append([]unix.SockFilter{load(offArgs), jump(unix.BPF_JEQ, r.first, 0, uint8(len(body)-1))}, body...)
		}
		prog = append(prog, jump(unix.BPF_JEQ, uint32(r.nr), 0, uint8(len(body))))
		prog = append(prog, body...)
	}
	return append(prog, ret(unix.SECCOMP_RET_ALLOW))
}

// bytesOf is a filter as bubblewrap reads it.
func bytesOf(prog []unix.SockFilter) []byte {
	var b []byte
	for _, i := range prog {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// load holds this thread, and what it starts, to a filter for good. With
// SECCOMP_FILTER_FLAG_NEW_LISTENER it returns a descriptor.
func loadFilter(prog []unix.SockFilter, flags uintptr) (fd int, err error) {
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
