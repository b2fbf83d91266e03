package agent

import (
	"errors"
	"fmt"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
)

var (
	// ErrCallLimit is in the chain when Budget.Calls stopped a Run.
	ErrCallLimit = errors.New("tool call limit reached")
	// ErrTokenLimit is in the chain when Budget.Tokens stopped a Run.
	ErrTokenLimit = errors.New("token limit reached")
)

// Budget is shared by an agent and its subagents. Its zero value counts without limits; a nil Budget doesn't count
// either. A limit of 0 or less means no limit. Set limits before the first turn.
type Budget struct {
	Turns  int // requests to the model, of all agents together
	Calls  int // tool calls, of all agents together
	Tokens int // sent to models and received from them, by all agents and by other callers of Spend

	mu    sync.Mutex
	turns int
	calls int
	over  bool // a call was rejected
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

// Spend counts tokens, and fails if more were used than the limit allows.
func (b *Budget) Spend(u model.Usage) error {
	b.use(u)
	return b.locked(func() error {
		if b.Tokens > 0 && b.usage.Total() > b.Tokens {
			return b.tokenLimit()
		}
		return nil
	})
}

// Left fails if no more requests can be sent.
func (b *Budget) Left() error { return b.locked(b.left) }

// locked calls f with the lock held; a nil Budget has no limits.
func (b *Budget) locked(f func() error) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return f()
}

func (b *Budget) left() error {
	switch {
	case b.over:
		return fmt.Errorf("stopped after %s, including subagents: %w", humanize.Count(b.Calls, "tool call"),
			ErrCallLimit)
	case b.Tokens > 0 && b.usage.Total() >= b.Tokens:
		return b.tokenLimit()
	}
	return nil
}

func (b *Budget) tokenLimit() error {
	return fmt.Errorf("used %s of %s tokens, including subagents: %w", humanize.Number(b.usage.Total()),
		humanize.Number(b.Tokens), ErrTokenLimit)
}

// turn counts one turn.
func (b *Budget) turn() error {
	return b.locked(func() error {
		if b.Turns > 0 && b.turns >= b.Turns {
			return fmt.Errorf("stopped after %d turns, including subagents: %w", b.Turns, ErrTurnLimit)
		}
		err := b.left()
		if err == nil {
			b.turns++
		}
		return err
	})
}

// call counts a tool call. After the last one that the limit allows it fails, and no more turns are possible.
func (b *Budget) call() error {
	return b.locked(func() error {
		if b.over = b.over || b.Calls > 0 && b.calls >= b.Calls; b.over {
			return b.left()
		}
		b.calls++
		return nil
	})
}

func (b *Budget) use(u model.Usage) {
	_ = b.locked(func() error {
		b.usage = b.usage.Plus(u)
		return nil
	})
}

// spent returns the tokens of a turn: as the server reports them, or an estimate if it reports none and tokens are
// limited. request is the estimate for its request.
func (t *turn) spent(request int) model.Usage {
	if b := t.agent.o.Budget; t.usage.Total() > 0 || len(t.parts) == 0 || b == nil || b.Tokens <= 0 {
		return t.usage
	}
	used := model.Usage{Input: request, Output: estimate(model.Message{Parts: t.parts})}
	for _, p := range t.parts {
		if thought, ok := p.(model.Thought); ok {
			used.Output += TextTokens(string(thought))
		}
	}
	return used
}
