package sandbox

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// trying is the state of a command in a trial.
type trying struct {
	mu      sync.Mutex
	wanted  []string        // names and addresses outside, each once
	refused map[string]bool // addresses on its own loopback where nothing listens
	limit   string          // the limit that stopped it
	end     func()          // stops it
	over    bool            // it was stopped

	own      []string // addresses of the resolver
	counters [2]*os.File
	mounts   int // its mount namespace
	ruleset  int // its Landlock rules
	dir      string
	limits   *Trials
	free     space
}

// networkTime is how long a trial continues after it tried to reach the network.
const networkTime = 3 * time.Second

// watchEvery is how often the limits of a trial are checked.
const watchEvery = 100 * time.Millisecond

// OnLimit sets a function that is called once if the command must be stopped: it exceeds a limit of a trial, or waits for a
// network that it doesn't have. It must be called before the thread enters the sandbox.
func (b *Box) OnLimit(end func()) {
	if b.spec.Mode == Trial {
		b.trial = &trying{refused: map[string]bool{}, end: end, mounts: -1, ruleset: -1, limits: b.spec.Trial, free: newSpace(b.spec.Trial)}
	}
}

// IsTrial reports whether the sandbox is for a trial, so that leftover processes must be stopped with the command.
func (b *Box) IsTrial() bool { return b.spec.Mode == Trial }

// startTrial starts to watch. The calling thread is the one that enters the sandbox, and still has its capabilities.
func (b *Box) startTrial(dir string) error {
	t := b.trial
	if t == nil {
		return nil
	}
	t.dir = dir
	err := b.conceal()
	if err != nil {
		return err
	}
	if t.mounts, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open the mount namespace: %w", err)
	}
	t.answerNames()
	for i, name := range []string{"snmp", "snmp6"} {
		t.counters[i], _ = os.Open("/proc/thread-self/net/" + name) // stays bound to this thread's network
	}
	if n := b.spec.Trial.Bytes; n > 0 { // per file
		limit := unix.Rlimit{Cur: uint64(n), Max: uint64(n)}
		unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	}
	go t.watch()
	return nil
}

// wants records that the command tried to reach something outside.
func (t *trying) wants(what string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 64
	if slices.Contains(t.wanted, what) || len(t.wanted) == most {
		return
	}
	t.wanted = append(t.wanted, what)
	if len(t.wanted) == 1 {
		time.AfterFunc(networkTime, func() {
			t.stop("it tried to reach the network and was stopped 3 s later")
		})
	}
}

// loopback records whether a process listened at a loopback address.
func (t *trying) loopback(what string, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused {
		t.refused[what] = true
	} else {
		delete(t.refused, what)
	}
}

// stop stops the command once.
func (t *trying) stop(why string) {
	t.mu.Lock()
	first := !t.over
	if first {
		t.over, t.limit = true, why
	}
	t.mu.Unlock()
	if first {
		t.end()
	}
}

// Ended records that the command has ended: limits no longer apply.
func (b *Box) Ended() {
	t := b.trial
	if t == nil || t.limits == nil {
		return
	}
	full := t.full()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over, t.limit = true, full
	}
}

// full describes that the command couldn't write everything. The kernel doesn't let a single file exceed the limit.
func (t *trying) full() string {
	if most := t.limits.Bytes; most > 0 && t.free.shrunk(most/2) && written(t.limits) >= most {
		return fmt.Sprintf("it wrote more than %d MB", most>>20)
	}
	const spare = 64 << 10
	if t.free.least() < spare && t.free.shrunk(spare) {
		return "the disk is full"
	}
	return ""
}

func (b *Box) reportTrial(r *Report) { b.trial.report(r) }

// report adds what is known to a report.
func (t *trying) report(r *Report) {
	if t == nil {
		return
	}
	counted := t.counted()
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Limit, r.Network = t.limit, slices.Clone(t.wanted)
	for what := range t.refused {
		r.Network = append(r.Network, what)
	}
	if len(r.Network) == 0 && counted > 0 {
		r.Network = []string{"an address without a route"}
	}
	slices.Sort(r.Network)
}

