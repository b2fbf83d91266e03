package tool

import (
	"context"
	"fmt"
	"sync"
)

// Batch is the calls of one turn.
type Batch struct {
	x       *Executor
	ctx     context.Context // of the turn: a Batch is an operation under way, not a thing that is kept
	core    *core
	entries []*entry // guarded by core.mu
	wg      sync.WaitGroup
}

// Add begins a call, as soon as the model has finished saying it. It does not wait.
func (b *Batch) Add(c Call) {
	e, err := b.enter(c)
	if err != nil {
		b.settle(e, errored(err))
		return
	}
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		o := failed(StatusError, UnhandledException, "%s: its goroutine was ended before it had an outcome; "+
			"this is a mistake in the tool, or in a policy or a hook", e.decl.Name)
		defer func() { b.settle(e, o) }() // also when travel does not return
		o = e.travel(b.ctx)
	}()
}

// Refuse answers a call without running it, in its place among the others: an edit from an answer that was cut.
func (b *Batch) Refuse(c Call, t ErrorType, message string) {
	e, _ := b.enter(c)
	b.settle(e, failed(StatusError, t, "%s", message))
}

// Wait waits for all calls and gives one outcome for each, in the order they were added. The batch is over then.
func (b *Batch) Wait() []Outcome {
	b.wg.Wait()
	b.core.out.flush()
	b.core.mu.Lock()
	defer b.core.mu.Unlock()
	out := make([]Outcome, len(b.entries))
	for i, e := range b.entries {
		out[i] = e.outcome
	}
	return out
}

// enter gives a call its place. The error says why it cannot run.
func (b *Batch) enter(c Call) (*entry, error) {
	e := &entry{x: b.x, batch: b, call: c, floor: Allow, decl: Declaration{Name: c.Name}}
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
		err = Errorf(ExecutionFailed, "call %s: this id was used before in this session, and a call is never run twice; "+
			"use a new id to run it again", id)
	}
	b.core.enter(b, e)
	return e, err
}

func (b *Batch) settle(e *entry, o Outcome) {
	o.Call, o.Name = e.call, e.decl.Name
	b.core.finish(e, o)
	b.core.out.push(Event{Stage: Done, Request: e.request(Invocation{}), Outcome: &o})
}

func (e *entry) request(inv Invocation) Request {
	inv.Run = nil
	return Request{Call: e.call, Declaration: e.decl, Invocation: inv}
}
