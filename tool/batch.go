package tool

import (
	"context"
	"fmt"
	"sync"
)

// Batch is the set of calls of one turn.
type Batch struct {
	x         *Executor
	ctx       context.Context // of the turn: a Batch is an operation, not a stored value
	scheduler *scheduler
	entries   []*entry // guarded by scheduler.mu
	wg        sync.WaitGroup
}

// Add starts a call. It does not wait.
func (b *Batch) Add(c Call) {
	e, err := b.enter(c)
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
	}()
}

// Refuse answers a call without running it, in order with the others: an edit from a truncated answer.
func (b *Batch) Refuse(c Call, t ErrorType, message string) {
	e, _ := b.enter(c)
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
func (b *Batch) enter(c Call) (*entry, error) {
	e := &entry{x: b.x, batch: b, call: c, decl: Declaration{Name: c.Name}}
	e.call.By = b.x.by
	id, fresh := b.x.claim(c.ID)
	e.call.ID = id
	t, err := b.x.Registry.Lookup(c.Name)
	if err == nil {
		e.tool, e.decl = t, t.Declaration()
		if !e.decl.Named(c.Name) {
			e.repairs = []string{fmt.Sprintf("the tool was called as %q; its name is %s", shorten(c.Name, 100), e.decl.Name)}
		}
	}
	if !fresh {
		err = Errorf(ExecutionFailed, "call %s: this ID was already used in this session, and a call never runs twice. "+
			"Use a new ID to run it again.", id)
	}
	b.scheduler.enter(b, e)
	return e, err
}

func (b *Batch) settle(e *entry, o Outcome) {
	o.Call, o.Name = e.call, e.decl.Name
	b.scheduler.finish(e, o)
	b.scheduler.out.push(Event{Stage: Done, Request: e.request(Invocation{}), Outcome: &o})
}

func (e *entry) request(inv Invocation) Request {
	inv.Run, inv.Trial = nil, nil
	return Request{Call: e.call, Declaration: e.decl, Invocation: inv}
}
