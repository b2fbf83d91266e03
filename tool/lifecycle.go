package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// execute runs the whole lifecycle of a call.
func (e *scheduledCall) execute(ctx context.Context) Outcome {
	if ctx.Err() != nil {
		return cancelled("%s: cancelled before it started", e.decl.Name)
	}
	if o := e.before(ctx); o != nil {
		return *o
	}
	var yes *approval
	for {
		if err := e.check(); err != nil {
			return errored(err)
		}
		inv, err := e.prepare(ctx)
		var params *ParamError
		if errors.As(err, &params) {
			return errored(e.named(params))
		}
		try, stop := e.awaitQuestion(ctx, inv, err)
		if stop != nil {
			return cancelled("%s: cancelled while waiting for earlier calls", e.decl.Name)
		}
		if e.scheduler().isStale(e) {
			continue
		}
		if err != nil {
			quiet, stop := e.scheduler().awaitQuiet(ctx, e)
			if stop == nil && !quiet {
				continue
			}
			o, again := e.tell(ctx, inv, err)
			if again {
				continue
			}
			return e.withNotes(inv, o)
		}
		if try {
			var o *Outcome
			if o, yes = e.try(ctx, inv, yes); o != nil {
				return *o
			}
			continue
		}
		if f := e.scheduler().deniedBefore(e); f != nil {
			return skipped(e.decl.Name, f.decl.Name).outcome()
		}
		var s step
		s, yes = e.decide(ctx, inv, yes)
		if s.again {
			continue
		}
		if s.end != nil {
			return e.withNotes(inv, *s.end)
		}
		e.scheduler().admit(e, s.decision.Grant)
		turn, err := e.scheduler().awaitTurn(ctx, e)
		if err != nil {
			return cancelled("%s: cancelled before it ran", e.decl.Name)
		}
		if turn {
			return e.run(ctx, inv, s.decision)
		}
	}
}

// check returns why the arguments can't be used.
func (e *scheduledCall) check() error {
	if e.x.Check == nil {
		return nil
	}
	err := e.x.Check(e.call, e.decl)
	var params *ParamError
	if errors.As(err, &params) {
		return e.named(params)
	}
	return err
}

// named returns an error about parameters with the name of the tool.
func (e *scheduledCall) named(err *ParamError) *ParamError {
	if err.Tool == "" {
		err = &ParamError{Tool: e.decl.Name, Violations: err.Violations}
	}
	return err
}

func (e *scheduledCall) scheduler() *scheduler { return e.batch.scheduler }

// before runs the hooks.
func (e *scheduledCall) before(ctx context.Context) *Outcome {
	if e.x.Before == nil {
		return nil
	}
	d, err := func() (d Decision, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the hook failed: %v", p)
			}
		}()
		c := e.call
		c.Args = ArgumentsOf(e.tool, c.Args)
		return e.x.Before(ctx, c, e.decl)
	}()
	if ctx.Err() != nil {
		o := cancelled("%s: cancelled before it started", e.decl.Name)
		return &o
	}
	if err != nil {
		o := denial(e.decl.Name, Decision{Cause: Cause{Kind: ByFailure}, Reason: err.Error()}).outcome()
		return &o
	}
	if d.Verdict == Deny {
		d.Cause.Kind = ByHook
		o := denial(e.decl.Name, d).outcome()
		return &o
	}
	e.hook = hooked{ask: d.Verdict == Ask, approve: d.Verdict == Allow && d.Approve, reason: d.Reason}
	if d.Args != nil && !sameJSON(d.Args, e.call.Args) {
		e.call.Args = d.Args
		e.notes = []string{editedBy("a hook", d.Args)}
	}
	return nil
}

// prepare calls the tool's Prepare.
func (e *scheduledCall) prepare(ctx context.Context) (*Invocation, error) {
	e.scheduler().prepare(e)
	inv, err := prepareSafely(ctx, e.tool, e.decl, e.call.Args)
	e.scheduler().prepared(e, scheduled(e.decl.kind(), inv.Access), err == nil &&
		(e.canTry(inv) && e.trials == 0 || e.canRunAhead(inv)))
	if err == nil {
		e.scheduler().out.push(Event{Stage: Prepared, Request: e.request(*inv)})
	}
	return inv, err
}

