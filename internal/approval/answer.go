package approval

import (
	"strings"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// IsYes reads a yes.
func IsYes(typed string) bool {
	typed = strings.ToLower(typed)
	return typed == "y" || typed == "yes"
}

// IsNo reads a no and the reason that may follow it: "n", "no: use make instead", "n because it is not needed".
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

// SessionRule is the rule that an approval for the session applies: the widest that was offered. For hosts it is the
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

// RuleList shows the rules of an offer on one line. A rule that is bound to one version of a tool is shown without the
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

// Proposal is the text that a call proposes and that the user can edit, and a name for its file. ok is false if there is none.
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

// Edited is the approval of a proposal as the user changed it. ok is false if the call can't use the text.
func Edited(r tool.Request, text string) (d tool.Decision, ok bool) {
	if r.Rework == nil {
		return tool.Decision{}, false
	}
	return tool.Decision{Verdict: tool.Allow, Args: r.Rework(text)}, true
}
