//go:build !linux

package proc

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Helper starts keepers. There are none on this system.
type Helper struct{}

// Main must be called first in a program's main. On this system it does nothing: only Linux supports keepers.
func Main() Helper { return Helper{} }

// CheckLimits returns nil: limits of processes are checked on Linux only.
func CheckLimits() error { return nil }

// HelperAt is Main: there are no keepers.
func HelperAt(string) Helper { return Helper{} }

type keepers struct{}

func newKeepers(Helper) *keepers { return &keepers{} }

func (*keepers) missing() error { return Helper{}.missing() }

func (*keepers) note() string {
	if runtime.GOOS == "windows" {
		return "" // job objects contain all processes of a command
	}
	return "This system doesn't support supervisor processes: a child process that leaves its process group may " +
		"keep running."
}

func (k *keepers) start(_ context.Context, s *spec, l *ledger) (tree, *os.File, *ledgerEntry, error) {
	if err := s.unbox(k.missing()); err != nil {
		return nil, nil, nil, err
	}
	return startBare(s, l)
}

func (*keepers) probe() {}

// kind is the kind of a keeper, on systems that have them.
type kind int

const plain kind = 0

func (*keepers) refill(kind) {}

func (*keepers) losses() (sandbox.Layers, error) { return 0, nil }

func (*keepers) close() {}

// CloseLast is for descriptors of inotify, which only Linux has.
func (r *Runner) CloseLast(int) {}

// widen and waiting aren't supported here; output is drained by time instead.
func widen(*os.File) {}

func waiting(*os.File) int64 { return 0 }

func (Helper) missing() error {
	return fmt.Errorf("%w, which this system doesn't support", errNoKeeper)
}

func startHere(_ Helper, s *spec) (*os.Process, func() sandbox.Report, error) {
	p, err := startPlain(s)
	return p, noReport, err
}

// closeInherited does nothing: files that this program opens are close-on-exec.
func closeInherited() {}

// ledger is only used on Linux: elsewhere a process can't be cheaply distinguished from a later one with the same ID.
type ledger struct{ wanted bool }

type ledgerEntry struct{}

func openLedger(dir string) *ledger { return &ledger{wanted: dir != ""} }

func (l *ledger) note() string {
	if !l.wanted {
		return ""
	}
	return "Running commands are not recorded on this system: if this program is killed, the next start can't clean " +
		"up after it."
}

func (e *ledgerEntry) remove() {}

// Reap stops processes that programs left running which have exited. On this system nothing is recorded, so it does
// nothing.
func Reap(string) (ended int, err error) { return 0, nil }
