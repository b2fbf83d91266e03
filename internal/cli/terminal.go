package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminal asks the user, one question at a time.
type terminal struct {
	screen *screen
	out    io.Writer // of the question that is open
	in     answers
	policy *permission.Policy
	editor string
	save   func(scope session.Scope, offer string) (path string, err error) // nil: rules cannot be saved here
	turn   chan struct{}                                                    // whose question it is
}

func newTerminal(env Env, s *screen, p *permission.Policy) *terminal {
	return &terminal{screen: s, in: newAnswers(env.Stdin), policy: p, editor: editorOf(env), turn: make(chan struct{}, 1)}
}

// ask is the tool.Asker of a plain terminal.
func (t *terminal) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return tool.Decision{}, ctx.Err()
	}
	out, answered := t.screen.ask()
	defer answered()
	t.out = out
	fmt.Fprintf(t.out, "\n%s\n", question(r, why, t.understood(r), t.screen.ink))
	if len(r.Form) > 0 {
		return t.askForm(ctx, r)
	}
	for {
		typed, err := t.read(ctx, t.choices(r, why)+"? ")
		if err != nil {
			return tool.Decision{}, err
		}
		d, ok, err := t.choose(ctx, r, why, typed)
		if err != nil {
			fmt.Fprintf(t.out, "adze: %v\n", err)
		}
		if ok {
			return d, nil
		}
	}
}

