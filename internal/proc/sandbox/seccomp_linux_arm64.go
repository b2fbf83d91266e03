package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch uint32 = unix.AUDIT_ARCH_AARCH64
	x32Bit    uint32 = 0
)

// refusedHere, renamesHere, metadataHere and setIDsHere are calls that only some architectures have.
var (
	refusedHere  = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
	renamesHere  = []uintptr{unix.SYS_RENAMEAT}
	metadataHere []uintptr
	setIDsHere   []rule
)
