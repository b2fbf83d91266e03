// Package approval is permission questions as data: what a call would do, the possible answers, the rules that an
// answer applies, forms, and proposals that the user can edit. Front ends draw a question and collect the answer.
package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Question is a permission question as data: what a call would do, why it needs approval, and the possible answers. A
// front end draws it, collects an [Answer], and calls Decide.
type Question struct {
	Request tool.Request
	Why     tool.Decision // of the policy; Offer has the rules that would allow the call
	Reason  string        // why it needs approval; "" if only the user can answer it
	Brief   string        // the same, without the path of a file that the description names

	Command  *tool.Command  // what would run or was tried
	Effects  *tool.Effects  // of a call that was tried, with the end of its output
	Diff     *tool.FileDiff // of a file that would be written
	Warnings []string

	Choices  []Choice
	Fields   []Field // of a form
	Invalid  error   // why the form can't be shown
	Parts    []Hunk  // hunks of the diff or changed files, which can be taken one by one
	Proposal string  // the text that the user can edit,
	File     string  // and its file name

	rules Rules
}

// Front asks a user a question.
type Front func(context.Context, *Question) (tool.Decision, error)

// Scope is how long a rule applies.
type Scope string

// The scopes, shortest first.
const (
	ForSession Scope = "session"
	ForProject Scope = "project"
	ForUser    Scope = "user"
)

// Rules are the rules that questions are about. The zero value has none.
type Rules struct {
	Policy  *permission.Policy
	Save    func(scope Scope, offer string) (path string, err error) // nil: rules can't be saved here
	Sandbox string                                                   // the setting tools.sandbox
}

// Asker returns an asker that makes questions for a front end.
func (s Rules) Asker(front Front) tool.Asker {
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		return front(ctx, s.Question(r, why))
	}
}

// Question returns the question about a call.
func (s Rules) Question(r tool.Request, why tool.Decision) *Question {
	q := &Question{Request: r, Why: why, rules: s}
	if !r.MustAsk { // a question that only the user can answer needs no reason
		q.Reason, q.Brief = why.Why(), s.brief(r, why)
	}
	switch c := r.Confirm.(type) {
	case tool.Command:
		q.Command, q.Warnings = &c, c.Warnings
		q.Proposal, q.File = c.Line, "command.sh"
	case tool.Effects:
		q.Command, q.Effects, q.Warnings = &c.Command, &c, c.AllWarnings()
		for _, change := range c.Changes {
			q.Parts = append(q.Parts, Hunk{Diff: change.Diff})
		}
	case tool.FileDiff:
		q.Diff, q.Warnings = &c, c.Warnings
		if r.Rework != nil {
			q.Parts = Hunks(c)
		}
		if len(c.Files) == 0 {
			q.Proposal, q.File = c.New, c.File
		}
	}
	if len(r.Form) > 0 {
		q.Fields, q.Invalid = ReadForm(r.Form)
		if _, plan := r.Confirm.(tool.Plan); plan && len(q.Fields) > 0 {
			q.Fields[0].yes = true
		}
	}
	q.Choices = q.choices()
	return q
}

// brief is the reason of a decision, without the path of a file that the question names anyway.
func (s Rules) brief(r tool.Request, why tool.Decision) string {
	if why.Cause.Kind != tool.ByMode {
		return why.Why()
	}
	mode := why.Cause.Mode + " mode"
	switch {
	case s.Policy != nil && s.Policy.OnlyEdits(r):
		return "writes in the workspace (" + mode + ")"
	case why.Reason == "":
		return mode
	}
	return why.Reason + " (" + mode + ")"
}

// Tried reports whether the question is about effects of a call that was tried: they can be kept or discarded.
func (q *Question) Tried() bool { return q.Effects != nil && len(q.Effects.Changes) > 0 }

// Editable reports whether the user can edit what the call proposes.
func (q *Question) Editable() bool { return q.File != "" && q.Request.Rework != nil }

// Reason is something about a call, and what decided about it.
type Reason struct{ What, Why string }

// Understood returns the policy's reading of a command.
func (q *Question) Understood() []Reason {
	if q.rules.Policy == nil {
		return nil
	}
	var out []Reason
	for _, c := range q.rules.Policy.Understood(q.Request) {
		out = append(out, Reason{c.Text, c.Why})
	}
	return out
}

// Explain returns what decided about a call: about each simple command of it, the sandbox, and the smallest rule.
func (q *Question) Explain() []Reason {
	out := q.Understood()
	if c := q.Command; c != nil && q.Effects == nil && c.Sandbox != "" {
		text := c.Sandbox
		if text == "off" {
			text = fmt.Sprintf("off (tools.sandbox: %s); \"workspace\" would sandbox it", q.rules.Sandbox)
		}
		out = append(out, Reason{"sandbox", text})
	}
	if len(out) == 0 {
		out = []Reason{{"why", q.Why.Why()}}
	}
	if len(q.Why.Offer) > 0 {
		out = append(out, Reason{"smallest rule", RuleList(q.Why.Offer[0])})
	}
	return out
}

// Settled reports whether the rules allow the call now, so that the executor withdraws the question.
func (q *Question) Settled() bool {
	return !q.Request.MustAsk && q.Why.Cause.Kind != tool.ByHook && q.rules.Policy != nil &&
		q.rules.Policy.Judge(q.Request).Verdict == tool.Allow
}

// allow applies a rule, and saves it if the scope is longer than the session. It returns the file.
func (q *Question) allow(rule string, scope Scope) (path string, err error) {
	if scope != ForSession {
		if q.rules.Save == nil {
			return "", errors.New("rules can't be saved here")
		}
		if path, err = q.rules.Save(scope, rule); err != nil {
			return "", fmt.Errorf("can't save the rule: %w", err)
		}
	}
	if q.rules.Policy != nil {
		q.rules.Policy.Remember(q.Request, rule)
	}
	return path, nil
}

// RuleList returns the rules of an offer on one line. A rule for one version of a tool is shown without the
// fingerprint.
func RuleList(offer string) string {
	rules := permission.SplitOffer(offer)
	for i, rule := range rules {
		if name, bound := permission.Bound(rule); bound {
			rule = name + " (this version)"
		}
		rules[i] = tool.Visible(rule)
	}
	return strings.Join(rules, ", ")
}

// Beyond returns what a text of the call says besides its description, which is shown above it.
func (q *Question) Beyond(text tool.Literal) string {
	about := q.Request.Description
	first, rest, _ := strings.Cut(string(text), "\n")
	if n := len(first); n > 0 && n == len(about) && strings.EqualFold(first[:1], about[:1]) && first[1:] == about[1:] {
		return strings.Trim(rest, "\n")
	}
	return string(text)
}
