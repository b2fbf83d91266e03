package tool

import "context"

// Preview prepares a call and judges it, and does no more: the page's getDescription and shouldConfirmExecute, seen
// from outside. The error is what the model would be told of a call that cannot be done.
func (x *Executor) Preview(ctx context.Context, c Call) (Request, Decision, error) {
	c.By = x.by
	t, err := x.Registry.Lookup(c.Name)
	if err != nil {
		return Request{Call: c}, Decision{}, err
	}
	d := t.Declaration()
	inv, err := prepareSafely(ctx, t, d, c.Args)
	r := Request{Call: c, Declaration: d, Invocation: *inv}
	r.Run = nil
	if err == nil {
		return r, x.judge(r, Allow), nil
	}
	if typeOf(err) == InvalidParams {
		return r, Decision{}, err
	}
	about := Request{Call: c, Declaration: d, Invocation: *asReading(inv)}
	if why := x.judge(about, Allow); why.Verdict != Allow {
		return r, why, Errorf(ExecutionDenied, "%s: refused%s", inv.Description, because(why.Reason))
	}
	return r, Decision{}, err
}

// TypeOf is the documented type of an error, as an outcome would have it.
func TypeOf(err error) ErrorType { return typeOf(err) }
