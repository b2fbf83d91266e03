package proc

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func (t *bare) members() []target {
	pid := t.process.Pid
	found := append(descendants(pid), marked(t.marker, pid)...)
	if s, ok := statusOf(pid); ok && !s.zombie && s.parent == os.Getpid() {
		found = append(found, s.target)
	}
	return found
}

func (t *bare) count() int {
	distinct := map[target]bool{}
	for _, m := range t.members() {
		distinct[m] = true
	}
	return len(distinct)
}

func (t *bare) end(grace time.Duration) int { return endAll(t.members, nil, grace) }

func (t *bare) record(l *ledger) *entry {
	brand(t.process.Pid, t.marker)
	s, _ := statusOf(t.process.Pid)
	return l.add(s.target, t.marker)
}

// widen lets a command write on while its output is looked at.
func widen(f *os.File) { unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20) }

// waiting is how many bytes are in the pipe.
func waiting(f *os.File) int64 {
	n := 0
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return int64(n)
}
