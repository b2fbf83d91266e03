package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// target identifies a process, even if its ID is reused later.
type target struct {
	pid   int
	start uint64 // in clock ticks since the system started
}

// status is the content of /proc/PID/stat.
type status struct {
	target
	parent, session int
	zombie, stopped bool
}

func statusOf(pid int) (status, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	// The name in parentheses may have any characters, including parentheses and spaces.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return status{}, false
	}
	s := status{target: target{pid: pid}, zombie: f[0] == "Z" || f[0] == "X", stopped: f[0] == "T"}
	s.parent, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	s.start, err = strconv.ParseUint(f[19], 10, 64)
	return s, err == nil
}

// allPids lists every visible process.
func allPids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childrenOf lists the children of all threads of a process. ok is false if the kernel doesn't support that list.
func childrenOf(pid int) (pids []int, ok bool) {
	task := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(task)
	if err != nil {
		return nil, true // it has ended
	}
	threads, _ := d.Readdirnames(-1)
	d.Close()
	for _, t := range threads {
		b, err := os.ReadFile(task + "/" + t + "/children")
		if os.IsNotExist(err) {
			if _, err := os.Stat(task + "/" + t); err == nil {
				return nil, false
			}
		}
		for _, f := range strings.Fields(string(b)) {
			if c, err := strconv.Atoi(f); err == nil {
				pids = append(pids, c)
			}
		}
	}
	return pids, true
}

// descendants lists the descendants of a process, without itself.
func descendants(root int) []target {
	seen := map[int]bool{root: true}
	var found []target
	for todo := []int{root}; len(todo) > 0; {
		kids, ok := childrenOf(todo[0])
		if !ok {
			return descendantsByScan(root)
		}
		todo = todo[1:]
		for _, pid := range kids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			todo = append(todo, pid)
			if s, ok := statusOf(pid); ok && !s.zombie {
				found = append(found, s.target)
			}
		}
	}
	return found
}

func descendantsByScan(root int) []target {
	children := map[int][]status{}
	for _, pid := range allPids() {
		if s, ok := statusOf(pid); ok {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	var found []target
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		for _, s := range children[todo[0]] {
			todo = append(todo, s.pid)
			if !s.zombie {
				found = append(found, s.target)
			}
		}
	}
	return found
}

// marked lists the processes that were started with a marker in their environment or branded with it, or are in a
// session.
func marked(marker string, session int) []target {
	want := []byte(markerVar + "=" + marker + "\x00")
	self := os.Getpid()
	var found []target
	for _, pid := range allPids() {
		if pid == self {
			continue
		}
		s, ok := statusOf(pid)
		if !ok || s.zombie {
			continue
		}
		if session > 0 && s.session == session {
			found = append(found, s.target)
			continue
		}
		env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if bytes.HasPrefix(env, want) || bytes.Contains(env, append([]byte{0}, want...)) || branded(pid, marker) {
			found = append(found, s.target)
		}
	}
	return found
}

// alive reports whether this process is still running.
func (t target) alive() bool {
	s, ok := statusOf(t.pid)
	return ok && s.start == t.start && !s.zombie
}

// signal sends a signal to this process: the descriptor is taken first, so that no later process with the same ID can
// be hit.
func (t target) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3
		if t.alive() {
			unix.Kill(t.pid, sig)
		}
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if t.alive() {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// endAll stops the processes that list returns, and as long as it returns more: SIGTERM, and after the grace period
// SIGSTOP for all, so that nothing forks anymore, then SIGKILL. gone, if not nil, is closed when nothing is left;
// otherwise an empty list means that. It gives up after patience and returns how many processes remain.
func endAll(list func() []target, gone <-chan struct{}, grace time.Duration) int {
	if grace > 0 && askAll(list, gone, grace) {
		return 0
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		freeze(list)
		for _, t := range list() {
			t.signal(unix.SIGKILL)
		}
		if awaitNone(list, gone, 20*time.Millisecond) {
			return 0
		}
	}
	return len(list())
}

// askAll is the first half of that: it sends SIGTERM, and reports whether that was enough.
func askAll(list func() []target, gone <-chan struct{}, grace time.Duration) bool {
	for _, t := range list() {
		t.signal(unix.SIGTERM)
		t.signal(unix.SIGCONT)
	}
	return awaitNone(list, gone, grace)
}

// endWorld kills all other processes of a PID namespace in which this process is number 1, in one call that nothing can
// escape by forking.
func endWorld(gone <-chan struct{}) bool {
	unix.Kill(-1, unix.SIGKILL)
	return awaitNone(nil, gone, patience/2)
}

// freeze stops all processes, until there are no new ones.
func freeze(list func() []target) {
	seen := map[target]bool{}
	for fresh := true; fresh; {
		fresh = false
		for _, t := range list() {
			if !seen[t] {
				seen[t], fresh = true, true
				t.signal(unix.SIGSTOP)
			}
		}
	}
}

func awaitNone(list func() []target, gone <-chan struct{}, limit time.Duration) bool {
	if gone != nil {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case <-gone:
			return true
		case <-t.C:
			return false
		}
	}
	for end := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		if len(list()) == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
