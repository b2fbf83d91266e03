package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
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
	proxy    netip.AddrPort
	proxied  bool // it has used the proxy
	counters [2]*os.File
	mounts   int // its mount namespace
	ruleset  int // its Landlock rules
	dir      string
	limits   *Trials
	free     space
	memory   memory
}

// networkTime is how long a trial continues after it tried to reach the network.
const networkTime = 3 * time.Second

// The limits of a trial are checked every watchEvery, and more often if it could exceed one by much until then.
const (
	watchEvery  = 100 * time.Millisecond
	watchOften  = 2 * time.Millisecond
	watchFirst  = 5 * time.Millisecond
	writeRate   = 2 << 30 // bytes per second and processor
	memoryRate  = 4 << 30
	countEvery  = time.Second
	countLagged = watchEvery
)

// OnLimit sets a function that is called once if the command must be stopped: it exceeds a limit of a trial, waits for
// a network that it doesn't have, or wrote where writes are observed. It must be called before the thread enters the
// sandbox.
func (b *Box) OnLimit(end func()) {
	if b.limited() {
		b.stop = end
	}
	if b.spec.Mode == Trial {
		b.trial = &trying{
			refused: map[string]bool{}, end: end, mounts: -1, ruleset: -1, limits: b.spec.Trial,
			free: newSpace(b.spec.Trial),
		}
		b.trial.memory = memory{limit: b.spec.Trial.Memory, shared: -1}
	}
}

// ProxyAt sets the address of the command's proxy. A trial that has used it isn't stopped when it tries to reach the
// network in another way. It must be called after OnLimit.
func (b *Box) ProxyAt(addr netip.AddrPort) {
	if b.trial != nil {
		b.trial.proxy = addr
	}
}

// IsTrial reports whether the sandbox is for a trial, so that leftover processes must be stopped with the command.
func (b *Box) IsTrial() bool { return b.spec.Mode == Trial }

// Observes reports whether refused writes are reported, so that leftover processes must be stopped with the command
// too.
func (b *Box) Observes() bool { return b.plan.Observes }

