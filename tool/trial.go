package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxTrials is how often a call is tried. A second trial replaces one that saw files which have changed since.
const maxTrials = 2

// canTry reports whether a call can be tried, if the policy lets it.
func (e *scheduledCall) canTry(inv *Invocation) bool {
	return inv.Trial != nil && e.untried == "" && !e.direct
}

// awaitQuestion waits until the call can be judged, and reports whether it is tried then. failed is the error of its
// Prepare.
func (e *scheduledCall) awaitQuestion(ctx context.Context, inv *Invocation, failed error) (try bool, err error) {
	c := e.scheduler()
	if err := c.awaitQuestion(ctx, e); err != nil || failed != nil || c.isStale(e) {
		return false, err
	}
	if e.canTry(inv) && e.x.judge(e.request(*inv), e.hook).Try {
		return true, nil
	}
	if !c.calm(e) {
		return false, nil
	}
	if e.canRunAhead(inv) {
		e.runAhead(ctx, inv)
	}
	return false, c.awaitQuestion(ctx, e) // for earlier trials too
}

// try runs the call as a trial, then judges and asks about its effects. Without an outcome the call is prepared again.
func (e *scheduledCall) try(ctx context.Context, inv *Invocation, yes *approval) (*Outcome, *approval) {
	c := e.scheduler()
	trial, abort := context.WithCancel(ctx)
	defer abort()
	ready, err := c.awaitTrial(ctx, e, abort)
	if err == nil && ready {
		if err = c.takeSlot(ctx, e); err != nil {
			c.trialEnded(e)
		}
	}
	if err != nil {
		return e.ended(e.withNotes(inv, cancelled("%s: cancelled before it ran", inv.Description)))
	}
	if !ready {
		return nil, yes
	}
	d := e.x.judge(e.request(*inv), e.hook)
	if !d.Try { // the rules have changed
		c.trialEnded(e)
		return nil, yes
	}
	t, o := e.runTrial(ctx, trial, inv, d)
	switch {
	case o != nil:
		return e.ended(e.withNotes(inv, *o))
	case t == nil:
		return nil, yes
	}
	return e.settle(ctx, inv, t, yes)
}

func (e *scheduledCall) ended(o Outcome) (*Outcome, *approval) { return &o, nil }

// trialResult is what a Trial returns.
type trialResult struct {
	*Tried
	err error
}

// callTrial calls Trial, which may panic or exit its goroutine. It always sends to over.
func callTrial(ctx context.Context, inv *Invocation, l *Live, over chan<- trialResult) {
	r := trialResult{err: Errorf(UnhandledException, "the tool exited its goroutine instead of returning")}
	defer func() {
		if p := recover(); p != nil {
			r = trialResult{err: Errorf(UnhandledException, "the tool failed: %v", p)}
		}
		over <- r
	}()
	r.Tried, r.err = inv.Trial(ctx, l)
	if r.Tried == nil && r.err == nil {
		r.err = Errorf(UnhandledException, "the tool's trial returned nothing. This is a bug in the tool.")
	}
}

// runTrial runs the Trial of a call. It returns the effects that can be kept, or an outcome. With neither, the call is
// prepared again, and then tried again or not at all.
func (e *scheduledCall) runTrial(ctx, trial context.Context, inv *Invocation, d Decision) (*tried, *Outcome) {
	e.trials++
	req := e.request(*inv)
	if e.x.Tries != nil {
		e.x.Tries(req, d)
	}
	c := e.scheduler()
	c.out.push(Event{Stage: Trying, Request: req, Decision: d})
	if e.x.Timeout > 0 {
		limited, cancel := context.WithTimeout(trial, e.x.Timeout)
		defer cancel()
		trial = limited
	}
	s := &screen{out: c.out, req: req}
	began := time.Now()
	over := make(chan trialResult, 1)
	go callTrial(trial, inv, &Live{Call: e.call, Decision: d, Show: s.show, Ask: e.askHosts}, over)
	r, stopped := e.awaitTrialEnd(trial, over)
	e.tried = time.Since(began)
	s.close()
	t := newTried(inv, r.Tried)
	if !stopped {
		o := e.conclude(ctx, trial, inv, ran{err: r.err}, false)
		o.Duration = e.tried
		return nil, &o
	}
	timedOut := trial.Err() != nil && errors.Is(trial.Err(), context.DeadlineExceeded)
	switch stale := c.isStale(e); {
	case ctx.Err() != nil:
		c.trialEnded(e)
		o := e.dropped(t, step{}, cancelled("%s: cancelled while running", inv.Description))
		return nil, &o
	case stale:
		c.trialEnded(e)
		e.again(t)
		return nil, nil
	case r.err == nil:
		t.MustAsk = t.MustAsk || timedOut && changes(t.Access)
		if err := checkPromise(e.decl, &t.Invocation); err != nil {
			c.trialEnded(e)
			t.drop()
			o := errored(err)
			return nil, &o
		}
		c.tried(e, t.Access)
		return t, nil
	case timedOut && errors.Is(r.err, context.DeadlineExceeded), typeOf(r.err) == UnhandledException:
		c.trialEnded(e)
		t.drop()
		o := e.conclude(ctx, trial, inv, ran{err: r.err}, true)
		o.Duration = e.tried
		return nil, &o
	}
	c.trialEnded(e)
	t.drop()
	if errors.Is(r.err, errors.ErrUnsupported) { // trials are unsupported here, which was reported before
		e.direct = true
	} else {
		e.untried = "it can't be tried first: " + oneLine(r.err.Error())
		if errors.Is(r.err, ErrChanged) {
			e.late = r.err
		}
	}
	return nil, nil
}

