package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool/schema"
)

// ErrorType is the documented name of a failure, in a result's error.type.
type ErrorType string

// The documented types that this package uses. Tools return their own documented types with [Error].
const (
	InvalidParams      ErrorType = "invalid_tool_params"
	NotRegistered      ErrorType = "tool_not_registered"
	ExecutionDenied    ErrorType = "execution_denied"
	ExecutionFailed    ErrorType = "execution_failed"
	ExecutionTimeout   ErrorType = "execution_timeout"
	UnhandledException ErrorType = "unhandled_exception"
	OutputTruncated    ErrorType = "output_truncated"
	Cancelled          ErrorType = "cancelled"
	FileNotFound       ErrorType = "file_not_found"
	PermissionDenied   ErrorType = "permission_denied"
)

// Error is a failure with a documented type. Its text is for the model: what failed, the cause, and the next step.
type Error struct {
	Type ErrorType
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error.
func Errorf(t ErrorType, format string, args ...any) error {
	return &Error{t, fmt.Errorf(format, args...)}
}

// ParamError lists all invalid parameters of a call. It is final: the same arguments never become valid later.
type ParamError = schema.Error

// Violation is one invalid parameter.
type Violation = schema.Violation

// BadParam returns a ParamError about one parameter, for what a schema can't express.
func BadParam(param, format string, args ...any) error {
	return schema.Invalid(param, format, args...)
}

// typeOf returns the documented type of an error.
func typeOf(err error) ErrorType {
	var typed *Error
	var params *ParamError
	switch {
	case errors.As(err, &typed):
		return typed.Type
	case errors.As(err, &params):
		return InvalidParams
	case errors.Is(err, ErrDenied):
		return ExecutionDenied
	case errors.Is(err, context.DeadlineExceeded):
		return ExecutionTimeout
	case errors.Is(err, fs.ErrNotExist):
		return FileNotFound
	case errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	}
	return ExecutionFailed
}

// CauseKind names the part of the system that made a Decision.
type CauseKind string

// The causes of a decision.
const (
	ByMode    CauseKind = "mode"      // the table of the approval mode: no rule applies
	ByRule    CauseKind = "rule"      // a rule from settings or from this session
	ByHook    CauseKind = "hook"      // a hook
	ByMustAsk CauseKind = "must-ask"  // the tool says that only the user can approve this
	BySandbox CauseKind = "sandbox"   // the sandbox can't enforce what was granted, or protects what is written
	ByFailure CauseKind = "failure"   // the policy failed, or couldn't judge the call
	ByTrust   CauseKind = "trust"     // the user trusts the server that the tool comes from
	ByUser    CauseKind = "user"      // the user answered a prompt
	NoPolicy  CauseKind = "no-policy" // no policy is set
)

// Cause is where a Decision comes from. Code that depends on the cause reads it; texts are made from it by
// [Decision.Why].
type Cause struct {
	Kind  CauseKind `json:"kind"`
	Mode  string    `json:"mode,omitempty"`  // the approval mode, for ByMode; "plan" in plan mode, whatever decided
	Rules []Rule    `json:"rules,omitempty"` // the rules that decided, for ByRule
}

// Rule is a permission rule as written.
type Rule struct {
	List     string `json:"list"` // allow, ask or deny
	Text     string `json:"text"`
	Source   string `json:"source,omitempty"`   // settings file with line and column; "" if unknown
	Possible bool   `json:"possible,omitempty"` // it can't be decided whether the rule matches
}

// String describes the rule: "deny rule Shell(rm) in settings.json:3:5".
func (r Rule) String() string {
	s := r.List + " rule " + Visible(strings.ReplaceAll(r.Text, "\n", `\n`))
	if r.Possible {
		s = "may match " + s
	}
	if r.Source != "" {
		s += " in " + Visible(r.Source)
	}
	return s
}

// maxNamedRules is how many rules a text names before it counts the rest.
const maxNamedRules = 3

func (c Cause) String() string {
	switch c.Kind {
	case ByMode:
		return "mode: " + c.Mode
	case ByRule:
		var names []string
		for _, r := range c.Rules {
			names = append(names, r.String())
		}
		return humanize.List(names, maxNamedRules)
	case ByMustAsk:
		return "only the user can approve this"
	case ByHook:
		return "a hook requires approval"
	case ByTrust:
		return "the server is trusted in settings"
	case NoPolicy:
		return "no policy is set"
	}
	return ""
}

// planMode is the mode in which no hook can approve a call.
const planMode = "plan"

// userOnly reports whether only the user can answer this Ask.
func (d Decision) userOnly() bool { return d.Cause.Mode == planMode }

// UserOnly reports whether no hook can answer this Ask: in plan mode, and where a hook or the tool requires the user.
func (d Decision) UserOnly() bool {
	return d.userOnly() || d.Cause.Kind == ByHook || d.Cause.Kind == ByMustAsk
}

// Why returns the reason for a decision in one line, for users and models: "writes /tmp/x (mode: default)".
func (d Decision) Why() string {
	cause := d.Cause.String()
	switch {
	case cause == "" || d.Verdict == Allow && (d.Cause.Kind == ByMode || d.Cause.Kind == ByHook):
		return d.Reason
	case d.Reason == "":
		return cause
	}
	return d.Reason + " (" + cause + ")"
}

// ErrChanged is in the chain of the error of a Trial that is useless because something else changed the same files
// meanwhile. The user is asked whether to run the call instead; without a user the error is the result.
var ErrChanged = errors.New("changed meanwhile")

// ErrDenied is in the chain of every error for a denied call, such as the one [Live].Ask returns.
var ErrDenied = errors.New("permission denied")

// DenialError is the error of a denied call: one text for the model and one for the user.
type DenialError struct {
	Model string // what was denied, why, and what to do next; names no flag
	User  string // what was denied, why, and the rule or flag that would allow it, on their own lines
}

// Error returns the text for the model.
func (e *DenialError) Error() string { return e.Model }

// Unwrap returns ErrDenied.
func (e *DenialError) Unwrap() error { return ErrDenied }

// Unapproved returns the error of a call that requires approval and can't get it. obstacle says why, as a clause: "this
// session is non-interactive". Flags are command-line flags that would allow the call; the user's text names them after
// the narrowest rule of why.Offer.
func Unapproved(r Request, why Decision, obstacle string, flags ...string) *DenialError {
	next := continueWithout
	if r.MustAsk {
		next = "Continue without it, and put your question in your final answer."
	}
	reason := why.Why()
	return &DenialError{
		Model: "Permission denied: " + sentences(r.Description+because(reason), "it requires approval, and "+obstacle,
			next),
		User: joinLines("permission denied: "+r.Description, sentences(reason, obstacle), why.Remedy(flags...)),
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

// quoteRules writes the rules of an offer as they are written in settings: "Shell(make)", "Shell(rm x)".
func quoteRules(offer string) string {
	rules := strings.Split(offer, "\n")
	for i, r := range rules {
		if quoted, err := humanize.JSON(Visible(r)); err == nil {
			rules[i] = string(quoted)
		}
	}
	return strings.Join(rules, ", ")
}

// continueWithout is the next step for the model after most denials.
const continueWithout = "Continue without it, or tell the user what you need."

// denial returns the error of a call that policy, a hook or the user denied.
func denial(what string, d Decision) *DenialError {
	reason, next, note := d.Why(), continueWithout, ""
	switch d.Cause.Kind {
	case ByHook:
		reason = "denied by a hook" + because(d.Reason)
	case ByUser:
		return &DenialError{
			Model: "Permission denied: " + sentences(what+": denied by the user"+because(d.Reason),
				"don't retry it", "ask what they want instead, or continue without it"),
			User: what + ": denied" + because(d.Reason),
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

// skipped returns the error of a call that depends on an earlier one that the user denied.
func skipped(what, earlier string) *DenialError {
	return &DenialError{
		Model: fmt.Sprintf("Skipped: %s depends on an earlier call in this turn (%s) that the user denied.", what,
			earlier),
		User: fmt.Sprintf("skipped: %s depends on %s, which you denied", what, earlier),
	}
}

// deniedBy returns the outcome of an error with ErrDenied in its chain, such as that of an AI ignore file.
func deniedBy(err error) Outcome {
	d := &DenialError{Model: err.Error(), User: err.Error()}
	if told := (*DenialError)(nil); errors.As(err, &told) {
		d.User = told.User
	}
	return d.outcome()
}

// outcome returns the end of a call that was denied.
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
