package tool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stopGrace is how long a cancelled Run can take to return before the call ends without it.
const stopGrace = 5 * time.Second

// ran is the result of a Run.
type ran struct {
	Result
	err error
}

// run runs the call and makes its outcome.
func (e *entry) run(ctx context.Context, inv *Invocation, d Decision) Outcome {
	c := e.scheduler()
	if err := c.takeSlot(ctx, e); err != nil {
		c.returned(e)
		return cancelled("%s: cancelled before it ran", inv.Description)
	}
	r := e.request(*inv)
	c.out.push(Event{Stage: Running, Request: r, Decision: d})
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.x.Timeout > 0 {
		limited, cancel = context.WithTimeout(limited, e.x.Timeout)
		defer cancel()
	}
	s := &screen{out: c.out, req: r}
	live := &Live{Call: e.call, Decision: d, Show: s.show, Ask: e.askLive, entry: e}
	began := time.Now()
	over := make(chan ran, 1)
	go call(limited, inv, live, over)
	result, stopped := e.awaitRun(limited, over)
	s.close()
	o := e.conclude(ctx, limited, inv, result, stopped)
	o.Duration = time.Since(began)
	return o
}

// call calls Run, which may panic or exit its goroutine. It always sends to over.
func call(ctx context.Context, inv *Invocation, l *Live, over chan<- ran) {
	r := ran{err: Errorf(UnhandledException, "the tool exited its goroutine instead of returning")}
	defer func() {
		if p := recover(); p != nil {
			r.err = Errorf(UnhandledException, "the tool failed: %v", p)
		}
		over <- r
	}()
	r.Result, r.err = inv.Run(ctx, l)
}

// awaitRun waits for Run, and for stopGrace after a cancel. A Run that continues after that keeps its position in the
// order until it returns, so that no conflicting call runs at the same time.
func (e *entry) awaitRun(ctx context.Context, over chan ran) (result ran, stopped bool) {
	select {
	case result = <-over:
		e.scheduler().returned(e)
		return result, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case result = <-over:
		e.scheduler().returned(e)
		return result, true
	case <-grace.C:
		go func() {
			<-over
			e.scheduler().returned(e)
		}()
		return ran{err: ctx.Err()}, false
	}
}

// conclude turns the result of Run into an outcome.
func (e *entry) conclude(ctx, limited context.Context, inv *Invocation, r ran, stopped bool) Outcome {
	o := Outcome{Status: StatusSuccess, Result: r.Result}
	switch {
	case r.err == nil:
	case ctx.Err() != nil && (errors.Is(r.err, context.Canceled) || errors.Is(r.err, ctx.Err())):
		o = withResult(cancelled("%s: cancelled while running", inv.Description), r.Result)
	case limited.Err() != nil && errors.Is(r.err, context.DeadlineExceeded):
		o = withResult(failed(StatusError, ExecutionTimeout, "%s: timed out after %s", inv.Description, e.x.Timeout), r.Result)
	case errors.Is(r.err, ErrDenied):
		o = withResult(deniedBy(r.err), r.Result)
	default:
		o = withResult(errored(r.err), r.Result)
	}
	if !stopped {
		o.Error = &Failure{Type: o.Error.Type, Message: fmt.Sprintf("%s. It didn't stop within %s and may still be running.", o.Error.ForModel(), stopGrace)}
		o.Result = TextResult(o.Error.Message)
	}
	o.Result.Content = e.fit(o.Result.Content)
	return o
}
