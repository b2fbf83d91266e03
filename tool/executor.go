package tool

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// An Executor takes calls from a name to an [Outcome]. It orders, judges, asks, runs, recovers and truncates.
//
// The calls of one turn are a [Batch]. They behave as if run one by one in order, and overlap where none writes what
// another uses:
//
//	Add ── Before (hooks), once
//	 ┌──── Prepare                              its access is known now
//	 │     wait for earlier writers of that     something it saw has changed? ──► prepare again
//	 │     Trial, where the policy lets it be tried: its effects are judged in place of it
//	 │     judge; ask ── withdrawn by a change of rules, or of what it saw ─────► prepare again
//	 │     wait for earlier readers, and for running calls of other agents ─────► prepare again
//	 └──── Around, Run; cut; done
//
// So what is shown and what runs comes from a Prepare that started after every conflicting earlier call had ended.
//
// Set the fields before the first call and do not change them afterwards.
type Executor struct {
	Registry *Registry
	Policy   Policy // nil: everything requires approval
	Ask      Asker  // nil: calls that require approval are denied
	// AskInTurn calls Ask for one question at a time, in the order of the calls of a batch: for a front end that shows
	// one prompt.
	AskInTurn bool
	// Before runs hooks, once per call and before Prepare. It can Deny, Ask (the call requires approval, whatever the
	// policy allows), rewrite Args, or Approve; its Allow alone grants nothing. An error denies the call. It gets the
	// arguments as the tool reads them: see [ArgumentsOf].
	Before func(context.Context, Call, Declaration) (Decision, error)
	// Around wraps every run of a call, and for a tried call the keeping of its effects. It is called with the slot
	// held, right before anything runs, and returns the outcome of run. It can stop the call by returning StatusError
	// without calling run. It calls run at most once, before it returns. A panic in it is a failed call.
	Around func(ctx context.Context, r Request, d Decision, run func(context.Context) Outcome) Outcome
	// Unrun is called with the outcome of a call that ended without running: it was denied, or its arguments can't be
	// used. It returns the outcome, with more for the model.
	Unrun func(context.Context, Call, Declaration, Outcome) Outcome
	// Proposed is called with the effects of a trial before they are judged and kept. It can Deny, which discards them,
	// or Ask; its Allow grants nothing.
	Proposed func(context.Context, Request) Decision
	// Tries is called before every trial of a call, which Around doesn't see: for a journal.
	Tries func(Request, Decision)
	// Observe receives every event, one at a time. A slow observer does not delay calls.
	Observe func(Event)
	Limit   int           // calls running at once; 0: 10. Questions and delegating calls take no slot
	Timeout time.Duration // of one Run or Trial; 0: none
	Budget  int           // maximum characters of a result's text; 0: 25,000, <0: no limit
	// Mask replaces secret values in everything that the model reads of a call, also in texts that are saved; nil:
	// nothing.
	Mask func(text string) string
	// Check rejects arguments that can't be used, such as those with a placeholder that Mask put in place of a secret;
	// nil: none. It is called before each Prepare.
	Check func(Call, Declaration) error
	// Spill saves a text that is over the budget and returns its location. With a nil Spill the rest is lost.
	Spill func(Call, string) (Spilled, error)

	by        string // the path of subagents
	once      sync.Once
	begun     atomic.Bool // scheduler is set
	scheduler *scheduler
	mu        sync.Mutex
	ids       map[string]bool // of calls ever added
}

const (
	defaultLimit  = 10
	defaultBudget = 25_000
)

// Spilled is where the full text of a long result is saved.
type Spilled struct {
	Path    string
	Dropped int64 // bytes over the size limit, which are lost
}

// Batch starts a turn: calls that behave as if run one by one in the order they were added. The end of ctx cancels them
// all.
func (x *Executor) Batch(ctx context.Context) *Batch {
	return &Batch{x: x, ctx: ctx, scheduler: x.shared()}
}

// Run runs a single call, as a turn.
func (x *Executor) Run(ctx context.Context, c Call) Outcome {
	batch := x.Batch(ctx)
	batch.Add(c)
	return batch.Wait()[0]
}

