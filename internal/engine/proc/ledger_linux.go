package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// ledger records on disk which processes are ours, as one empty file per running command. All data is in the file's
// name, so that a crash can't leave an incomplete entry:
//
//	boot.pidns.ownerPid.ownerStart.pid.start.marker
type ledger struct {
	dir    string
	prefix string
	mu     sync.Mutex
	err    error
}

func openLedger(dir string) *ledger {
	l := &ledger{dir: dir}
	if dir == "" {
		return l
	}
	boot, ns, ok := here()
	self, ok2 := statusOf(os.Getpid())
	if !ok || !ok2 {
		l.err = errors.New("/proc cannot be read")
		return l
	}
	l.err = os.MkdirAll(dir, 0o700)
	l.prefix = fmt.Sprintf("%s.%s.%d.%d.", boot, ns, self.pid, self.start)
	return l
}

// here identifies the boot and the PID namespace: process IDs are only valid there.
func here() (boot, ns string, ok bool) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	link, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return "", "", false
	}
	ns = strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
	return strings.TrimSpace(string(b)), ns, true
}

func (l *ledger) note() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return ""
	}
	return fmt.Sprintf("Running commands are not recorded (%v): if this program is killed, the next start can't "+
		"clean up after it.", l.err)
}

// ledgerEntry is one command in the ledger; nil if it isn't recorded.
type ledgerEntry struct{ path string }

func (l *ledger) add(t target, marker string) *ledgerEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" || l.prefix == "" {
		return nil
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%s%d.%d.%s", l.prefix, t.pid, t.start, marker))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if l.err = err; err != nil {
		return nil
	}
	f.Close()
	return &ledgerEntry{path}
}

// remove removes the entry. If that fails, the next Reap does.
func (e *ledgerEntry) remove() {
	if e != nil {
		os.Remove(e.path)
	}
}

// Reap stops processes that exited programs left running, by the ledger in a State directory, and returns how many it
// stopped. It only touches processes that the ledger names by ID and start time, their descendants, and processes with
// the command's secret marker in their environment. Call it at the start. A missing directory counts as empty.
func Reap(dir string) (ended int, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("clean up after earlier runs: %w", err)
	}
	boot, ns, ok := here()
	if !ok {
		return 0, errors.New("clean up after earlier runs: /proc cannot be read")
	}
	for _, f := range files {
		r, ok := parseRecord(f.Name())
		switch {
		case !ok:
			continue // not ours
		case r.boot != boot: // nothing of it can be running
		case r.ns != ns || r.owner.alive():
			continue
		default:
			n, left := r.end()
			sandbox.RemoveTemp(boxTemp(r.marker))
			ended += n
			if left > 0 {
				err = errors.Join(err, fmt.Errorf("clean up after earlier runs: %d processes of command %d could "+
					"not be killed", left, r.process.pid))
				continue
			}
		}
		err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
	}
	return ended, err
}

// record is a parsed ledger entry.
type record struct {
	boot, ns, marker string
	owner, process   target
}

func parseRecord(name string) (r record, ok bool) {
	f := strings.Split(name, ".")
	if len(f) != 7 || len(f[6]) != 32 {
		return r, false
	}
	r.boot, r.ns, r.marker = f[0], f[1], f[6]
	var errs [4]error
	r.owner.pid, errs[0] = strconv.Atoi(f[2])
	r.owner.start, errs[1] = strconv.ParseUint(f[3], 10, 64)
	r.process.pid, errs[2] = strconv.Atoi(f[4])
	r.process.start, errs[3] = strconv.ParseUint(f[5], 10, 64)
	return r, errors.Join(errs[:]...) == nil && r.owner.pid > 1 && r.process.pid > 1
}

// end stops the recorded process, its descendants, and processes with the marker.
func (r record) end() (ended, left int) {
	list := func() []target {
		found := marked(r.marker, 0)
		if r.process.alive() {
			found = append(append(found, descendants(r.process.pid)...), r.process)
		}
		return found
	}
	distinct := map[target]bool{}
	for _, t := range list() {
		distinct[t] = true
	}
	if len(distinct) == 0 {
		return 0, 0
	}
	left = endAll(list, nil, 0)
	return max(0, len(distinct)-left), left
}