// awaitTrialEnd waits for Trial like awaitRun for Run. The result of a Trial that returns too late is dropped.
func (e *scheduledCall) awaitTrialEnd(ctx context.Context, over chan trialResult) (r trialResult, stopped bool) {
	select {
	case r = <-over:
		return r, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case r = <-over:
		return r, true
	case <-grace.C:
		go func() {
			late := <-over
			newTried(&Invocation{}, late.Tried).drop()
			e.scheduler().trialEnded(e)
		}()
		return trialResult{err: ctx.Err()}, false
	}
}

// askHosts is Live.Ask of a trial. It asks about hosts only: what is sent there can't be kept apart until it is
// approved.
func (e *scheduledCall) askHosts(ctx context.Context, q Invocation) (Decision, error) {
	other := func(a Access) bool { return a.Verb != Reaches }
	if len(q.Access) == 0 || slices.ContainsFunc(q.Access, other) || e.decl.Origin != "" {
		return askInTrial(ctx, q)
	}
	return e.askLive(ctx, q)
}

// askInTrial denies all questions.
func askInTrial(_ context.Context, q Invocation) (Decision, error) {
	what := oneLine(q.Description)
	return Decision{}, &DenialError{
		Model: "Permission denied: " + what + ": a trial can't ask.",
		User:  "permission denied: " + what + ": a trial can't ask",
	}
}

// tried is a Tried of which either Run or Drop is called, once.
type tried struct {
	Invocation
	discard func() Result
	over    atomic.Bool
}

// newTried checks and completes what a Trial of inv returned. For nil it returns a trial with nothing to drop.
func newTried(inv *Invocation, from *Tried) *tried {
	if from == nil {
		return &tried{Invocation: *inv}
	}
	t := &tried{Invocation: from.Invocation, discard: from.Drop}
	t.Trial = nil
	if t.Description = oneLine(t.Description); t.Description == "" {
		t.Description = inv.Description
	}
	if len(t.Access) == 0 {
		t.Access = []Access{Anything}
	}
	if t.Notes == nil {
		t.Notes = inv.Notes
	}
	if run := from.Run; run != nil {
		t.Run = func(ctx context.Context, l *Live) (Result, error) {
			if !t.over.CompareAndSwap(false, true) {
				return Result{}, context.Canceled
			}
			return run(ctx, l)
		}
	}
	return t
}

// drop discards the effects, unless they were kept or dropped, and returns what the call did.
func (t *tried) drop() (r Result) {
	if t.discard == nil || !t.over.CompareAndSwap(false, true) {
		return Result{}
	}
	defer func() {
		if p := recover(); p != nil {
			r = TextResult(fmt.Sprintf("discarding the effects failed: %v", p))
		}
	}()
	return t.discard()
}