// Child returns an executor for a subagent that a running call drives. Calls of both are ordered against each other and
// share questions, slots and observer; the child has its own IDs, and may do what both policies allow. From then on the
// call itself takes no slot and blocks no other call. The child's Registry can be replaced before its first call.
func (x *Executor) Child(l *Live, name string, narrow Policy) *Executor {
	by := name
	if x.by != "" {
		by = x.by + "/" + name
	}
	policy := Stricter(x.Policy, narrow)
	if x.Policy == nil && narrow != nil { // a nil policy asks, and a subagent can't do more
		policy = Stricter(askAlways, narrow)
	}
	c := x.shared()
	if l != nil && l.entry != nil {
		c.delegate(l.entry)
	}
	child := &Executor{
		Registry: x.Registry, Policy: policy, Ask: x.Ask, AskInTurn: x.AskInTurn, Before: x.Before, Around: x.Around,
		Tries: x.Tries, Proposed: x.Proposed, Unrun: x.Unrun,
		Observe: x.Observe, Limit: x.Limit, Timeout: x.Timeout, Budget: x.Budget, Mask: x.Mask, Check: x.Check,
		Spill: x.Spill,
		by:    by, scheduler: c,
	}
	child.once.Do(func() { child.begun.Store(true) })
	return child
}

// Rejudge judges open questions again after the mode or the rules have changed, and withdraws those that the policy
// answers now. Before the first call it does nothing.
func (x *Executor) Rejudge() {
	if x.begun.Load() {
		x.scheduler.rejudge()
	}
}

func (x *Executor) shared() *scheduler {
	x.once.Do(func() {
		limit := x.Limit
		if limit <= 0 {
			limit = defaultLimit
		}
		x.scheduler = newScheduler(limit, x.Observe)
		x.begun.Store(true)
	})
	return x.scheduler
}

// claim records an ID and reports whether it is new. A call without an ID gets one.
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

// askAlways returns the policy that a nil Policy stands for.
func askAlways(Request) Decision {
	return Decision{Verdict: Ask, Cause: Cause{Kind: NoPolicy}}
}

// hooked is the result of the hooks for a call. The zero value means no opinion.
type hooked struct {
	ask     bool   // it requires approval
	approve bool   // it has approval, where the policy asks and a hook can answer
	reason  string // of either
}

// judge calls the policy. A policy that panics denies. A call with MustAsk requires approval whatever the policy says.
func (x *Executor) judge(r Request, h hooked) (d Decision) {
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
	if d.Verdict == Allow && r.MustAsk {
		d = Decision{Verdict: Ask, Cause: Cause{Kind: ByMustAsk}}
	}
	if d.Verdict != Deny && h.ask && !r.MustAsk { // no rule would answer it, so no rule is offered
		d = Decision{Verdict: Ask, Cause: Cause{Kind: ByHook, Mode: d.Cause.Mode}, Reason: h.reason}
	}
	if d.Verdict == Ask && h.approve && !r.MustAsk && r.Form == nil && !d.userOnly() {
		d = Decision{Verdict: Allow, Cause: Cause{Kind: ByHook}, Reason: h.reason}
	}
	if d.Verdict == Allow || r.MustAsk || r.Form != nil || h.ask {
		d.Try = false
	}
	return d
}

// Batch is the set of calls of one turn.
type Batch struct {
	x         *Executor
	ctx       context.Context // of the turn: a Batch is an operation, not a stored value
	scheduler *scheduler
	entries   []*scheduledCall // guarded by scheduler.mu
	wg        sync.WaitGroup
}

// Add looks up the tool of a call and starts it. It does not wait.
func (b *Batch) Add(c Call) { b.Start(b.x.Registry.Find(c)) }

// Start starts a call whose tool was looked up. It does not wait.
func (b *Batch) Start(f Found) {
	e, err := b.enter(f)
	if err != nil {
		b.settle(e, errored(err))
		return
	}
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		o := failed(StatusError, UnhandledException, "%s: the call's goroutine exited without an outcome. "+
			"This is a bug in the tool, a policy or a hook.", e.decl.Name)
		defer func() { b.settle(e, o) }() // also when the call does not return
		o = e.execute(b.ctx)
		o = e.unrun(b.ctx, o)
	}()
}