// startTrial starts to watch. The calling thread is the one that enters the sandbox, and still has its capabilities.
func (b *Box) startTrial(dir string) error {
	if b.limited() {
		b.limitReadOnly()
	}
	t := b.trial
	if t == nil || b.limited() {
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
	t.memory.ipc, _ = os.Open("/proc/sysvipc/shm") // of this thread's IPC namespace
	if b.shared {
		t.memory.shared, _ = unix.Open(SharedDir, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if limit := b.spec.Trial.Bytes; limit > 0 { // per file
		n := uint64(max(limit-b.spec.Trial.Used, limit/8))
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	go t.watch()
	return nil
}

// limited reports whether the limits of a trial apply in a read-only sandbox.
func (b *Box) limited() bool {
	return b.plan.Observes || b.spec.Mode == ReadOnly && b.spec.Trial != nil
}

// limitReadOnly starts to watch a command in a read-only sandbox, in whose private directories files of earlier
// commands may be.
func (b *Box) limitReadOnly() {
	if b.spec.Trial == nil || b.stop == nil {
		return
	}
	limits := *b.spec.Trial
	limits.Count = b.writable()
	t := &trying{
		end: b.stop, ruleset: -1, limits: &limits, free: newSpace(&limits),
		memory: memory{limit: limits.Memory, shared: -1},
	}
	b.trial = t
	if n := uint64(limits.Bytes); n > 0 { // per file
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	go func() {
		if limits.Bytes > 0 {
			limits.Bytes += t.written()
		}
		t.watch()
	}()
}

// wants records that the command tried to reach something outside.
func (t *trying) wants(what string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	const limit = 64
	if slices.Contains(t.wanted, what) || len(t.wanted) == limit {
		return
	}
	t.wanted = append(t.wanted, what)
	if len(t.wanted) == 1 {
		time.AfterFunc(networkTime, func() {
			t.mu.Lock()
			other := t.proxied
			t.mu.Unlock()
			if !other {
				t.stop("it tried to reach the network and was stopped 3 s later")
			}
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
	// Other programs may have freed as much space as it took.
	limit := t.limits.Bytes
	if limit > 0 && (t.free.shrunk(limit/8) || wrote() > limit/8) && t.written() >= limit-limit/64 {
		return wroteMore(limit)
	}
	const spare = 64 << 10
	if t.free.least() < spare && t.free.shrunk(spare) {
		return "the disk is full"
	}
	return ""
}

func wroteMore(limit int64) string { return fmt.Sprintf("it wrote more than %d MB", limit>>20) }

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

// watch stops the command if it exceeds a limit. It ends with the process. Counting takes a processor from the command
// and from what starts it, and most commands end sooner than they could exceed a limit.
func (t *trying) watch() {
	time.Sleep(watchFirst)
	limits := t.limits
	var meters []*meter
	add := func(m *meter, why string) {
		if m.limit > 0 {
			m.why = why
			m.start()
			meters = append(meters, m)
		}
	}
	add(&meter{limit: limits.Bytes, rate: writeRate, every: t.free.every(), left: t.free.left, count: t.written,
		mine: func(int64) bool { return wrote() > limits.Bytes }}, wroteMore(limits.Bytes))
	add(&meter{limit: limits.Memory, rate: memoryRate, every: countEvery, left: available,
		count: func() int64 { return t.memory.use(processes()) }, mine: exceedsHalf},
		fmt.Sprintf("it used more than %d MB of memory", limits.Memory>>20))
	for last := (time.Time{}); ; {
		if time.Since(last) >= watchEvery {
			last = time.Now()
			if t.checkOthers() {
				return
			}
		}
		pause := watchEvery
		for _, m := range meters {
			if m.over(freeze) {
				t.stop(m.why)
				return
			}
			pause = min(pause, m.pause())
		}
		time.Sleep(max(pause, watchOften))
	}
}

// checkOthers checks the other limits. It reports whether the command was stopped.
func (t *trying) checkOthers() bool {
	limits := t.limits
	t.mu.Lock()
	over, quiet := t.over, len(t.wanted) == 0
	t.mu.Unlock()
	if over {
		return true
	}
	if quiet && t.counted() > 0 {
		t.wants("an address without a route")
	}
	all := processes()
	switch {
	case limits.Processes > 0 && len(all) > limits.Processes:
		t.stop(fmt.Sprintf("it had more than %d processes", limits.Processes))
	case limits.CPU > 0 && processorTime(all) > limits.CPU:
		t.stop(fmt.Sprintf("it used more than %v of processor time", limits.CPU))
	default:
		return false
	}
	return true
}

// freeze stops all processes of the trial, or continues them. It is for the first process of a PID namespace only: any
// other would stop all processes of the user.
func freeze(on bool) {
	signal := unix.SIGCONT
	if on {
		signal = unix.SIGSTOP
	}
	if os.Getpid() == 1 {
		unix.Kill(-1, signal)
	}
}

// processes returns the other processes in this PID namespace. Without a PID namespace, it returns the descendants of
// this process, which orphans are children of.
func processes() (all []int) {
	if os.Getpid() != 1 {
		return descendants()
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

// descendants returns the descendants of this process.
func descendants() (all []int) {
	for todo := []int{os.Getpid()}; len(todo) > 0; todo = todo[1:] {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[0]))
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					all, todo = append(all, pid), append(todo, pid)
				}
			}
		}
	}
	return all
}

// processorTime returns the total CPU time of processes, including earlier ones.
func processorTime(all []int) (took time.Duration) {
	const tick = 10 * time.Millisecond              // USER_HZ is 100
	for _, pid := range all[:min(len(all), 2000)] { // more would take too long
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
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
	return took
}

// wrote returns how much the processes of the trial wrote to disks, including earlier ones, by the kernel's count.
func wrote() (n int64) {
	var ended unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &ended) == nil {
		n = int64(ended.Oublock) * 512
	}
	for _, pid := range processes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if errors.Is(err, fs.ErrPermission) {
			return math.MaxInt64 // it hides itself
		}
		if _, after, ok := strings.Cut(string(text), "\nwrite_bytes: "); ok {
			line, _, _ := strings.Cut(after, "\n")
			v, _ := strconv.ParseInt(line, 10, 64)
			n += v
		}
	}
	return n
}

// space is the free space of the file systems of uppers at the start of a trial.
type space map[string]int64

func newSpace(t *Trials) space {
	s := space{}
	seen := map[unix.Fsid]bool{}
	dirs := t.Count
	if len(t.Layers) > 0 {
		dirs = nil
	}
	for _, l := range t.Layers {
		dirs = append(dirs, l.Upper)
	}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && !seen[st.Fsid] {
			seen[st.Fsid] = true
			s[dir] = int64(st.Bfree) * int64(st.Bsize)
		}
	}
	return s
}

// left returns the current free space of all of them.
func (s space) left() (n int64) {
	for path := range s {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil {
			n += int64(st.Bfree) * int64(st.Bsize)
		}
	}
	return n
}

// every returns how often files must be counted: on other file systems than these, free space changes only when files
// are written to the disk.
func (s space) every() time.Duration {
	for path := range s {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) != nil || !slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC,
			unix.TMPFS_MAGIC}, int64(st.Type)) {
			return countLagged
		}
	}
	return countEvery
}

// shrunk reports whether there is that much less space now, for any reason. Checking all files would take longer.
func (s space) shrunk(by int64) bool {
	start := int64(0)
	for _, free := range s {
		start += free
	}
	return start-s.left() > by
}

// least returns the current minimum of free space.
func (s space) least() int64 {
	least := int64(math.MaxInt64)
	for path := range s {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil {
			least = min(least, int64(st.Bavail)*int64(st.Bsize))
		}
	}
	return least
}

// written returns how much disk space the session's trials use, including deleted files that are open.
func (t *trying) written() int64 {
	u := diskUse{linked: map[ID]bool{}}
	for _, dir := range t.limits.Count {
		u.tree(dir)
	}
	u.openFiles(processes(), false)
	return u.bytes
}