// prepareSafely calls Prepare and recovers from panics. Its Invocation is never nil.
func prepareSafely(ctx context.Context, t Tool, d Declaration, args json.RawMessage) (*Invocation, error) {
	inv, err := func() (inv *Invocation, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = Errorf(UnhandledException, "%s: the tool failed while preparing: %v", d.Name, p)
			}
		}()
		return t.Prepare(ctx, args)
	}()
	if inv == nil {
		inv = &Invocation{}
	}
	prepared := *inv
	prepared.Description = oneLine(prepared.Description)
	if prepared.Description == "" {
		prepared.Description = d.Title()
	}
	if len(prepared.Access) == 0 || d.Origin != "" {
		prepared.Access = []Access{Anything}
	}
	if err == nil {
		err = checkPromise(d, &prepared)
	}
	return &prepared, err
}

func checkPromise(d Declaration, inv *Invocation) error {
	if inv.Run == nil {
		return Errorf(UnhandledException, "%s: the tool prepared nothing to run. This is a bug in the tool.", d.Name)
	}
	if d.Origin != "" || !d.kind().harmless() {
		return nil
	}
	for _, a := range inv.Access {
		if a.Changes() && a != Anything {
			return Errorf(UnhandledException, "%s: a tool of kind %s that %s %s. This is a bug in the tool. "+
				"Nothing was run.",
				d.Name, d.kind(), a.Verb, a.Target)
		}
	}
	return nil
}

// scheduled returns the access that orders the call. A read-only tool may read the disk even if it declares no path for
// policy to judge.
func scheduled(k Kind, access []Access) []Access {
	if (k == Read || k == Search) && len(access) == 1 && access[0] == Nothing {
		return []Access{{Reads, "*"}}
	}
	return access
}

// tell returns the error of a Prepare as the outcome, if the model may read the paths that the error is about. again
// reports that these have changed meanwhile.
func (e *scheduledCall) tell(ctx context.Context, inv *Invocation, err error) (o Outcome, again bool) {
	if ctx.Err() != nil {
		return cancelled("%s: cancelled while preparing", e.decl.Name), false
	}
	if e.x.judge(e.request(*asReading(inv)), e.hook).Verdict == Allow {
		return told(err), false
	}
	if typeOf(err) == UnhandledException { // nothing to ask the user about
		return failed(StatusError, UnhandledException, "%s: the tool failed while preparing. This is a bug in the "+
			"tool. Nothing was run.", e.decl.Name), false
	}
	// The call is denied or needs approval exactly like a valid one: a different denial would reveal what exists.
	whole := asReading(inv)
	for _, a := range inv.Access {
		if !slices.Contains(whole.Access, a) {
			whole.Access = append(whole.Access, a)
		}
	}
	s, _ := e.decide(ctx, whole, nil)
	if s.end != nil {
		return *s.end, false
	}
	if s.again {
		return Outcome{}, true
	}
	return told(err), false
}

// told returns an error as the outcome for the model. An error with a method Told learns that the model sees it, which
// Prepare doesn't know: it may run again.
func told(err error) Outcome {
	var shown interface{ Told() }
	if errors.As(err, &shown) {
		shown.Told()
	}
	return errored(err)
}

// asReading returns inv as a request to read: whether the model may see the error of a call depends on whether it may
// read its targets.
func asReading(inv *Invocation) *Invocation {
	q := &Invocation{Description: inv.Description}
	for _, a := range inv.Access {
		if a.Verb == Writes { // an edit reveals the content
			a.Verb = Reads
		}
		if !slices.Contains(q.Access, a) {
			q.Access = append(q.Access, a)
		}
	}
	return q
}

// step is the result of a judgment: continue with a decision, prepare again, or end.
type step struct {
	decision Decision
	again    bool
	end      *Outcome
	no       bool // the user denied it
	unasked  bool // there is no user
}

// approval is the user's approval of an invocation.
type approval struct {
	shown    *Invocation
	own      bool // for arguments that the user edited
	decision Decision
}

// covers reports whether the approval is still valid after another Prepare. What the user edited may do less.
func (a *approval) covers(inv *Invocation) bool {
	switch {
	case a == nil:
		return false
	case a.own:
		return !slices.ContainsFunc(inv.Access, func(x Access) bool { return !slices.Contains(a.shown.Access, x) })
	}
	return slices.Equal(a.shown.Access, inv.Access) && a.shown.Description == inv.Description &&
		bytes.Equal(a.shown.Form, inv.Form) && reflect.DeepEqual(a.shown.Confirm, inv.Confirm)
}

