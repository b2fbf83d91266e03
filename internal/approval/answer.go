package approval

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// IsYes reads a yes.
func IsYes(typed string) bool {
	typed = strings.ToLower(typed)
	return typed == "y" || typed == "yes"
}

// IsNo reads a no and an optional reason: "n", "no: use make instead", "n because it is not needed".
func IsNo(typed string) (reason string, ok bool) {
	word, reason := typed, ""
	if i := strings.IndexAny(typed, " \t:,"); i >= 0 {
		word, reason = typed[:i], strings.TrimLeft(typed[i:], " \t:,")
	}
	word = strings.ToLower(word)
	if len(reason) > len("because ") && strings.EqualFold(reason[:len("because ")], "because ") {
		reason = strings.TrimSpace(reason[len("because "):])
	}
	return reason, word == "n" || word == "no"
}

// SessionRule returns the rule that an approval for the session applies: the widest that was offered. For hosts it is the
// narrowest: an approval of one page is not an approval of every host.
func SessionRule(r tool.Request, why tool.Decision) string {
	if len(why.Offer) == 0 {
		return ""
	}
	for _, a := range r.Access {
		if a.Verb == tool.Reaches {
			return why.Offer[0]
		}
	}
	return why.Offer[len(why.Offer)-1]
}

// RuleList returns the rules of an offer on one line. A rule for one version of a tool is shown without the fingerprint.
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

// Step is an offer as the user reads it: its rules, and what they cover in a few words, if that can be said.
type Step struct{ Rules, Covers string }

// Ladder is the offers of a decision, from narrow to wide.
func Ladder(offers []string) []Step {
	var out []Step
	for _, offer := range offers {
		out = append(out, Step{RuleList(offer), permission.Extent(offer)})
	}
	return out
}

// Beyond is what a text of a permission prompt says besides the call's description, which is shown above it.
func Beyond(r tool.Request, text tool.Literal) string {
	first, rest, _ := strings.Cut(string(text), "\n")
	if n := len(first); n > 0 && n == len(r.Description) && strings.EqualFold(first[:1], r.Description[:1]) && first[1:] == r.Description[1:] {
		return strings.Trim(rest, "\n")
	}
	return string(text)
}

// Proposal returns the text that a call proposes and that the user can edit, and a name for its file. ok is false if there is none.
func Proposal(r tool.Request) (text, file string, ok bool) {
	switch shown := r.Confirm.(type) {
	case tool.FileDiff:
		text, file = shown.New, shown.File
	case tool.Command:
		text, file = shown.Line, "command.sh"
	default:
		return "", "", false
	}
	return text, file, r.Rework != nil
}

// Edited returns the approval of a proposal that the user edited. ok is false if the call can't use the text.
func Edited(r tool.Request, text string) (d tool.Decision, ok bool) {
	if r.Rework == nil {
		return tool.Decision{}, false
	}
	return tool.Decision{Verdict: tool.Allow, Args: r.Rework(text)}, true
}

// Keep returns the approval of some of the effects of a tried call, by their paths.
func Keep(paths []string) tool.Decision {
	answer, _ := json.Marshal(struct { // strings
		Keep []string `json:"keep"`
	}{append([]string{}, paths...)})
	return tool.Decision{Verdict: tool.Allow, Answer: answer}
}

// RunAgain discards the effects of a tried call and runs the call, with network.
func RunAgain(f tool.Effects) tool.Decision {
	return tool.Decision{Verdict: tool.Allow, Direct: len(f.Changes) > 0} // without effects, the question is whether to run it
}

// IsDiscard reads a "d", and an optional reason.
func IsDiscard(typed string) (reason string, ok bool) {
	word, reason, _ := strings.Cut(typed, " ")
	word = strings.ToLower(strings.TrimRight(word, ":,"))
	return strings.TrimSpace(reason), word == "d" || word == "discard"
}

// Numbers reads a choice of items: "1, 3-5". The error says what to type instead.
func Numbers(typed string, most int) ([]int, error) {
	wrong := fmt.Errorf("Enter numbers from 1 to %d, such as 1,3 or 2-4", most)
	var out []int
	for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to > most || from > to {
			return nil, wrong
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, wrong
	}
	return out, nil
}

// Picks returns the effects as parts to select, in the order of the changes.
func Picks(f tool.Effects) []Hunk {
	var out []Hunk
	for _, c := range f.Changes {
		out = append(out, Hunk{Diff: c.Diff})
	}
	return out
}

// limits are a form's limits on a typed answer. A server may check more.
type limits struct {
	Format    string
	MinLength *float64
	MaxLength *float64
	Minimum   *float64
	Maximum   *float64
	MinItems  *float64
	MaxItems  *float64
}

// text checks a text.
func (l limits) text(s string) error {
	n := float64(utf8.RuneCountInString(s))
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return fmt.Errorf("Use at least %g characters", *l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return fmt.Errorf("Use at most %g characters", *l.MaxLength)
	}
	switch l.Format {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return fmt.Errorf("Enter an email address, e.g. me@example.com")
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			return fmt.Errorf("Enter a URL, e.g. https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return fmt.Errorf("Enter a date, e.g. 2006-01-02")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err != nil {
			return fmt.Errorf("Enter a date and time, e.g. 2006-01-02T15:04:05Z")
		}
	}
	return nil
}

// number checks a number.
func (l limits) number(n float64) error {
	switch {
	case l.Minimum != nil && n < *l.Minimum:
		return fmt.Errorf("Enter %g or more", *l.Minimum)
	case l.Maximum != nil && n > *l.Maximum:
		return fmt.Errorf("Enter %g or less", *l.Maximum)
	}
	return nil
}

// count checks the number of choices.
func (l limits) count(n int) error {
	switch {
	case l.MinItems != nil && float64(n) < *l.MinItems:
		return fmt.Errorf("Choose at least %g", *l.MinItems)
	case l.MaxItems != nil && float64(n) > *l.MaxItems:
		return fmt.Errorf("Choose at most %g", *l.MaxItems)
	}
	return nil
}