// settle judges the effects of a trial, asks about them, and keeps or drops them.
func (e *scheduledCall) settle(ctx context.Context, inv *Invocation, t *tried, yes *approval) (*Outcome, *approval) {
	c := e.scheduler()
	defer t.drop() // in all cases
	if err := c.awaitQuestion(ctx, e); err != nil {
		return e.ended(e.dropped(t, step{}, cancelled("%s: cancelled while waiting for earlier calls", e.decl.Name)))
	}
	if c.isStale(e) {
		e.again(t)
		return nil, yes
	}
	if f := c.deniedBefore(e); f != nil {
		return e.ended(e.dropped(t, step{}, skipped(e.decl.Name, f.decl.Name).outcome()))
	}
	if o := e.propose(ctx, t); o != nil {
		return e.ended(e.dropped(t, step{}, *o))
	}
	args := e.call.Args
	s, yes := e.decide(ctx, &t.Invocation, yes)
	switch {
	case s.end != nil:
		return e.ended(e.dropped(t, s, *s.end))
	case s.again && !sameJSON(args, e.call.Args): // the user edited the call
		e.trials = 0
		return nil, yes
	case s.again:
		e.again(t)
		return nil, yes
	case s.decision.Direct:
		e.direct = true
		return nil, &approval{inv, true, Decision{Verdict: Allow, Cause: s.decision.Cause, Reason: s.decision.Reason}}
	}
	c.admit(e, s.decision.Grant)
	turn, err := c.awaitTurn(ctx, e)
	if err != nil {
		return e.ended(e.dropped(t, step{}, cancelled("%s: cancelled before its effects were kept", t.Description)))
	}
	if !turn {
		e.again(t)
		return nil, yes
	}
	return e.ended(e.run(ctx, &t.Invocation, s.decision))
}

// propose runs the hooks that see effects before they are kept. An outcome means that they are not.
func (e *scheduledCall) propose(ctx context.Context, t *tried) *Outcome {
	switch d := e.proposed(ctx, t.Invocation); {
	case d.Verdict == Allow:
	case ctx.Err() != nil:
		o := cancelled("%s: cancelled before its effects were kept", t.Description)
		return &o
	case d.Verdict == Deny:
		d.Cause.Kind = ByHook
		o := denial(t.Description, d).outcome()
		return &o
	case d.Verdict == Ask:
		e.hook = hooked{ask: true, reason: d.Reason}
	}
	return nil
}

// proposed calls Executor.Proposed. A hook that panics denies.
func (e *scheduledCall) proposed(ctx context.Context, inv Invocation) (d Decision) {
	if e == nil || e.x.Proposed == nil || !changes(inv.Access) {
		return Decision{Verdict: Allow}
	}
	defer func() {
		if p := recover(); p != nil {
			d = Decision{Verdict: Deny, Reason: fmt.Sprintf("the hook failed: %v", p)}
		}
	}()
	return e.x.Proposed(ctx, e.request(inv))
}

// Proposed reports whether hooks accept the effects of another trial in place of those that they saw.
func (l *Live) Proposed(ctx context.Context, inv Invocation) bool {
	return l.entry.proposed(ctx, inv).Verdict == Allow && ctx.Err() == nil
}

// again drops a trial that read files which have changed since. After the second one the user is asked first.
func (e *scheduledCall) again(t *tried) {
	t.drop()
	if e.trials >= maxTrials {
		e.untried = fmt.Sprintf("other calls changed files while it was tried, %d times", e.trials)
		e.late = fmt.Errorf("%s: nothing was kept: %s. Run it again", t.Description, e.untried)
	}
}

// dropped returns o with what the trial did, and why nothing of it is kept. s is the user's answer, if any.
func (e *scheduledCall) dropped(t *tried, s step, o Outcome) Outcome {
	r := t.drop()
	line := nothingKept(t, s, o)
	parts := slices.Clone(r.Content)
	if n := len(parts); n > 0 {
		if text, ok := parts[n-1].(Text); ok {
			line = strings.TrimRight(string(text), "\n") + "\n" + line
			parts = parts[:n-1]
		}
	}
	o.Result = Result{Content: append(parts, Text(line)), Display: r.Display}
	if f, ok := t.Confirm.(Effects); ok {
		o.Changes.List = f.Discarded(nil)
	}
	o = e.withNotes(&t.Invocation, o)
	o.Result.Content, o.Saved = e.fit(o.Result.Content)
	o.Duration = e.tried
	return o
}

// nothingKept returns why the effects of a trial are not kept.
func nothingKept(t *tried, s step, o Outcome) string {
	if !changes(t.Access) || slices.ContainsFunc(t.Access, func(a Access) bool { return a.Verb == Execs }) {
		return o.Error.ForModel() // there was nothing to keep, or it would have run instead
	}
	what := "its changes"
	if f, ok := t.Confirm.(Effects); ok {
		what += " (" + f.Count() + ")"
	}
	if s.no {
		return sentences("The call ran, but the user discarded "+what, s.decision.Reason, "don't retry it",
			"ask what they want instead, or continue without it")
	}
	return "The call ran, but " + what + " were discarded. " + o.Error.ForModel()
}
