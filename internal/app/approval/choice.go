package approval

import (
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Act is what a choice does.
type Act uint8

// The acts. The zero value denies; those from View on don't answer the question.
const (
	Deny   Act = iota // or discard the effects
	Once              // approve the call, keep all effects, or send the form
	Always            // the same, with a rule for calls like it
	Parts             // approve some hunks, or keep some changed files
	Edit              // approve an edited text
	Rerun             // discard the effects and run the call, with network
	View
	Explain
)

// Style is a way to draw choices.
type Style uint8

// The styles.
const (
	Screen Style = iota // keys
	Lines               // letters that are typed
	Spoken              // numbers, for screen readers
	Editor              // buttons
)

// Key is what chooses something, and what it is called there. Without a key a style doesn't offer it.
type Key struct{ Key, Label string }

// Choice is a possible answer.
type Choice struct {
	Act   Act
	Rule  string // that Always applies,
	Scope Scope  // and how long
	Help  string
	Keys  [4]Key // by Style
}

// choices returns the answers that apply, in the order of a screen.
func (q *Question) choices() []Choice {
	once := Choice{
		Act: Once, Help: "approve this call only",
		Keys: [4]Key{{"y", "once"}, {"y", "yes, once"}, {"1", "yes"}, {"once", "Allow once"}},
	}
	if len(q.Request.Form) > 0 {
		once.Keys[Screen].Label, once.Keys[Spoken].Label, once.Help = "answer", "answer",
			"answer the questions of this form"
	}
	explain := Choice{Act: Explain, Keys: [4]Key{Screen: {"w", "why"}, Spoken: {"7", "why"}}}
	if q.Tried() {
		once.Help, once.Keys = "keep what the command changed", [4]Key{{"y", "keep"}, {"y", "keep"}, {"1", "keep"},
			{"once", "Keep"}}
		out := []Choice{once}
		if len(q.Parts) > 1 {
			out = append(out, Choice{
				Act: Parts, Help: "keep only some of it",
				Keys: [4]Key{{"h", "choose files"}, {"f", "choose files"}, {"5", "choose files"}},
			})
		}
		out = append(append(out, q.always("keep", "keep it, and changes")...), Choice{
			Act: Deny, Help: "discard it; type d and a reason to send the reason to the model",
			Keys: [4]Key{{"d", "discard"}, {"d", "discard"}, {"3", "discard"}, {"no", "Discard"}},
		}, Choice{Act: View, Keys: [4]Key{{"v", "diff"}, {}, {"4", "read the diff"}}})
		if q.Effects.CanRunAgain() {
			const again = "run again with network"
			out = append(out, Choice{
				Act: Rerun, Help: "discard it and run the command again, with your permissions and the " +
					"network; asks first",
				Keys: [4]Key{{"r", again + " …"}, {"r", again}, {"6", again}, {"run", "Discard, and " + again + " …"}},
			})
		}
		return append(out, explain)
	}
	out := append([]Choice{once}, q.always("yes", "approve this call, and calls")...)
	if len(q.Parts) > 1 {
		out = append(out, Choice{Act: Parts, Keys: [4]Key{Screen: {"h", "by hunk"}, Spoken: {"6", "by hunk"}}})
	}
	if q.Editable() {
		edit := Choice{
			Act: Edit, Help: "edit the proposed text in your editor ($VISUAL or $EDITOR), then approve it",
			Keys: [4]Key{{"e", "edit"}, {"e", "edit"}},
		}
		if q.Command != nil { // it is typed
			edit.Keys[Spoken] = Key{"5", "edit"}
		}
		out = append(out, edit)
	}
	return append(out, Choice{
		Act: Deny, Help: "deny this call; type n and a reason to send the reason to the model",
		Keys: [4]Key{{"n", "no, because …"}, {"n", "no"}, {"3", "no"}, {"no", "No"}},
	}, explain, Choice{Act: View, Keys: [4]Key{{"v", "view"}, {}, {"4", "read it"}}})
}

// always returns the choices that apply a rule. On a screen it is one, and the user then chooses the rule and the
// scope.
func (q *Question) always(yes, approve string) []Choice {
	if len(q.Why.Offer) == 0 {
		return nil
	}
	narrow := q.Why.Offer[0]
	spoken := strings.TrimPrefix(yes+" always in this session (", "yes ") + RuleList(narrow) + ")"
	out := []Choice{{
		Act: Always, Rule: narrow, Scope: ForSession, Keys: [4]Key{Screen: {"a", "always"}, Spoken: {"2", spoken}},
	}, {
		Act: Always, Rule: q.sessionRule(), Scope: ForSession, Keys: [4]Key{Lines: {"s", yes + ", for this session"}},
		Help: approve + " that match the rule for the rest of this session",
	}}
	if q.rules.Save == nil {
		return out
	}
	user := Choice{
		Act: Always, Rule: narrow, Scope: ForUser, Help: "the same, and save the rule in your own settings, for " +
			"all projects",
		Keys: [4]Key{Lines: {"u", yes + ", always, all projects"}, Spoken: {"9", "always in all projects"}},
	}
	if !q.ForProject() {
		user.Keys[Editor] = Key{"always", "Always allow " + RuleList(narrow)}
		return append(out, user)
	}
	return append(out, Choice{
		Act: Always, Rule: narrow, Scope: ForProject, Help: "the same, and save the rule in this project's settings",
		Keys: [4]Key{
			Lines: {"p", yes + ", always in this project"}, Editor: {"always", "Always allow " + RuleList(narrow)},
			Spoken: {"8", "always in this project"},
		},
	}, user)
}

// ForProject reports whether a rule for the call can be saved in the project's settings. Those can't allow hosts.
func (q *Question) ForProject() bool {
	return !slices.ContainsFunc(q.Why.Offer, permission.IsNetwork)
}

// sessionRule returns the rule that an approval for the session applies: the widest that was offered. For hosts it is
// the narrowest: an approval of one page is not an approval of every host.
func (q *Question) sessionRule() string {
	for _, a := range q.Request.Access {
		if a.Verb == tool.Reaches {
			return q.Why.Offer[0]
		}
	}
	return q.Why.Offer[len(q.Why.Offer)-1]
}

// List returns the choices that a style offers, in the order in which it lists them.
func (q *Question) List(s Style) []Choice {
	out := slices.DeleteFunc(slices.Clone(q.Choices), func(c Choice) bool { return c.Keys[s].Key == "" })
	sort.SliceStable(out, func(i, j int) bool {
		switch s {
		case Spoken:
			return out[i].Keys[s].Key < out[j].Keys[s].Key
		case Editor:
			return out[i].Act != Deny && out[j].Act == Deny
		}
		return false
	})
	return out
}

// Find returns the choice that a key stands for in a style.
func (q *Question) Find(s Style, key string) (Choice, bool) {
	i := slices.IndexFunc(q.Choices, func(c Choice) bool { return key != "" && c.Keys[s].Key == key })
	if i < 0 {
		return Choice{}, false
	}
	return q.Choices[i], true
}

// Typed returns the choice that a typed line stands for, and the reason that follows a no: "s", "yes", "no: use make".
func (q *Question) Typed(s Style, line string) (c Choice, reason string, ok bool) {
	if s == Spoken {
		number, reason, _ := strings.Cut(line, " ")
		c, ok = q.Find(s, number)
		return c, reason, ok
	}
	if c, ok = q.Find(s, letter(line)); ok {
		return c, "", true
	}
	word, reason := cutReason(line)
	if c, ok = q.Find(s, letter(word)); ok && c.Act == Deny {
		return c, reason, true
	}
	if word == "n" || word == "no" { // instead of "discard"
		c, ok = q.Find(s, "d")
		return c, reason, ok
	}
	return Choice{}, "", false
}

// letter returns the letter of a word for an answer.
func letter(word string) string {
	switch word = strings.ToLower(word); word {
	case "a", "always":
		return "s"
	case "yes", "no", "session", "project", "user", "edit", "files", "discard", "run":
		return word[:1]
	}
	return word
}

// IsYes reports whether a typed answer means yes.
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
		d = q.take(a.Take)
	case Edit:
		if q.Request.Rework == nil {
			return Outcome{}, errors.New("this call can't use the edited text")
		}
		d.Args = q.Request.Rework(&a.Text)
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
func (q *Question) take(take []bool) tool.Decision {
	if q.Tried() {
		var paths []string
		for i, c := range q.Effects.Changes {
			if take[i] {
				paths = append(paths, c.Path)
			}
		}
		return Keep(paths)
	}
	d := tool.Decision{Verdict: tool.Allow}
	if slices.Contains(take, false) {
		d.Args = q.Request.Rework(taken(*q.Diff, q.Parts, take)...)
	}
	return d
}

// Keep returns the approval of some of the effects of a tried call, by their paths.
func Keep(paths []string) tool.Decision {
	answer, _ := json.Marshal(struct { // strings
		Keep []string `json:"keep"`
	}{append([]string{}, paths...)})
	return tool.Decision{Verdict: tool.Allow, Answer: answer}
}