// read paints the last line of a question and reads what is typed after that.
func (t *terminal) read(ctx context.Context, text string) (string, error) {
	typed, err := prompt(ctx, t.out, t.in, text)
	if err != nil {
		fmt.Fprintln(t.out, "(no answer)")
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return typed, nil
}

// prompt paints a prompt and reads a line that was typed since: one that was typed before, or pasted with the answer to
// another prompt, approves nothing.
func prompt(ctx context.Context, w io.Writer, in answers, text string) (string, error) {
	if err := in.discard(); err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	line, err := in.next(ctx)
	return strings.TrimSpace(string(line)), err
}

func isYes(typed string) bool {
	typed = strings.ToLower(typed)
	return typed == "y" || typed == "yes"
}

// isNo reads a no and the reason that may follow it: "n", "no: use make instead", "n because it is not needed".
func isNo(typed string) (reason string, ok bool) {
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

// understood is what the policy reads a command as. A terminal without one has only the line.
func (t *terminal) understood(r tool.Request) []string {
	if t.policy == nil {
		return nil
	}
	return t.policy.Understood(r)
}

// choices are what may be answered, with the rules that an answer would keep.
func (t *terminal) choices(r tool.Request, why tool.Decision) string {
	s := "[y]es, [n]o (or n REASON)"
	if t.canEdit(r) {
		s += ", [e]dit it first"
	}
	if always := alwaysRule(r, why); always != "" {
		s += fmt.Sprintf(", [a]lways (%s, until adze ends)", tool.Visible(plainRule(always)))
	}
	if t.save != nil && len(why.Offer) > 0 {
		s += fmt.Sprintf(", or save %s for this [p]roject or for [u] everywhere", tool.Visible(plainRule(why.Offer[0])))
	}
	return s
}

// choose does what was answered. ok is false if it was none of the choices, or led to nothing.
func (t *terminal) choose(ctx context.Context, r tool.Request, why tool.Decision, typed string) (d tool.Decision, ok bool, err error) {
	if isYes(typed) {
		return tool.Decision{Verdict: tool.Allow}, true, nil
	}
	if reason, ok := isNo(typed); ok {
		return tool.Decision{Verdict: tool.Deny, Reason: reason}, true, nil
	}
	switch typed = strings.ToLower(typed); typed {
	case "e", "edit":
		d, err = t.edit(ctx, r)
		return d, err == nil && d.Args != nil, err
	case "a", "always":
		always := alwaysRule(r, why)
		d = tool.Decision{Verdict: tool.Allow, Remember: always}
		return d, always != "" && t.policy.Remember(r, always), nil
	case "p", "project", "u", "user":
		return t.keep(r, why, map[byte]session.Scope{'p': session.ForProject, 'u': session.ForUser}[typed[0]])
	}
	return tool.Decision{}, false, nil
}

// keep saves the smallest rule that was offered, and holds to it from now on.
func (t *terminal) keep(r tool.Request, why tool.Decision, scope session.Scope) (tool.Decision, bool, error) {
	if t.save == nil || len(why.Offer) == 0 {
		return tool.Decision{}, false, nil
	}
	path, err := t.save(scope, why.Offer[0])
	if err != nil {
		return tool.Decision{}, false, fmt.Errorf("save the rule: %w", err)
	}
	fmt.Fprintf(t.out, "saved in %s\n", path)
	t.policy.Remember(r, why.Offer[0])
	return tool.Decision{Verdict: tool.Allow, Remember: why.Offer[0]}, true, nil
}

// askForm asks for more than yes or no. A form from outside can be denied before anything is typed.
func (t *terminal) askForm(ctx context.Context, r tool.Request) (tool.Decision, error) {
	for r.Declaration.Origin != "" {
		typed, err := t.read(ctx, "Answer it: [y]es, [n]o? ")
		if err != nil {
			return tool.Decision{}, err
		}
		if isYes(typed) {
			break
		}
		if reason, ok := isNo(typed); ok {
			return tool.Decision{Verdict: tool.Deny, Reason: reason}, nil
		}
	}
	fields, err := readForm(r.Form)
	if err != nil {
		return tool.Decision{}, err
	}
	if _, ok := r.Confirm.(tool.Plan); ok && len(fields) > 0 {
		fields[0].yes = true
	}
	answer, err := t.fill(ctx, fields)
	if err != nil {
		return tool.Decision{}, err
	}
	return tool.Decision{Verdict: tool.Allow, Answer: answer}, nil
}

// question is what a person reads before they answer: what would be done, why they are asked, all of it, and what a
// command was understood as.
func question(r tool.Request, why tool.Decision, understood []string, colors ink) string {
	var b strings.Builder
	by := ""
	if r.Call.By != "" {
		by = " (asked by " + tool.Visible(r.Call.By) + ")"
	}
	fmt.Fprintf(&b, "%s: %s%s\n", r.Declaration.Title(), r.Description, by)
	if why.Why() != "" && !r.MustAsk { // what only a person may say needs no reason
		fmt.Fprintf(&b, "Needs approval: %s\n", tool.Visible(why.Why()))
	}
	if r.Confirm != nil {
		b.WriteString(confirmation(r.Confirm, colors))
	}
	if len(understood) > 0 {
		fmt.Fprintf(&b, "Understood as:\n  %s\n", strings.Join(understood, "\n  "))
	}
	return strings.TrimRight(b.String(), "\n")
}

// confirmation shows a display without rendering it: what is seen is what there is.
func confirmation(d tool.Display, colors ink) string {
	switch d := d.(type) {
	case tool.FileDiff:
		return colors.diff(d.Diff) + warnings(d.Warnings)
	case tool.Literal:
		return "  " + strings.ReplaceAll(tool.Visible(strings.TrimRight(string(d), "\n")), "\n", "\n  ") + "\n"
	case tool.Command:
		return "  " + strings.ReplaceAll(tool.Visible(d.Line), "\n", "\n  ") + "\n" + purpose(d) + warnings(d.Warnings)
	}
	return tool.Visible(d.Markdown()) + "\n"
}

// purpose is what the model says of its command, marked as its words and nothing more.
func purpose(c tool.Command) string {
	if c.Purpose == "" {
		return ""
	}
	return "The model says: " + strings.Join(strings.Fields(tool.Visible(c.Purpose)), " ") + "\n"
}

func warnings(ws []string) string {
	s := ""
	for _, w := range ws {
		s += "Warning: " + tool.Visible(w) + "\n"
	}
	return s
}

// alwaysRule is the rule that "always" means until adze ends: the widest that was offered, the tool as a whole. Of hosts
// it is the smallest: who agreed to one page did not agree to sending anything anywhere.
func alwaysRule(r tool.Request, why tool.Decision) string {
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

// plainRule is a rule for people: that it is bound to the tool as it is takes a word, not forty digits.
func plainRule(offer string) string {
	if name, bound := permission.Bound(offer); bound {
		return name + " as it is now"
	}
	return offer
}
