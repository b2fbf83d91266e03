package tool

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// An Executor takes calls from a name to an [Outcome]. It alone orders, judges, asks, runs, recovers and cuts.
//
// The calls of one turn are a [Batch]. They behave as if run one by one in order, and overlap where no one writes
// what another touches:
//
//	Add ── Before (hooks), once
//	 ┌──── Prepare                              what it touches is known now
//	 │     wait for earlier writers of that     something it saw has changed? ──► prepare again
//	 │     judge; ask ── withdrawn by a change of rules, or of what it saw ─────► prepare again
//	 │     wait for earlier readers, and for running calls of other agents ─────► prepare again
//	 └──── Run; cut; done
//
// So what is shown and what runs comes from a Prepare that began after every conflicting earlier call had ended.
//
// The fields are set before the first call and not changed after it.
type Executor struct {
	Registry *Registry
	Policy   Policy // nil asks about everything
	Ask      Asker  // nil refuses what needs asking
	// Before runs hooks, once per call and before Prepare. It may Deny, Ask (a person is asked, whatever the
	// policy allows) or rewrite Args; its Allow grants nothing. An error refuses the call.
	Before func(context.Context, Call, Declaration) (Decision, error)
	// Observe is told of every step, one event at a time. A slow observer holds up no call.
	Observe func(Event)
	Limit   int           // calls running at once; 0 is 10. Questions and delegating calls take no place
	Timeout time.Duration // of one Run; 0 is none
	Budget  int           // characters of a result's text; 0 is 25,000, <0 no limit
	// Spill keeps a text that is over the budget and says where. With a nil Spill the rest is lost, and the model told.
	Spill func(Call, string) (Spilled, error)

	by   string // the path of subagents
	once sync.Once
	core *core
	mu   sync.Mutex
	ids  map[string]bool // of calls ever added
}

const (
	defaultLimit  = 10
	defaultBudget = 25_000
)

// Spilled says where the whole of a long result lies.
type Spilled struct {
	Path    string
	Dropped int64 // bytes that were over a limit of the store and are lost
}

// Batch begins a turn: calls that behave as if run one by one in the order they were added. The end of ctx cancels
// them all.
func (x *Executor) Batch(ctx context.Context) *Batch {
	return &Batch{x: x, ctx: ctx, core: x.shared()}
}

// Child is an executor for a subagent that a running call drives: calls of both keep out of each other's way and
// share questions, slots and observer; ids are its own; what it may do is what both policies allow. From then on the
// call itself takes no slot and holds nothing against others. The child's Registry may be replaced before its first
// call.
func (x *Executor) Child(l *Live, name string, narrow Policy) *Executor {
	by := name
	if x.by != "" {
		by = x.by + "/" + name
	}
	policy := Stricter(x.Policy, narrow)
	if x.Policy == nil && narrow != nil { // a nil policy asks, and a subagent may not do more
		policy = Stricter(askAlways, narrow)
	}
	c := x.shared()
	if l != nil && l.entry != nil {
		c.delegate(l.entry)
	}
	child := &Executor{
		Registry: x.Registry, Policy: policy, Ask: x.Ask, Before: x.Before, Observe: x.Observe,
		Limit: x.Limit, Timeout: x.Timeout, Budget: x.Budget, Spill: x.Spill,
		by: by, core: c,
	}
	child.once.Do(func() {})
	return child
}

// Rejudge is called when the mode or the rules have changed: open questions are judged again, and withdrawn where
// the policy answers them now.
func (x *Executor) Rejudge() { x.shared().rejudge() }

func (x *Executor) shared() *core {
	x.once.Do(func() {
		limit := x.Limit
		if limit <= 0 {
			limit = defaultLimit
		}
		x.core = newCore(limit, x.Observe)
	})
	return x.core
}

// claim takes an id, once. A call without one is given one.
func (x *Executor) claim(id string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ids == nil {
		x.ids = map[string]bool{}
	}
	if id == "" {
		id = fmt.Sprintf("call-%d", len(x.ids)+1)
		for x.ids[id] {
			id += "+"
		}
	}
	if x.ids[id] {
		return id, false
	}
	x.ids[id] = true
	return id, true
}

// askAlways is what a nil policy stands for.
func askAlways(Request) Decision {
	return Decision{Verdict: Ask, Cause: Cause{Kind: ByNobody}}
}

// judge asks the policy, and keeps what policies cannot be trusted to keep: a policy that panics refuses, and what
// only a person may allow is asked about.
func (x *Executor) judge(r Request, floor Verdict) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = Decision{Cause: Cause{Kind: ByFailure}, Reason: fmt.Sprintf("the policy failed: %v", p)}
		}
	}()
	if x.Policy == nil {
		d = askAlways(r)
	} else {
		d = x.Policy(r)
	}
	if d.Verdict == Allow && (r.MustAsk || floor == Ask) {
		d = Decision{Verdict: Ask, Cause: Cause{Kind: ByHook}}
		if r.MustAsk {
			d.Cause.Kind = ByMustAsk
		}
	}
	return d
}
