package discover

import (
	"context"
	"sync"
	"time"
)

const (
	maxStarts = 4               // commands that start at the same time
	slotHold  = 3 * time.Second // after which a start lets the next one begin
)

// slots limit how many servers start at the same time: a dozen runtimes that load at once on a small machine all take
// longer than they may. A start gives its slot up after a while even if it has not ended, so that servers that hang do
// not keep the others from starting: what loads the machine is the beginning.
type slots struct {
	free chan struct{}
	hold time.Duration
}

func newSlots(n int, hold time.Duration) *slots {
	return &slots{make(chan struct{}, n), hold}
}

// take waits for a slot. release may be called more than once.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s.free <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give := sync.OnceFunc(func() { <-s.free })
	late := time.AfterFunc(s.hold, give)
	return func() {
		late.Stop()
		give()
	}, nil
}
