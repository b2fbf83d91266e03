//go:build !linux

package proc

import (
	"context"
	"os"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Helper says how to start keepers. There are none on this system.
type Helper struct{}

// Main must be called first in a program's main. On this system it does
// nothing: only Linux has what a keeper needs.
func Main() Helper { return Helper{} }

// HelperAt is Main: there are no keepers.
func HelperAt(string) Helper { return Helper{} }

type keepers struct{}

func newKeepers(Helper) *keepers { return &keepers{} }

func (*keepers) works() bool { return false }

func (*keepers) note() string {
	return "This system doesn't support supervisor processes: a child process that leaves its process group may keep running."
}

func (*keepers) start(_ context.Context, s *spec, l *ledger) (tree, *os.File, *entry, error) {
	if err := s.unbox(); err != nil {
		return nil, nil, nil, err
	}
	return startBare(s, l)
}

func (*keepers) probe() {}

// kind tells keepers apart where there are some.
type kind int

const plain kind = 0

func (*keepers) refill(kind) {}

func (*keepers) losses() (sandbox.Layers, error) { return 0, nil }

func (*keepers) close() {}

// widen and waiting have no equal here; draining by time takes their place.
func widen(*os.File) {}

func waiting(*os.File) int64 { return 0 }

func (h Helper) works() bool { return false }

func startHere(_ Helper, s *spec) (*os.Process, func() sandbox.Report, error) {
	p, err := startPlain(s)
	return p, noReport, err
}

// closeInherited does nothing: what this program opens is closed by itself.
func closeInherited() {}

// ledger is kept on Linux only: elsewhere there is no cheap way to tell a
// process from a later one with the same number.
type ledger struct{ wanted bool }

type entry struct{}

func openLedger(dir string) *ledger { return &ledger{wanted: dir != ""} }

func (l *ledger) note() string {
	if !l.wanted {
		return ""
	}
	return "Running commands are not recorded on this system: if this program is killed, the next start can't clean up after it."
}

func (e *entry) remove() {}

// Reap ends what programs that are no more left running. On this system
// nothing is recorded, so there is nothing to end.
func Reap(string) (ended int, err error) { return 0, nil }
