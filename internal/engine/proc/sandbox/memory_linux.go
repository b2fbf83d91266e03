package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory measures the memory of a trial, without a cgroup: ordinary users can't create one.
type memory struct {
	limit  int64
	shared int      // its /dev/shm, or -1
	ipc    *os.File // its System V shared memory
}

// use returns the memory of these processes: their own pages, and files in memory, mapped or not. Pages that processes
// share count several times, unless that would exceed the limit: the exact number takes longer.
func (m *memory) use(processes []int) int64 {
	files := diskUse{linked: map[ID]bool{}}
	files.openFiles(processes, true)
	n := files.bytes + m.segments()
	var st unix.Statfs_t
	if m.shared >= 0 && unix.Fstatfs(m.shared, &st) == nil {
		n += int64(st.Blocks-st.Bfree) * int64(st.Bsize)
	}
	if rough := n + fields(processes, "status", "RssAnon:", "RssShmem:", "VmSwap:"); rough <= m.limit {
		return rough
	}
	return n + fields(processes, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:")
}

// segments returns the size of System V shared memory, attached or not.
func (m *memory) segments() (n int64) {
	var buf [256 << 10]byte
	if m.ipc == nil {
		return 0
	}
	size, _ := m.ipc.ReadAt(buf[:], 0)
	for line := range strings.Lines(string(buf[:size])) {
		words := strings.Fields(line)
		for _, word := range words[max(0, len(words)-2):] { // resident and swapped
			v, _ := strconv.ParseInt(word, 10, 64)
			n += v
		}
	}
	return n
}

// fields adds up fields of a file in /proc that are in kB.
func fields(processes []int, file string, names ...string) (n int64) {
	for _, pid := range processes {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		for _, name := range names {
			n += field(text, name)
		}
	}
	return n
}

func field(text []byte, name string) int64 {
	_, after, ok := bytes.Cut(text, []byte("\n"+name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(after, []byte(" kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return n << 10
}

// available returns how much memory the system has left.
func available() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	return field(text, "MemAvailable:")
}

// exceedsHalf reports whether that is half of the system's memory: then the trial is stopped, even if another program
// uses it.
func exceedsHalf(n int64) bool {
	text, _ := os.ReadFile("/proc/meminfo")
	return n > field(append([]byte{'\n'}, text...), "MemTotal:")/2
}

// shmSize is the size of a trial's /dev/shm.
func (t *Trials) shmSize() string {
	if t == nil || t.Memory <= 0 {
		return ""
	}
	return ",size=" + strconv.FormatInt(min(t.Memory, 1<<30), 10)
}
