package proc

import (
	"os"
	"strconv"
	"strings"
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

func (t *bare) record(l *ledger) *ledgerEntry {
	brand(t.process.Pid, t.marker)
	s, _ := statusOf(t.process.Pid)
	return l.add(s.target, t.marker)
}

// widen enlarges the pipe, so that a command can write while its output is processed.
func widen(f *os.File) { unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20) }

// waiting returns how many bytes are in the pipe.
func waiting(f *os.File) int64 {
	n := 0
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return int64(n)
}

// A brand finds processes that have cleared their environment and left their session: a resource limit, which every
// process inherits and everyone can read. It is the limit of processor time for real-time processes, longer than the
// lifetime of a system.
const (
	brandLimit = unix.RLIMIT_RTTIME
	brandName  = "Max realtime timeout" // its name in /proc/PID/limits
)

// brandOf returns the limit for a marker.
func brandOf(marker string) (limit uint64, ok bool) {
	if len(marker) < 15 {
		return 0, false
	}
	n, err := strconv.ParseUint(marker[:15], 16, 64)
	return 1<<60 | n, err == nil
}

// brand marks a process, 0 for this one, and everything it starts. Inside another program's command the limit may
// already be lower; then that program's brand stays.
func brand(pid int, marker string) {
	if n, ok := brandOf(marker); ok {
		unix.Prlimit(pid, brandLimit, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
}

// branded reports whether a process has a marker's brand.
func branded(pid int, marker string) bool {
	n, ok := brandOf(marker)
	if !ok {
		return false
	}
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	_, rest, _ := strings.Cut(string(text), brandName)
	line, _, _ := strings.Cut(rest, "\n")
	for _, f := range strings.Fields(line) {
		if f == strconv.FormatUint(n, 10) {
			return true
		}
	}
	return false
}

// markerOf returns the marker in an environment, or empty.
func markerOf(env []string) (marker string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, markerVar+"="); ok {
			marker = v
		}
	}
	return marker
}
