//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

// count counts the processes in the command's group, the only ones that can be seen here.
func (t *bare) count() int {
	if syscall.Kill(-t.process.Pid, 0) == nil {
		return 1
	}
	return 0
}

func (t *bare) end(grace time.Duration) int {
	syscall.Kill(-t.process.Pid, syscall.SIGTERM)
	if t.awaitNone(grace) {
		return 0
	}
	syscall.Kill(-t.process.Pid, syscall.SIGKILL)
	if t.awaitNone(patience) {
		return 0
	}
	return t.count()
}

func (t *bare) awaitNone(limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if t.count() == 0 {
			return true
		}
	}
	return false
}

func (t *bare) record(*ledger) *ledgerEntry { return nil }
