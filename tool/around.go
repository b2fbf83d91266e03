package tool

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// running is one run of a call. It can be started at most once.
type running struct {
	e    *scheduledCall
	inv  *Invocation
	d    Decision
	mu   sync.Mutex // held while it runs
	over bool       // it ran, or can't run anymore
	runs bool       // its Run didn't stop in time and still keeps the position in the order
}

// run runs the call, wrapped by Executor.Around, and makes its outcome.
func (e *scheduledCall) run(ctx context.Context, inv *Invocation, d Decision) Outcome {
	e.ran = true
	c := e.scheduler()
	if err := c.takeSlot(ctx, e); err != nil {
		c.returned(e)
		return e.withNotes(inv, cancelled("%s: cancelled before it ran", inv.Description))
	}
	r := &running{e: e, inv: inv, d: d}
	defer r.end() // also when Around exits its goroutine
	if e.x.Around == nil {
		return r.start(ctx)
	}
	return r.around(ctx)
}

// unrun calls Executor.Unrun, which may panic.
func (e *scheduledCall) unrun(ctx context.Context, o Outcome) (out Outcome) {
	if e.ran || o.Status == StatusSuccess || e.x.Unrun == nil {
		return o
	}
	defer func() {
		if p := recover(); p != nil {
			out = failed(StatusError, UnhandledException, "%s: Unrun failed: %v", e.decl.Name, p)
		}
	}()
	return e.x.Unrun(ctx, e.call, e.decl, o)
}

// around calls Executor.Around, which may panic or return no outcome.
func (r *running) around(ctx context.Context) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = failed(StatusError, UnhandledException, "%s: Around failed: %v", r.inv.Description, p)
		}
	}()
	o = r.e.x.Around(ctx, r.e.request(*r.inv), r.d, r.start)
	if o.Status == "" {
		return failed(StatusError, UnhandledException, "%s: Around returned no outcome", r.inv.Description)
	}
	return complete(o, r.inv.Description)
}

// complete fills in the fields that every outcome has.
func complete(o Outcome, what string) Outcome {
	if o.Status != StatusSuccess && o.Error == nil {
		message := o.Result.Text()
		if message == "" {
			message = fmt.Sprintf("%s: it was stopped before it ran", what)
		}
		o.Error = &Failure{Type: ExecutionFailed, Message: message}
	}
	if len(o.Result.Content) == 0 && o.Error != nil {
		o.Result.Content = TextResult(o.Error.ForModel()).Content
	}
	return o
}

// end gives up the call's position in the order, unless its Run still needs it.
func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if !r.runs {
		r.e.scheduler().returned(r.e)
	}
}

// start runs the call. Its outcome has the notes for the model, the call and the tool's name.
func (r *running) start(ctx context.Context) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.e
	if r.over {
		return failed(StatusError, UnhandledException, "%s: Around can run a call once, before it returns",
			r.inv.Description)
	}
	r.over = true
	req := e.request(*r.inv)
	out := e.scheduler().out
	out.push(Event{Stage: Running, Request: req, Decision: r.d})
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.x.Timeout > 0 {
		limited, cancel = context.WithTimeout(limited, e.x.Timeout)
		defer cancel()
	}
	s := &screen{out: out, req: req}
	live := &Live{Call: e.call, Decision: r.d, Show: s.show, Ask: e.askLive, entry: e}
	began := time.Now()
	over := make(chan ran, 1)
	go call(limited, r.inv, live, over)
	result, stopped := e.awaitRun(limited, over)
	r.runs = !stopped
	s.close()
	o := e.withNotes(r.inv, e.conclude(ctx, limited, r.inv, result, stopped))
	o.Call, o.Name, o.Duration = e.call, e.decl.Name, time.Since(began)+e.tried
	return o
}
