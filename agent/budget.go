package agent

import (
	"fmt"
	"sync"

	"github.com/adze-dev/adze/model"
)

// Budget is shared by an agent and its subagents. Its zero value counts and has no limit; nil does not count either.
type Budget struct {
	Turns int // of all agents together; 0: no limit. Set it before the first turn

	mu    sync.Mutex
	turns int
	usage model.Usage
}

// Spent returns the turns and tokens used so far.
func (b *Budget) Spent() (turns int, usage model.Usage) {
	if b == nil {
		return 0, model.Usage{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns, b.usage
}

// turn counts one turn.
func (b *Budget) turn() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Turns > 0 && b.turns >= b.Turns {
		return fmt.Errorf("stopped after %d turns, including subagents: %w", b.Turns, ErrTurnLimit)
	}
	b.turns++
	return nil
}

func (b *Budget) use(u model.Usage) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage = b.usage.Plus(u)
}
