package cli

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// keyOf returns the key of an answer to a permission prompt, which may be typed as a word.
func keyOf(typed string) string {
	switch typed = strings.ToLower(typed); typed {
	case "a", "always", "session":
		return "s"
	case "project", "user", "edit":
		return typed[:1]
	case "help":
		return "?"
	}
	return typed
}

// choices are the answers that a permission prompt offers.
type choices struct {
	effects bool // of a call that was tried: they can be kept
	files   bool // some of them can be kept
	again   bool // it can run again, for real
	edit    bool
	session string // the rules that "s" applies; empty: not offered
	saved   string // the rules that "p" and "u" save; empty: not offered
}

// choices returns the answers that apply to a call.
func (t *terminal) choices(r tool.Request, why tool.Decision) choices {
	c := choices{edit: t.canEdit(r), session: approval.SessionRule(r, why)}
	if t.save != nil && len(why.Offer) > 0 {
		c.saved = why.Offer[0]
	}
	if f, ok := r.Confirm.(tool.Effects); ok {
		c.effects, c.files, c.again = len(f.Changes) > 0, len(f.Changes) > 1, f.CanRunAgain()
	}
	return c
}

// keys are the keys of the answers, in the order of the list.
func (c choices) keys() string {
	keys := "y"
	if c.files {
		keys += "f"
	}
	if c.session != "" {
		keys += "s"
	}
	if c.saved != "" {
		keys += "pu"
	}
	if c.edit {
		keys += "e"
	}
	switch {
	case c.again:
		return keys + "dr"
	case c.effects:
		return keys + "d"
	}
	return keys + "n"
}

// prompt is the line that the answer is typed on.
func (c choices) prompt() string {
	question := "Allow? ["
	if c.effects {
		question = "Keep? ["
	}
	return question + strings.Join(strings.Split(c.keys(), ""), "/") + "] "
}

// hint follows an answer that is none of the choices.
func (c choices) hint() string {
	keys := strings.Split(c.keys(), "")
	return "Type " + strings.Join(keys[:len(keys)-1], ", ") + " or " + keys[len(keys)-1] + " (? for help)."
}

// list shows the answers, one per line, with the rules that each one applies.
func (c choices) list() string {
	var b strings.Builder
	once, session, project, user := "yes, once", "yes, for this session      ", "yes, always in this project", "yes, always, all projects  "
	if c.effects {
		once, session, project, user = "keep", "keep, for this session      ", "keep, always in this project", "keep, always, all projects  "
	}
	b.WriteString("  y  " + once + "\n")
	if c.files {
		b.WriteString("  f  choose files\n")
	}
	saved := "saves to "
	if c.session != "" {
		rules := approval.RuleList(c.session)
		if c.saved != "" && c.saved != c.session {
			rules += " (wider than p and u"
			if covers := permission.Extent(c.session); covers != "" {
				rules += ": " + covers
			}
			rules += ")"
			saved = "saves " + approval.RuleList(c.saved) + " to "
		}
		fmt.Fprintf(&b, "  s  %s   %s\n", session, rules)
	}
	if c.saved != "" {
		fmt.Fprintf(&b, "  p  %s   %s.adze/settings.json\n", project, saved)
		fmt.Fprintf(&b, "  u  %s   %s~/.adze/settings.json\n", user, saved)
	}
	if c.effects {
		b.WriteString("  d  discard    ")
		if c.again {
			b.WriteString("r  run again with network    ")
		}
		b.WriteString("?  help\n")
		return b.String()
	}
	b.WriteString("  ")
	if c.edit {
		b.WriteString("e  edit    ")
	}
	b.WriteString("n  no    ?  help\n")
	return b.String()
}

// help explains each answer.
func (c choices) help() string {
	about := map[rune]string{
		'y': "approve this call only",
		's': "approve this call, and calls that match the rule for the rest of this session",
		'p': "the same, and save the rule in this project's settings",
		'u': "the same, and save the rule in your own settings, for all projects",
		'e': "edit the proposed text in your editor ($VISUAL or $EDITOR), then approve it",
		'n': "deny this call; type n and a reason to send the reason to the model",
	}
	if c.effects {
		about['y'], about['f'] = "keep what the command changed", "keep only some of it"
		about['s'] = "keep it, and changes that match the rule for the rest of this session"
		about['d'] = "discard it; type d and a reason to send the reason to the model"
		about['r'] = "discard it and run the command again, with your permissions and the network; asks first"
	}
	var b strings.Builder
	for _, key := range c.keys() {
		fmt.Fprintf(&b, "  %c  %s\n", key, about[key])
	}
	return b.String()
}
