package agent

import (
	"fmt"
	"sync"

	"github.com/adze-dev/adze/model"
)

// Budget is what an agent and its sub-agents use together. Its zero value counts and limits nothing; so does nil, which
// does not count either.
type Budget struct {
	Turns int // of all of them; 0 no limit. It is set before the first

	mu    sync.Mutex
	turns int
	usage model.Usage
}

// Spent is what was used so far.
func (b *Budget) Spent() (turns int, usage model.Usage) {
	if b == nil {
		return 0, model.Usage{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns, b.usage
}

// turn takes one turn.
func (b *Budget) turn() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Turns > 0 && b.turns >= b.Turns {
		return fmt.Errorf("stopped after %d turns, sub-agents' included: %w", b.Turns, ErrTurnLimit)
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
