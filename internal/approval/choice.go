package approval

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Act is what a choice does.
type Act uint8

// The acts. Those from View on don't answer the question.
const (
	Once   Act = iota // approve the call, keep all effects, or send the form
	Always            // the same, with a rule for calls like it
	Parts             // approve some hunks, or keep some changed files
	Edit              // approve an edited text
	Deny              // or discard the effects
	Rerun             // discard the effects and run the call, with network
	View
	Explain
)

// Choice is a possible answer, as front ends offer it. A front end omits the choices for which it has no key.
type Choice struct {
	Act   Act
	Rule  string // that Always applies,
	Scope Scope  // and how long

	Key, Label   string // on a screen: "y", "once"
	Letter, Line string // in a prompt that reads lines: "y", "yes, once"
	Help         string // about it
	Number       int    // for screen readers
	Spoken       string // 1, "yes"
}

// choices returns the answers that apply, in the order in which front ends list them.
func (q *Question) choices() []Choice {
	tried := q.Tried()
	once := Choice{
		Act: Once, Key: "y", Label: "once", Letter: "y", Line: "yes, once", Number: 1, Spoken: "yes",
		Help: "approve this call only",
	}
	deny := Choice{
		Act: Deny, Key: "n", Label: "no, because …", Letter: "n", Line: "no", Number: 3, Spoken: "no",
		Help: "deny this call; type n and a reason to send the reason to the model",
	}
	view := Choice{Act: View, Key: "v", Label: "view", Number: 4, Spoken: "read it"}
	explain := Choice{Act: Explain, Key: "w", Label: "why"}
	switch {
	case len(q.Request.Form) > 0:
		once.Label, once.Spoken, once.Help = "answer", "answer", "answer the questions of this form"
	case tried:
		once.Label, once.Line, once.Spoken, once.Help = "keep", "keep", "keep", "keep what the command changed"
		view.Label, view.Spoken = "diff", "read the diff"
		deny.Key, deny.Label, deny.Letter, deny.Line, deny.Spoken = "d", "discard", "d", "discard", "discard"
		deny.Help = "discard it; type d and a reason to send the reason to the model"
	}
	always, parts := q.always(), q.parts()
	if !tried {
		out := append(append([]Choice{once}, always...), parts...)
		if q.Editable() {
			out = append(out, Choice{
				Act: Edit, Key: "e", Label: "edit", Letter: "e", Line: "edit",
				Help: "edit the proposed text in your editor ($VISUAL or $EDITOR), then approve it",
			})
		}
		return append(out, deny, explain, view)
	}
	out := append(append([]Choice{once}, parts...), always...)
	out = append(out, deny, view)
	if q.Effects.CanRunAgain() {
		out = append(out, Choice{
			Act: Rerun, Key: "r", Label: "run again with network …", Letter: "r", Line: "run again with network",
			Number: 6, Spoken: "run again with network",
			Help: "discard it and run the command again, with your permissions and the network; asks first",
		})
	}
	return append(out, explain)
}

// parts returns the choice of some parts, if there are several.
func (q *Question) parts() []Choice {
	switch {
	case len(q.Parts) < 2:
		return nil
	case q.Tried():
		return []Choice{{
			Act: Parts, Key: "h", Label: "choose files", Letter: "f", Line: "choose files", Number: 5, Spoken: "choose files",
			Help: "keep only some of it",
		}}
	}
	return []Choice{{Act: Parts, Key: "h", Label: "by hunk"}}
}

// always returns the choices that apply a rule: on a screen one, which lets the user choose the rule and the scope.
func (q *Question) always() []Choice {
	if len(q.Why.Offer) == 0 {
		return nil
	}
	yes, spoken, help := "yes", "always in this session", "approve this call, and calls that match the rule for the rest of this session"
	if q.Tried() {
		yes, spoken, help = "keep", "keep always in this session", "keep it, and changes that match the rule for the rest of this session"
	}
	narrow := q.Why.Offer[0]
	out := []Choice{
		{Act: Always, Rule: narrow, Scope: ForSession, Key: "a", Label: "always", Number: 2, Spoken: spoken + " (" + RuleList(narrow) + ")"},
		{Act: Always, Rule: q.sessionRule(), Scope: ForSession, Letter: "s", Line: yes + ", for this session", Help: help},
	}
	if q.rules.Save == nil {
		return out
	}
	return append(out,
		Choice{
			Act: Always, Rule: narrow, Scope: ForProject, Letter: "p", Line: yes + ", always in this project",
			Help: "the same, and save the rule in this project's settings",
		}, Choice{
			Act: Always, Rule: narrow, Scope: ForUser, Letter: "u", Line: yes + ", always, all projects",
			Help: "the same, and save the rule in your own settings, for all projects",
		})
}