// counted returns the kernel's count of packets without a route.
func (t *trying) counted() (n int) {
	var buf [16 << 10]byte
	for i, f := range t.counters {
		if f == nil {
			continue
		}
		m, _ := f.ReadAt(buf[:], 0)
		n += noRoutes(string(buf[:m]), i == 1)
	}
	return n
}

// noRoutes reads the counter of packets without a route.
func noRoutes(text string, six bool) int {
	var header []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case six && words[0] == "Ip6OutNoRoutes" && len(words) == 2:
			n, _ := strconv.Atoi(words[1])
			return n
		case !six && words[0] == "Ip:" && header == nil:
			header = words
		case !six && words[0] == "Ip:":
			if i := slices.Index(header, "OutNoRoutes"); i > 0 && i < len(words) {
				n, _ := strconv.Atoi(words[i])
				return n
			}
		}
	}
	return 0
}

// watch stops the command if it exceeds a limit. It ends with the process.
func (t *trying) watch() {
	limits := t.limits
	for range time.Tick(watchEvery) {
		t.mu.Lock()
		over, quiet := t.over, len(t.wanted) == 0
		t.mu.Unlock()
		if over {
			return
		}
		if quiet && t.counted() > 0 {
			t.wants("an address without a route")
		}
		processes, took := running()
		switch {
		case limits.Processes > 0 && processes > limits.Processes:
			t.stop(fmt.Sprintf("it had more than %d processes", limits.Processes))
		case limits.CPU > 0 && took > limits.CPU:
			t.stop(fmt.Sprintf("it used more than %v of processor time", limits.CPU))
		case limits.Bytes > 0 && t.free.shrunk(limits.Bytes) && written(limits) > limits.Bytes:
			t.stop(fmt.Sprintf("it wrote more than %d MB", limits.Bytes>>20))
		}
	}
}

// running returns the number of other processes in this PID namespace, and their total CPU time including earlier ones.
func running() (n int, took time.Duration) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		n++
		if n > 2000 {
			continue // too many to read each
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		if _, after, ok := strings.Cut(string(text), ") "); ok {
			for i, word := range strings.Fields(after) {
				if i >= 11 && i <= 14 { // utime, stime, and those of its children
					v, _ := strconv.ParseInt(word, 10, 64)
					took += time.Duration(v) * tick
				}
			}
		}
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &used) == nil {
		took += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return n, took
}

// space is the free space of the file systems of uppers at the start of a trial.
type space map[string]int64

func newSpace(t *Trials) space {
	s := space{}
	seen := map[unix.Fsid]bool{}
	for _, l := range t.Layers {
		var st unix.Statfs_t
		if unix.Statfs(l.Upper, &st) == nil && !seen[st.Fsid] {
			seen[st.Fsid] = true
			s[l.Upper] = int64(st.Bfree) * st.Bsize
		}
	}
	return s
}

// shrunk reports whether there is that much less space now, for any reason. Checking all files would take longer.
func (s space) shrunk(by int64) bool {
	lost := int64(0)
	for path, free := range s {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil {
			lost += max(0, free-int64(st.Bfree)*st.Bsize)
		}
	}
	return lost > by
}

// least returns the current minimum of free space.
func (s space) least() int64 {
	least := int64(math.MaxInt64)
	for path := range s {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil {
			least = min(least, int64(st.Bavail)*st.Bsize)
		}
	}
	return least
}

// written returns the total size of the uppers.
func written(t *Trials) (n int64) {
	for _, l := range t.Layers {
		filepath.WalkDir(l.Upper, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil && d.Type().IsRegular() && unix.Lstat(path, &st) == nil {
				n += st.Blocks * 512
			}
			return nil
		})
	}
	return n
}
