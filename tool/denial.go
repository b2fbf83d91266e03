package tool

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrDenied is in the chain of every error that stands for a denied call, such as the one [Live].Ask returns.
var ErrDenied = errors.New("permission denied")

// DenialError is the error of a denied call: one text for the model and one for the user.
type DenialError struct {
	Model string // what was denied, why, and what to do next; names no flag
	User  string // what was denied, why, and the rule or flag that would allow it, on lines of their own
}

// Error is the text for the model.
func (e *DenialError) Error() string { return e.Model }

// Unwrap is ErrDenied.
func (e *DenialError) Unwrap() error { return ErrDenied }

// Unapproved is the error of a call that requires approval and can't get it. obstacle says why, as a clause: "this
// session is non-interactive". Flags are command-line flags that would allow the call; the user's text names them after
// the narrowest rule of why.Offer.
func Unapproved(r Request, why Decision, obstacle string, flags ...string) *DenialError {
	next := continueWithout
	if r.MustAsk {
		next = "Continue without it, and put your question in your final answer."
	}
	reason := why.Why()
	return &DenialError{
		Model: "Permission denied: " + sentences(r.Description+because(reason), "it requires approval, and "+obstacle, next),
		User:  joinLines("permission denied: "+r.Description, sentences(reason, obstacle), why.Remedy(flags...)),
	}
}

// Remedy tells the user how to allow a call that requires approval: the narrowest rule first, then the flags. It is ""
// where nothing but the user's answer would allow it.
func (d Decision) Remedy(flags ...string) string {
	if d.Verdict != Ask {
		return ""
	}
	switch d.Cause.Kind {
	case ByMustAsk:
		return "Run it in an interactive session to answer."
	case ByHook:
		return ""
	case BySandbox:
		flags = nil
	}
	var ways []string
	if len(d.Offer) > 0 {
		ways = append(ways, "add to permissions.allow: "+quoteRules(d.Offer[0]))
	}
	if len(flags) > 0 {
		ways = append(ways, "run with "+strings.Join(flags, " or "))
	}
	if len(ways) == 0 {
		return ""
	}
	return "To allow it, " + strings.Join(ways, ", or ")
}

// quoteRules writes the rules of an offer as they stand in settings: "Shell(make:*)", "Shell(rm x)".
func quoteRules(offer string) string {
	rules := strings.Split(offer, "\n")
	for i, r := range rules {
		if quoted, err := marshal(Visible(r)); err == nil {
			rules[i] = string(quoted)
		}
	}
	return strings.Join(rules, ", ")
}

// continueWithout is the next step for the model after most denials.
const continueWithout = "Continue without it, or tell the user what you need."

// denial is the error of a call that policy, a hook or the user denied.
func denial(what string, d Decision) *DenialError {
	reason, next, note := d.Why(), continueWithout, ""
	switch d.Cause.Kind {
	case ByHook:
		reason = "denied by a hook" + because(d.Reason)
	case ByUser:
		return &DenialError{
			Model: "Permission denied: " + sentences(what+": denied by the user"+because(d.Reason),
				"don't retry it", "ask what they want instead, or continue without it"),
			User: "denied: " + what + because(d.Reason),
		}
	case ByMode:
		note = fmt.Sprintf("Only read-only calls are allowed in %s mode.", d.Cause.Mode)
		next = note + " Finish the plan and present it for approval."
	}
	return &DenialError{
		Model: "Permission denied: " + sentences(what+because(reason), next),
		User:  joinLines("permission denied: "+what, sentences(reason), note),
	}
}

// skipped is the error of a call that depends on an earlier one that the user denied.
func skipped(what, earlier string) *DenialError {
	return &DenialError{
		Model: fmt.Sprintf("Skipped: %s depends on an earlier call in this turn (%s) that the user denied.", what, earlier),
		User:  fmt.Sprintf("skipped: %s depends on %s, which you denied", what, earlier),
	}
}

// deniedBy is the outcome of an error with ErrDenied in its chain, such as that of an AI ignore file.
func deniedBy(err error) Outcome {
	d := &DenialError{Model: err.Error(), User: err.Error()}
	if told := (*DenialError)(nil); errors.As(err, &told) {
		d.User = told.User
	}
	return d.outcome()
}

// outcome is the end of a call that was denied.
func (e *DenialError) outcome() Outcome {
	return Outcome{
		Status: StatusDenied,
		Error:  &Failure{Type: ExecutionDenied, Message: e.User, Model: e.Model},
		Result: TextResult(e.Model),
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// sentences joins clauses: each but the first begins with a capital, and each ends with a period.
func sentences(clauses ...string) string {
	var out []string
	for i, c := range clauses {
		if c == "" {
			continue
		}
		if i > 0 {
			c = capitalized(c)
		}
		if !strings.ContainsAny(c[len(c)-1:], ".?!") {
			c += "."
		}
		out = append(out, c)
	}
	return strings.Join(out, " ")
}

func capitalized(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// joinLines joins lines that aren't empty. Those after the first begin with a capital.
func joinLines(first string, rest ...string) string {
	for _, l := range rest {
		if l != "" {
			first += "\n" + capitalized(l)
		}
	}
	return first
}