// decide judges the call, and asks if necessary.
func (e *scheduledCall) decide(ctx context.Context, inv *Invocation, yes *approval) (step, *approval) {
	r := e.request(*inv)
	d := e.x.judge(r, e.hook)
	if e.untried != "" && d.Verdict != Allow {
		d.Reason = strings.TrimPrefix(d.Reason+"; "+e.untried, "; ")
	}
	switch {
	case d.Verdict == Deny:
		return e.stop(denial(inv.Description, d).outcome()), nil
	case d.Verdict == Allow:
		return step{decision: d}, yes
	case yes.covers(inv):
		return step{decision: yes.decision}, yes
	}
	a := e.ask(ctx, r, d, func() bool { return e.scheduler().isStale(e) })
	switch {
	case a.unasked && e.late != nil:
		return e.stop(errored(e.late)), nil
	case a.no:
		e.scheduler().refuse(e)
		return a, nil
	case a.again || a.end != nil:
		return a, nil
	case a.decision.Args != nil && !sameJSON(a.decision.Args, e.call.Args):
		e.call.Args = a.decision.Args
		by := "the user"
		if a.decision.Cause.Kind == ByHook {
			by = "a hook"
		}
		e.notes = []string{editedBy(by, a.decision.Args)}
		a.decision.Args = nil
		return step{again: true}, &approval{inv, true, a.decision}
	}
	return a, &approval{inv, false, a.decision}
}

// editedBy returns a note that says who edited the model's arguments.
func editedBy(who string, args json.RawMessage) string {
	return who + " edited this call. New arguments: " + humanize.Shorten(compactJSON(args), 2000)
}

func (e *scheduledCall) stop(o Outcome) step { return step{end: &o} }

// withNotes adds the notes for the model as last lines of the result.
func (e *scheduledCall) withNotes(inv *Invocation, o Outcome) Outcome {
	notes := slices.Concat(e.repairs, inv.Notes, e.notes)
	if len(notes) == 0 {
		return o
	}
	var b bytes.Buffer
	for _, n := range notes {
		b.WriteString("\nNote: " + oneLine(n))
	}
	parts := append([]Part(nil), o.Result.Content...)
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].(Text); ok {
			parts[n-1] = Text(bytes.TrimSuffix([]byte(t), []byte("\n"))) + Text(b.String())
			o.Result.Content = parts
			return o
		}
	}
	o.Result.Content = append(parts, Text(b.String()[1:]))
	return o
}

func sameJSON(a, b json.RawMessage) bool { return compactJSON(a) == compactJSON(b) }

func compactJSON(b json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return string(b)
	}
	return out.String()
}

// stopGrace is how long a cancelled Run can take to return before the call ends without it.
const stopGrace = 5 * time.Second

// ran is the result of a Run.
type ran struct {
	Result
	err error
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
func (e *scheduledCall) awaitRun(ctx context.Context, over chan ran) (result ran, stopped bool) {
	select {
	case result = <-over:
		return result, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case result = <-over:
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
func (e *scheduledCall) conclude(ctx, limited context.Context, inv *Invocation, r ran, stopped bool) Outcome {
	o := Outcome{Status: StatusSuccess, Result: r.Result}
	switch {
	case r.err == nil:
	case ctx.Err() != nil && (errors.Is(r.err, context.Canceled) || errors.Is(r.err, ctx.Err())):
		o = withResult(cancelled("%s: cancelled while running", inv.Description), r.Result)
	case limited.Err() != nil && errors.Is(r.err, context.DeadlineExceeded):
		o = withResult(failed(StatusError, ExecutionTimeout, "%s: timed out after %s", inv.Description, e.x.Timeout),
			r.Result)
	case errors.Is(r.err, ErrDenied):
		o = withResult(deniedBy(r.err), r.Result)
	default:
		o = withResult(errored(r.err), r.Result)
	}
	if !stopped {
		o.Error = &Failure{
			Type: o.Error.Type, Message: fmt.Sprintf("%s. It didn't stop within %s and may still be running.",
				o.Error.ForModel(), stopGrace),
		}
		o.Result = TextResult(o.Error.Message)
	}
	o.Result.Content, o.Saved = e.fit(o.Result.Content)
	return o
}
