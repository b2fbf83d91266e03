package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch uint32 = unix.AUDIT_ARCH_AARCH64
	x32Bit    uint32 = 0
)

// refusedHere, renamesHere, linksHere, semaphoresHere, metadataHere, watchedHere and setIDsHere are calls that only
// some architectures have.
var (
	refusedHere    = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
	renamesHere    = []uintptr{unix.SYS_RENAMEAT}
	linksHere      []uintptr
	semaphoresHere = []uintptr{unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP}
	metadataHere   []uintptr
	watchedHere    []watched
	setIDsHere     []rule
)
