//go:build !linux

package proc

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
