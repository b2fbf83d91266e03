package approval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Dialog asks questions in lines: it prints, and reads what the user types. The front end draws what a question is
// about before that.
type Dialog struct {
	Out   io.Writer
	Read  func(ctx context.Context, prompt string) (string, error) // prints a prompt and reads a line after it
	Fail  func(error)                                              // prints an error
	Style Style                                                    // Lines or Spoken
	View  func()                                                   // prints all of what the question is about

	Editor string                // the user's editor, for Edit
	Run    func(*exec.Cmd) error // runs it in the terminal
}

// Ask asks until there is an answer.
func (l Dialog) Ask(ctx context.Context, q *Question) (tool.Decision, error) {
	if q.Invalid != nil {
		return tool.Decision{}, q.Invalid
	}
	form := len(q.Request.Form) > 0
	if form && q.Request.Declaration.Origin == "" { // an external tool's form can be denied before anything is typed
		return l.fill(ctx, q)
	}
	if !form && l.Style == Lines {
		fmt.Fprint(l.Out, q.list())
	}
	for {
		typed, err := l.Read(ctx, l.prompt(q))
		if err != nil {
			return tool.Decision{}, err
		}
		a, ok, err := l.answer(ctx, q, typed)
		if ok && form && a.Act == Once {
			return l.fill(ctx, q)
		}
		var o Outcome
		if ok && err == nil {
			if o, err = q.Decide(a); err == nil {
				if o.Saved != "" {
					fmt.Fprintf(l.Out, "Saved to %s\n", o.Saved)
				}
				return o.Decision, nil
			}
		}
		if err != nil {
			l.Fail(err)
		}
	}
}

// answer returns the answer that a line leads to. ok is false if it leads to none.
func (l Dialog) answer(ctx context.Context, q *Question, typed string) (a Answer, ok bool, err error) {
	c, text, ok := q.Typed(l.Style, typed)
	a = Answer{Act: c.Act, Rule: c.Rule, Scope: c.Scope}
	switch {
	case !ok:
		fmt.Fprintln(l.Out, l.hint(q, typed))
		return a, false, nil
	case c.Act == View:
		l.View()
		return a, false, nil
	case c.Act == Explain:
		for _, r := range q.Explain() {
			fmt.Fprintf(l.Out, "%s: %s\n", tool.Visible(r.What), tool.Visible(r.Why))
		}
		return a, false, nil
	case c.Act == Deny:
		a.Text = text
	case c.Act == Edit && l.Style == Spoken:
		a.Text, err = l.Read(ctx, "Command, or nothing to go back: ")
		return a, a.Text != "", err
	case c.Act == Edit:
		a.Text, err = EditText(ctx, l.Editor, filepath.Base(q.File), q.Proposal, l.Run)
		return a, err == nil && a.Text != q.Proposal, err
	case c.Act == Rerun:
		ok, err = l.rerun(ctx, q)
	case c.Act == Parts:
		a.Take, err = l.take(ctx, q)
	}
	return a, ok, err
}

// rerun shows the command that would run for real, and asks whether it does.
func (l Dialog) rerun(ctx context.Context, q *Question) (bool, error) {
	line := strings.ReplaceAll(tool.Visible(q.Command.Line), "\n", "\n  ")
	fmt.Fprintf(l.Out, "Run again, with your permissions and the network:\n  %s\n", line)
	if l.Style == Spoken {
		typed, err := l.Read(ctx, "1 discards the changes and runs it, 2 goes back. Number: ")
		return typed == "1", err
	}
	typed, err := l.Read(ctx, "Discard the changes and run it? [y/n] ")
	return IsYes(typed), err
}

// take asks which changed files to keep, or which hunks to write.
func (l Dialog) take(ctx context.Context, q *Question) ([]bool, error) {
	prompt := "Numbers of the files to keep: "
	for i, part := range q.Parts {
		if q.Tried() {
			c := q.Effects.Changes[i]
			fmt.Fprintf(l.Out, "%d %s %s\n", i+1, c.Kind, c.Line())
			continue
		}
		prompt = "Numbers of the hunks to write: "
		fmt.Fprintf(l.Out, "%s\n%s\n", strings.TrimSpace(fmt.Sprint(i+1, " ", tool.Visible(part.File))),
			strings.TrimRight(tool.Visible(part.Diff), "\n"))
	}
	typed, err := l.Read(ctx, prompt)
	if err != nil {
		return nil, err
	}
	return numbers(typed, len(q.Parts))
}

// numbers reads a choice of items: "1, 3-5". The error says what to type instead.
func numbers(typed string, limit int) ([]bool, error) {
	wrong := fmt.Errorf("Enter numbers from 1 to %d, such as 1,3 or 2-4", limit)
	out := make([]bool, limit)
	for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to > limit || from > to {
			return nil, wrong
		}
		for n := from; n <= to; n++ {
			out[n-1] = true
		}
	}
	if !slices.Contains(out, true) {
		return nil, wrong
	}
	return out, nil
}

// back goes to the field before, where nothing else does.
const back = "<"

