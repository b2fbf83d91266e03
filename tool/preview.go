package tool

import (
	"context"
	"slices"
)

// Preview prepares a call and judges it, without asking or running. The error is the one that the model would get.
func (x *Executor) Preview(ctx context.Context, c Call) (Request, Decision, error) {
	c.By = x.by
	t, err := x.Registry.Lookup(c.Name)
	if err != nil {
		return Request{Call: c}, Decision{}, err
	}
	d := t.Declaration()
	inv, err := prepareSafely(ctx, t, d, c.Args)
	if typeOf(err) == InvalidParams {
		return Request{Call: c, Declaration: d}, Decision{}, err
	}
	r := Request{Call: c, Declaration: d, Invocation: *inv}
	r.Run, r.Trial = nil, nil
	about := Request{Call: c, Declaration: d, Invocation: *asReading(inv)}
	if x.judge(about, hooked{}).Verdict != Allow {
		// Who asks may not read what this is about: neither a diff nor an error tells them.
		err = nil
		if slices.ContainsFunc(r.Access, holdsContent) {
			r.Confirm = nil
		}
	}
	if err != nil {
		return r, Decision{}, err
	}
	return r, x.judge(r, hooked{}), nil
}

// holdsContent reports whether a question about an access may show what is there. One about a command or a host shows
// what the call says.
func holdsContent(a Access) bool {
	return a == Anything || a.Verb == Reads || a.Verb == Writes
}

// TypeOf returns the documented type of an error, as in an outcome.
func TypeOf(err error) ErrorType { return typeOf(err) }
