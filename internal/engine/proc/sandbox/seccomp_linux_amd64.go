package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch uint32 = unix.AUDIT_ARCH_X86_64
	x32Bit    uint32 = 0x40000000 // the same calls with other numbers
)

// refusedHere, renamesHere, linksHere, semaphoresHere, metadataHere, watchedHere and setIDsHere are calls that only
// this architecture has.
var (
	refusedHere = []uintptr{
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CREATE_MODULE, unix.SYS_USELIB,
		unix.SYS_MODIFY_LDT,
	}
	renamesHere    = []uintptr{unix.SYS_RENAME, unix.SYS_RENAMEAT}
	linksHere      = []uintptr{unix.SYS_LINK}
	semaphoresHere = []uintptr{unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP}
	metadataHere   = []uintptr{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
		unix.SYS_FUTIMESAT}
	watchedHere = []watched{
		{unix.SYS_OPEN, opens, -1, 0, 1, 0},
		{unix.SYS_CREAT, opens, -1, 0, none, 0},
		{unix.SYS_MKDIR, makes, -1, 0, none, 0},
		{unix.SYS_MKNOD, makes, -1, 0, none, 0},
		{unix.SYS_SYMLINK, makes, -1, 1, none, 0},
		{unix.SYS_UNLINK, removes, -1, 0, none, 0},
		{unix.SYS_RMDIR, removes, -1, 0, none, 0},
		{unix.SYS_RENAME, moves, -1, 0, none, 0},
		{unix.SYS_LINK, links, -1, 0, none, 0},
		{unix.SYS_CHMOD, modes, -1, 0, none, 1},
		{unix.SYS_CHOWN, owners, -1, 0, none, 1},
		{unix.SYS_LCHOWN, owners, -1, 0, noFollow, 1},
		{unix.SYS_UTIME, attributes, -1, 0, none, 0},
		{unix.SYS_UTIMES, attributes, -1, 0, none, 0},
		{unix.SYS_FUTIMESAT, attributes, 0, 1, none, 0},
	}
	setIDsHere = []rule{
		{nr: unix.SYS_CHMOD, arg: 1, served: true},
		{nr: unix.SYS_OPEN, arg: 2, with: 1, bits: creates},
		{nr: unix.SYS_CREAT, arg: 1},
		{nr: unix.SYS_MKNOD, arg: 1},
	}
)