// sessionRule returns the rule that an approval for the session applies: the widest that was offered. For hosts it is the
// narrowest: an approval of one page is not an approval of every host.
func (q *Question) sessionRule() string {
	for _, a := range q.Request.Access {
		if a.Verb == tool.Reaches {
			return q.Why.Offer[0]
		}
	}
	return q.Why.Offer[len(q.Why.Offer)-1]
}

// Find returns the first choice for which is holds.
func (q *Question) Find(is func(Choice) bool) (Choice, bool) {
	for _, c := range q.Choices {
		if is(c) {
			return c, true
		}
	}
	return Choice{}, false
}

// Typed returns the choice that a typed line stands for, and the reason that follows a no: "s", "yes", "no: use make".
func (q *Question) Typed(line string) (c Choice, reason string, ok bool) {
	if reason, no := IsNo(line); no { // also instead of "discard"
		c, ok = q.Find(func(c Choice) bool { return c.Act == Deny })
		return c, reason, ok
	}
	letter := strings.ToLower(line)
	switch letter {
	case "a", "always":
		letter = "s"
	case "yes", "session", "project", "user", "edit", "files", "run":
		letter = letter[:1]
	}
	if c, ok = q.Find(func(c Choice) bool { return letter != "" && c.Letter == letter }); ok {
		return c, "", true
	}
	word, reason := cutReason(line)
	c, ok = q.Find(func(c Choice) bool { return c.Act == Deny && (word == c.Letter || word == c.Line) })
	return c, reason, ok
}

// IsYes reads a yes.
func IsYes(typed string) bool {
	typed = strings.ToLower(typed)
	return typed == "y" || typed == "yes"
}

// IsNo reads a no and an optional reason: "n", "no: use make instead", "n because it is not needed".
func IsNo(typed string) (reason string, ok bool) {
	word, reason := cutReason(typed)
	return reason, word == "n" || word == "no"
}

// cutReason cuts a typed line into its first word, in lower case, and a reason.
func cutReason(typed string) (word, reason string) {
	word = typed
	if i := strings.IndexAny(typed, " \t:,"); i >= 0 {
		word, reason = typed[:i], strings.TrimLeft(typed[i:], " \t:,")
	}
	if len(reason) > len("because ") && strings.EqualFold(reason[:len("because ")], "because ") {
		reason = strings.TrimSpace(reason[len("because "):])
	}
	return strings.ToLower(word), reason
}

// Answer is what the user chose.
type Answer struct {
	Act   Act
	Rule  string         // of Always
	Scope Scope          //
	Text  string         // the reason of Deny, or the edited text
	Take  []bool         // which Parts are taken
	Form  map[string]any // the answers to the fields of a form
}

// Outcome is the decision that follows from an answer.
type Outcome struct {
	tool.Decision
	Saved string // the file in which a rule was saved
}

// Decide returns what follows from an answer. It applies and saves the rule of Always. After an error the question is
// still open.
func (q *Question) Decide(a Answer) (Outcome, error) {
	d := tool.Decision{Verdict: tool.Allow}
	switch a.Act {
	case Once:
		if a.Form != nil {
			raw, err := json.Marshal(a.Form)
			if err != nil {
				return Outcome{}, err
			}
			d.Answer = raw
		}
	case Always:
		path, err := q.allow(a.Rule, a.Scope)
		d.Remember = a.Rule
		return Outcome{d, path}, err
	case Parts:
		return q.take(a.Take)
	case Edit:
		if q.Request.Rework == nil {
			return Outcome{}, errors.New("this call can't use the edited text")
		}
		d.Args = q.Request.Rework(a.Text)
	case Rerun: // without effects, the question is whether to run it
		d.Direct = q.Tried()
	case Deny:
		d = tool.Decision{Verdict: tool.Deny, Reason: a.Text}
	default:
		return Outcome{}, errors.New("this isn't an answer")
	}
	return Outcome{Decision: d}, nil
}

// take approves some hunks, or keeps some changed files.
func (q *Question) take(take []bool) (Outcome, error) {
	d := tool.Decision{Verdict: tool.Allow}
	var paths []string
	n := 0
	for i := range q.Parts {
		if take[i] {
			n++
			if q.Tried() {
				paths = append(paths, q.Effects.Changes[i].Path)
			}
		}
	}
	switch {
	case q.Tried():
		d = Keep(paths)
	case n < len(q.Parts):
		text, ok := Take(*q.Diff, q.Parts, take)
		if !ok {
			return Outcome{}, errors.New("this call can't be divided")
		}
		return q.Decide(Answer{Act: Edit, Text: text})
	}
	return Outcome{Decision: d}, nil
}

// Keep returns the approval of some of the effects of a tried call, by their paths.
func Keep(paths []string) tool.Decision {
	answer, _ := json.Marshal(struct { // strings
		Keep []string `json:"keep"`
	}{append([]string{}, paths...)})
	return tool.Decision{Verdict: tool.Allow, Answer: answer}
}
