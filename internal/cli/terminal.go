package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/approval"
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
	choices := t.choices(r, why)
	fmt.Fprint(t.out, choices.list())
	for {
		typed, err := t.read(ctx, choices.prompt())
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

// read prints the last line of a prompt and reads what the user types after that.
func (t *terminal) read(ctx context.Context, text string) (string, error) {
	typed, err := prompt(ctx, t.out, t.in, text)
	if err != nil {
		fmt.Fprintln(t.out, "(no answer)")
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return typed, nil
}

// prompt prints a prompt and reads a line typed after it: a line typed earlier, or pasted with the answer to another
// prompt, approves nothing.
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

// understood returns the policy's reading of a command, where it adds something to the line. A terminal without a policy has
// none.
func (t *terminal) understood(r tool.Request) []string {
	if t.policy == nil {
		return nil
	}
	var lines []string
	for _, c := range t.policy.Understood(r) {
		lines = append(lines, c.Text)
	}
	if line, ok := r.Confirm.(tool.Command); ok && len(lines) == 1 && lines[0] == strings.TrimSpace(line.Line) {
		return nil
	}
	return lines
}

// choose does what was answered. ok is false if it was none of the choices, or led to nothing.
func (t *terminal) choose(ctx context.Context, r tool.Request, why tool.Decision, typed string) (d tool.Decision, ok bool, err error) {
	if approval.IsYes(typed) {
		return tool.Decision{Verdict: tool.Allow}, true, nil
	}
	if reason, ok := approval.IsNo(typed); ok {
		return tool.Decision{Verdict: tool.Deny, Reason: reason}, true, nil
	}
	if f, ok := r.Confirm.(tool.Effects); ok {
		if d, ok, err := t.chooseEffects(ctx, f, typed); ok || err != nil {
			return d, ok, err
		}
	}
	c, key := t.choices(r, why), keyOf(typed)
	switch {
	case key == "?":
		fmt.Fprint(t.out, c.help())
	case len(key) != 1 || !strings.Contains(c.keys(), key):
		fmt.Fprintln(t.out, c.hint())
	case key == "e":
		d, err = t.edit(ctx, r)
		return d, err == nil && d.Args != nil, err
	case key == "s":
		return tool.Decision{Verdict: tool.Allow, Remember: c.session}, t.policy.Remember(r, c.session), nil
	case key == "p":
		return t.keep(r, why, session.ForProject)
	case key == "u":
		return t.keep(r, why, session.ForUser)
	}
	return tool.Decision{}, false, nil
}

// chooseEffects does what was answered about the effects of a tried call.
func (t *terminal) chooseEffects(ctx context.Context, f tool.Effects, typed string) (d tool.Decision, ok bool, err error) {
	if reason, ok := approval.IsDiscard(typed); ok {
		return tool.Decision{Verdict: tool.Deny, Reason: reason}, true, nil
	}
	switch strings.ToLower(typed) {
	case "r", "run":
		if !f.CanRunAgain() {
			return d, false, nil
		}
		fmt.Fprintf(t.out, "Run again, with your permissions and the network:\n%s", indented(tool.Visible(f.Command.Line)))
		line, err := t.read(ctx, "Discard the changes and run it? [y/n] ")
		return approval.RunAgain(f), err == nil && approval.IsYes(line), err
	case "f", "files":
		if len(f.Changes) < 2 {
			return d, false, nil
		}
	default:
		return d, false, nil
	}
	for i, c := range f.Changes {
		fmt.Fprintf(t.out, "  %d  %s %s\n", i+1, c.Kind, c.Line())
	}
	line, err := t.read(ctx, "Keep which? (numbers, separated by commas) ")
	if err != nil {
		return d, false, err
	}
	chosen, err := approval.Numbers(line, len(f.Changes))
	if err != nil {
		return d, false, err
	}
	var paths []string
	for _, n := range chosen {
		paths = append(paths, f.Changes[n-1].Path)
	}
	return approval.Keep(paths), true, nil
}

// keep saves the narrowest rule that was offered, and applies it from now on.
func (t *terminal) keep(r tool.Request, why tool.Decision, scope session.Scope) (tool.Decision, bool, error) {
	path, err := t.save(scope, why.Offer[0])
	if err != nil {
		return tool.Decision{}, false, fmt.Errorf("can't save the rule: %w", err)
	}
	fmt.Fprintf(t.out, "Saved to %s\n", path)
	t.policy.Remember(r, why.Offer[0])
	return tool.Decision{Verdict: tool.Allow, Remember: why.Offer[0]}, true, nil
}

// askForm asks for more than yes or no. An external tool's form can be denied before anything is typed.
func (t *terminal) askForm(ctx context.Context, r tool.Request) (tool.Decision, error) {
	for r.Declaration.Origin != "" {
		typed, err := t.read(ctx, "Answer? [y/n] ")
		if err != nil {
			return tool.Decision{}, err
		}
		if approval.IsYes(typed) {
			break
		}
		if reason, ok := approval.IsNo(typed); ok {
			return tool.Decision{Verdict: tool.Deny, Reason: reason}, nil
		}
	}
	fields, err := approval.ReadForm(r.Form)
	if err != nil {
		return tool.Decision{}, err
	}
	if _, ok := r.Confirm.(tool.Plan); ok && len(fields) > 0 {
		fields[0].AcceptYes()
	}
	answer, err := t.fill(ctx, fields)
	if err != nil {
		return tool.Decision{}, err
	}
	return tool.Decision{Verdict: tool.Allow, Answer: answer}, nil
}

// maxWrong is the number of invalid answers after which a form is canceled.
const maxWrong = 5

// fill asks for every field of a form.
func (t *terminal) fill(ctx context.Context, fields []approval.Field) (json.RawMessage, error) {
	answer := map[string]any{}
	for _, f := range fields {
		if err := t.fillField(ctx, f, answer); err != nil {
			return nil, err
		}
	}
	return json.Marshal(answer)
}

func (t *terminal) fillField(ctx context.Context, f approval.Field, answer map[string]any) error {
	fmt.Fprintf(t.out, "%s\n", f.Label())
	for i, c := range f.Choices() {
		fmt.Fprintf(t.out, "  %d. %s", i+1, tool.Visible(c.Title))
		if c.Description != "" {
			fmt.Fprintf(t.out, " (%s)", tool.Visible(c.Description))
		}
		fmt.Fprintln(t.out)
	}
	for range maxWrong {
		line, err := t.read(ctx, f.Hint()+": ")
		if err != nil {
			return err
		}
		if err = f.Answer(line, answer); err == nil {
			return nil
		}
		fmt.Fprintf(t.out, "%v\n", err)
	}
	return fmt.Errorf("%s: too many invalid answers", f.Name())
}

// question returns the text of a permission prompt without its choices: what the call does, why it needs approval, and
// the facts and warnings to weigh.
func question(r tool.Request, why tool.Decision, understood []string, colors ink) string {
	var b strings.Builder
	what, details, facts := r.Description, "", ""
	switch c := r.Confirm.(type) {
	case nil:
	case tool.Command:
		if line := tool.Visible(c.Line); r.MustAsk {
			details = indented(line)
		} else {
			what = strings.ReplaceAll(line, "\n", "\n  ")
		}
		facts = purpose(c) + sandboxFact(c) + warnings(c.Warnings)
	case tool.Effects:
		what = strings.ReplaceAll(tool.Visible(c.Command.Line), "\n", "\n  ")
		details, facts = effectLines(c)+colors.diff(c.Diff()), purpose(c.Command)+warnings(c.AllWarnings())
	case tool.FileDiff:
		details, facts = colors.diff(c.Diff), warnings(c.Warnings)
	case tool.Literal:
		details = literalText(r, c)
	default:
		details = tool.Visible(c.Markdown()) + "\n"
	}
	fmt.Fprintf(&b, "%s  %s\n%s", r.Declaration.Title(), what, details)
	if r.Call.By != "" {
		fmt.Fprintf(&b, "  Requested by: %s\n", tool.Visible(r.Call.By))
	}
	if why.Why() != "" && !r.MustAsk { // a question that only the user can answer needs no reason
		fmt.Fprintf(&b, "  Needs approval: %s\n", tool.Visible(why.Why()))
	}
	if len(understood) > 0 {
		fmt.Fprintf(&b, "  Understood as:\n    %s\n", strings.Join(understood, "\n    "))
	}
	return strings.TrimRight(b.String()+facts, "\n")
}

// effectLines is what a tried command did.
func effectLines(f tool.Effects) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", f.Headline())
	for _, r := range f.Rows() {
		label := r.Label
		for _, c := range r.Cells {
			fmt.Fprintf(&b, "    %-9s %s\n", label, c)
			label = ""
		}
	}
	return b.String()
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }

// literalText is what a text shows besides the call's description.
func literalText(r tool.Request, l tool.Literal) string {
	text := tool.Visible(strings.TrimRight(approval.Beyond(r, l), "\n"))
	if text == "" {
		return ""
	}
	return indented(text)
}

// purpose is the model's own description of its command, marked as such.
func purpose(c tool.Command) string {
	if c.Purpose == "" {
		return ""
	}
	return "  The model says: " + strings.Join(strings.Fields(tool.Visible(c.Purpose)), " ") + "\n"
}

func sandboxFact(c tool.Command) string {
	if c.Sandbox == "" {
		return ""
	}
	return "  Sandbox: " + c.Sandbox + "\n"
}

func warnings(ws []string) string {
	s := ""
	for _, w := range ws {
		s += "  Warning: " + tool.Visible(w) + "\n"
	}
	return s
}