// Refuse answers a call without running it, in order with the others. The agent uses it for an edit from a truncated
// answer.
func (b *Batch) Refuse(f Found, t ErrorType, message string) {
	e, _ := b.enter(f)
	b.settle(e, failed(StatusError, t, "%s", message))
}

// Wait waits for all calls and returns one outcome for each, in the order they were added. It ends the batch.
func (b *Batch) Wait() []Outcome {
	b.wg.Wait()
	b.scheduler.out.flush()
	b.scheduler.mu.Lock()
	defer b.scheduler.mu.Unlock()
	out := make([]Outcome, len(b.entries))
	for i, e := range b.entries {
		out[i] = e.outcome
	}
	return out
}

// enter adds a call to the order. The error is why it cannot run.
func (b *Batch) enter(f Found) (*scheduledCall, error) {
	d, known := f.Declaration()
	e := &scheduledCall{x: b.x, batch: b, call: f.Call, tool: f.Tool, decl: d}
	e.call.By = b.x.by
	id, fresh := b.x.claim(f.ID)
	e.call.ID = id
	if known && !f.Rerouted && !d.Named(f.Name) {
		e.repairs = []string{fmt.Sprintf("the tool was called as %q; its name is %s", humanize.Shorten(f.Name, 100),
			d.Name)}
	}
	err := f.Err
	if !fresh {
		err = Errorf(ExecutionFailed, "call %s: this ID was already used in this session, and a call never "+
			"runs twice. "+
			"Use a new ID to run it again.", id)
	}
	b.scheduler.enter(b, e)
	return e, err
}

func (b *Batch) settle(e *scheduledCall, o Outcome) {
	o = b.x.masked(o)
	o.Call, o.Name = e.call, e.decl.Name
	b.scheduler.finish(e, o)
	b.scheduler.out.push(Event{Stage: Done, Request: e.request(Invocation{}), Outcome: &o})
}

func (e *scheduledCall) request(inv Invocation) Request {
	inv.Run, inv.Trial = nil, nil
	return Request{Call: e.call, Declaration: e.decl, Invocation: inv}
}

// ticket is a position in the queue of open questions, for an executor that asks in turn.
type ticket struct {
	e    *scheduledCall
	live bool          // of a running call
	turn chan struct{} // closed when the question may be put to the user
}

// lineUp adds a question to the queue. The returned channel is closed at its turn; leave makes room for the next.
func (c *scheduler) lineUp(e *scheduledCall, live bool) (turn <-chan struct{}, leave func()) {
	t := &ticket{e, live, make(chan struct{})}
	if !e.x.AskInTurn {
		close(t.turn)
		return t.turn, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, t)
	c.callNext()
	return t.turn, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(w *ticket) bool { return w == t })
		if c.asked == t {
			c.asked = nil
		}
		c.callNext()
	}
}

// callNext gives the turn to the next question, if none is being asked: within a batch that of the earliest call, among
// batches the one that came first.
func (c *scheduler) callNext() {
	if c.asked != nil {
		return
	}
	var next *ticket
	for _, t := range c.waiting {
		if c.mayAsk(t) && (next == nil || t.e.batch == next.e.batch && t.e.index < next.e.index) {
			next = t
		}
	}
	if next == nil {
		return
	}
	c.asked = next
	c.waiting = slices.DeleteFunc(c.waiting, func(w *ticket) bool { return w == next })
	close(next.turn)
}

// mayAsk reports whether no earlier call of the batch can still ask: each is done, allowed, or in the queue itself. A
// running call doesn't wait, because earlier calls may wait for it to end.
func (c *scheduler) mayAsk(t *ticket) bool {
	return t.live || t.e.lastEarlier(func(f *scheduledCall) bool { return !f.admitted && !c.queued(f) }) == nil
}

func (c *scheduler) queued(e *scheduledCall) bool {
	return c.asked != nil && c.asked.e == e || slices.ContainsFunc(c.waiting, func(t *ticket) bool { return t.e == e })
}
