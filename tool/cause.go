package tool

import (
	"fmt"
	"strings"
)

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
	ByNobody  CauseKind = "no-policy" // no policy is set
)

// Cause is where a Decision comes from. Code that depends on the cause reads it; texts are made from it by
// [Decision.Why].
type Cause struct {
	Kind  CauseKind `json:"kind"`
	Mode  string    `json:"mode,omitempty"`  // the approval mode, for ByMode; "plan" in plan mode, whatever decided
	Rules []Rule    `json:"rules,omitempty"` // the rules that decided, for ByRule
}

// Rule is a permission rule, as its author wrote it.
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
		for i, r := range c.Rules {
			if i == maxNamedRules {
				names = append(names, fmt.Sprintf("%d more", len(c.Rules)-i))
				break
			}
			names = append(names, r.String())
		}
		return strings.Join(names, ", ")
	case ByMustAsk:
		return "only the user can approve this"
	case ByHook:
		return "a hook requires approval"
	case ByTrust:
		return "the server is trusted in settings"
	case ByNobody:
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

// Why is the reason for a decision in one line, for users and models: "writes /tmp/x (mode: default)".
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
