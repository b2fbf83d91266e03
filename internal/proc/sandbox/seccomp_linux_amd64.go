package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch uint32 = unix.AUDIT_ARCH_X86_64
	x32Bit    uint32 = 0x40000000 // the same calls once more, by other numbers
)

// refusedHere and metadataHere are calls that only this processor has.
var (
	refusedHere = map[uintptr]string{
		unix.SYS_IOPL: "changing the kernel", unix.SYS_IOPERM: "changing the kernel", unix.SYS_KEXEC_FILE_LOAD: "changing the kernel",
		unix.SYS_CREATE_MODULE: "changing the kernel", unix.SYS_USELIB: "changing the kernel", unix.SYS_MODIFY_LDT: "changing the kernel",
	}
	metadataHere = []uintptr{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
)