// fill asks for every field of a form.
func (l Dialog) fill(ctx context.Context, q *Question) (tool.Decision, error) {
	answers := make([]map[string]any, len(q.Fields))
	summary := q.Request.Declaration.Origin != ""
	for i := 0; i < len(q.Fields); {
		line, err := l.fillField(ctx, q, i, &answers[i])
		if err != nil {
			return tool.Decision{}, err
		}
		if line == back && i > 0 {
			i--
			continue
		}
		if i++; i == len(q.Fields) && summary {
			for n, f := range q.Fields {
				given := "left out"
				if a := answers[n][f.name]; a != nil {
					given = tool.Visible(fmt.Sprint(a))
				}
				fmt.Fprintf(l.Out, "%s: %s\n", f.Label(), given)
			}
			typed, err := l.Read(ctx, "1 send, 2 answer again. Number: ")
			if err != nil {
				return tool.Decision{}, err
			}
			if typed != "1" {
				i = 0
			}
		}
	}
	form := map[string]any{}
	for _, a := range answers {
		maps.Copy(form, a)
	}
	o, err := q.Decide(Answer{Act: Once, Form: form})
	return o.Decision, err
}

// fillField asks for a field. It returns what was typed.
func (l Dialog) fillField(ctx context.Context, q *Question, i int, answer *map[string]any) (string, error) {
	f := q.Fields[i]
	label, hint := "field", f.Hint()
	if n := len(q.Fields); n > 1 {
		label = fmt.Sprintf("field %d of %d", i+1, n)
	}
	if f.required && len(f.Default) == 0 {
		hint += ", required"
	}
	if i > 0 {
		hint += ", " + back + " goes back"
	}
	fmt.Fprintf(l.Out, "%s: %s\n", label, f.Label())
	for i, c := range f.Choices() {
		fmt.Fprintf(l.Out, "%d %s", i+1, tool.Visible(c.Title))
		if c.Description != "" {
			fmt.Fprintf(l.Out, " (%s)", tool.Visible(c.Description))
		}
		fmt.Fprintln(l.Out)
	}
	for {
		line, err := l.Read(ctx, hint+": ")
		if err != nil || line == back && i > 0 {
			return line, err
		}
		*answer = map[string]any{}
		if err = f.Answer(line, *answer); err == nil {
			return line, nil
		}
		l.Fail(err)
	}
}

// prompt is the line that the answer is typed on.
func (l Dialog) prompt(q *Question) string {
	var keys, texts []string
	for _, c := range q.List(l.Style) {
		k := c.Keys[l.Style]
		keys, texts = append(keys, k.Key), append(texts, k.Key+" "+k.Label)
	}
	verb := "Allow"
	switch {
	case l.Style == Spoken:
		return strings.Join(texts, ", ") + ". Number: "
	case len(q.Request.Form) > 0:
		verb = "Answer"
	case q.Tried():
		verb = "Keep"
	}
	return verb + "? [" + strings.Join(keys, "/") + "] "
}

// hint is printed after an answer that isn't one of the choices.
func (l Dialog) hint(q *Question, typed string) string {
	var keys, help []string
	for _, c := range q.List(l.Style) {
		keys, help = append(keys, c.Keys[l.Style].Key), append(help, "  "+c.Keys[l.Style].Key+"  "+c.Help)
	}
	switch {
	case l.Style == Spoken:
		return "note: type a number; text after 3 goes to the model"
	case typed == "?" || strings.EqualFold(typed, "help"):
		return strings.Join(help, "\n")
	}
	last := len(keys) - 1
	return "Type " + strings.Join(keys[:last], ", ") + " or " + keys[last] + " (? for help)."
}

// list shows the answers, one per line, with the rules that each one applies; the short ones are on the last line.
func (q *Question) list() string {
	var b strings.Builder
	last, saves := "  ", "saves to "
	wide := len("yes, always in this project")
	if q.Tried() {
		wide++
	}
	for _, c := range q.List(Lines) {
		k := c.Keys[Lines]
		switch {
		case c.Scope == ForSession:
			rules := RuleList(c.Rule)
			if narrow := q.Why.Offer[0]; q.rules.Save != nil && narrow != c.Rule {
				rules += " (wider than p and u"
				if covers := permission.Extent(c.Rule); covers != "" {
					rules += ": " + covers
				}
				rules += ")"
				saves = "saves " + RuleList(narrow) + " to "
			}
			fmt.Fprintf(&b, "  %s  %-*s   %s\n", k.Key, wide, k.Label, rules)
		case c.Act == Always:
			file := map[Scope]string{ForProject: ".adze/settings.json", ForUser: "~/.adze/settings.json"}[c.Scope]
			fmt.Fprintf(&b, "  %s  %-*s   %s\n", k.Key, wide, k.Label, saves+file)
		case c.Act == Once || c.Act == Parts:
			fmt.Fprintf(&b, "  %s  %s\n", k.Key, k.Label)
		default:
			last += k.Key + "  " + k.Label + "    "
		}
	}
	return b.String() + last + "?  help\n"
}
