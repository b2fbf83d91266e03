package tui

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/tui/keys"
	"github.com/adze-dev/adze/tool"
)

// calm is how long a question must be visible, and no key pressed, before a key answers it. What the user types just when a
// question appears was meant for the prompt.
const calm = 400 * time.Millisecond

// question is an approval or a form that waits for the user.
type question struct {
	r   tool.Request
	why tool.Decision

	reply   chan tool.Decision
	printed bool      // its diff or command is above the live area
	long    bool      // that doesn't fit on the screen
	shown   time.Time // since when it is visible
	stage   stage
	explain bool // why it is asked is shown
	reasons []Reason
	offer   int   // the rule that "always" would apply
	scope   Scope // and for how long
	problem string

	fields []approval.Field // of a form
	answer map[string]any

	hunks []approval.Hunk // of a diff
	take  []choice        // what is done with each
	hunk  int             // that is being decided
}

// choice is what the user decided about a hunk.
type choice uint8

const (
	undecided choice = iota
	taken
	skipped
)

// stage is what the user is answering.
type stage uint8

const (
	choosing stage = iota
	refusing       // typing why not
	always         // choosing a rule
	filling        // a form
	editing        // the command
	picking        // hunks of a diff
)

// questionList is the open questions. The one at the index is shown.
type questionList struct {
	open    []*question
	at      int
	focused bool // Tab was pressed: keys answer although text was typed
}

// Ask puts a question to the user. It is a [tool.Asker].
func (s *Screen) Ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	q := &question{r: r, why: why, reply: make(chan tool.Decision, 1), answer: map[string]any{}}
	if len(r.Form) > 0 {
		fields, err := approval.ReadForm(r.Form)
		if err != nil {
			return tool.Decision{}, err
		}
		if _, ok := r.Confirm.(tool.Plan); ok && len(fields) > 0 {
			fields[0].AcceptYes()
		}
		q.fields = fields
		if r.Declaration.Origin == "" {
			q.stage = filling
		}
	}
	if d, ok := r.Confirm.(tool.FileDiff); ok {
		if _, _, ok := approval.Proposal(r); ok {
			q.hunks = approval.Hunks(d)
		}
	}
	if f, ok := q.effects(); ok {
		q.hunks = approval.Picks(f)
	}
	s.send(func(s *Screen) {
		s.questions.add(q, s.calls.position)
		s.notify("needs approval: " + q.title().String())
	})
	select {
	case d := <-q.reply:
		return d, nil
	case <-ctx.Done():
		s.send(func(s *Screen) { s.questions.remove(q) })
		return tool.Decision{}, ctx.Err()
	case <-s.quit:
		return tool.Decision{}, context.Canceled
	}
}

// current is the question that is shown; nil if there is none.
func (l *questionList) current() *question {
	if len(l.open) == 0 {
		return nil
	}
	l.at = min(l.at, len(l.open)-1)
	return l.open[l.at]
}

// add inserts a question in the order of the calls: several calls of an answer need approval at once, and arrive in any
// order. The question that the user reads stays.
func (l *questionList) add(q *question, position func(tool.Call) int) {
	at := position(q.r.Call)
	i := slices.IndexFunc(l.open, func(o *question) bool { return position(o.r.Call) > at })
	if i < 0 {
		i = len(l.open)
	}
	if c := l.current(); c != nil && c.printed && i <= l.at {
		l.at++
	}
	l.open = slices.Insert(l.open, i, q)
}

func (l *questionList) remove(q *question) {
	l.open = slices.DeleteFunc(l.open, func(o *question) bool { return o == q })
	l.focused = false
}

// withdraw removes the question about a call that was answered otherwise.
func (l *questionList) withdraw(c tool.Call) {
	l.open = slices.DeleteFunc(l.open, func(q *question) bool { return q.r.Call.By == c.By && q.r.Call.ID == c.ID })
}

func (l *questionList) withdrawAll() { l.open = nil }

// reply answers the question that is shown.
func (s *Screen) reply(q *question, d tool.Decision) {
	s.questions.remove(q)
	q.reply <- d
}

// answers reports whether a key answers the question, instead of being text.
func (s *Screen) answers(q *question) bool {
	return (s.editor.Empty() || s.questions.focused) && !q.shown.IsZero() && s.keyAt.Sub(q.shown) >= calm && s.keyAt.Sub(s.lastKey) >= calm
}

// questionKey handles a key while a question is shown. It reports whether the key was for the question.
func (s *Screen) questionKey(q *question, k keys.Key) bool {
	name := k.String()
	switch q.stage {
	case filling:
		return s.fillKey(q, name)
	case refusing:
		return s.refuseKey(q, name)
	case always:
		return s.alwaysKey(q, name)
	case editing:
		return s.editKey(q, name)
	case picking:
		return s.pickKey(q, name)
	}
	switch {
	case name == "esc":
		s.reply(q, tool.Decision{Verdict: tool.Deny})
		s.interrupt()
		return true
	case name == "tab" && !s.editor.Empty():
		s.questions.focused = !s.questions.focused
		return true
	case (name == "left" || name == "right") && s.editor.Empty() && len(s.questions.open) > 1:
		n := len(s.questions.open)
		s.questions.at = (s.questions.at + map[string]int{"left": n - 1, "right": 1}[name]) % n
		return true
	case !s.answers(q):
		return false
	}
	return s.choose(q, name)
}

// choose does what a key of the question stands for.
func (s *Screen) choose(q *question, name string) bool {
	if s.chooseEffects(q, name) {
		return true
	}
	switch name {
	case "y":
		if len(q.fields) > 0 {
			q.stage = filling
			return true
		}
		s.reply(q, tool.Decision{Verdict: tool.Allow})
	case "n":
		q.stage = refusing
	case "a":
		if len(q.why.Offer) == 0 {
			return false
		}
		q.stage, q.offer, q.scope = always, 0, ForSession
	case "v":
		s.viewQuestion(q)
	case "w":
		if q.explain = !q.explain; q.explain {
			q.reasons = s.o.Host.Explain(q.r)
		}
	case "e":
		text, _, ok := approval.Proposal(q.r)
		if !ok {
			return false
		}
		if _, command := q.r.Confirm.(tool.Command); command {
			q.stage = editing
			s.editor.Set(text)
			return true
		}
		s.editProposal(q)
	case "h":
		if len(q.hunks) < 2 {
			return false
		}
		q.stage, q.hunk, q.take = picking, 0, make([]choice, len(q.hunks))
	default:
		return false
	}
	return true
}

// refuseKey handles a key while the user types why not.
func (s *Screen) refuseKey(q *question, name string) bool {
	switch name {
	case "enter":
		reason := s.editor.Text()
		s.editor.Clear()
		s.reply(q, tool.Decision{Verdict: tool.Deny, Reason: reason})
	case "esc":
		q.stage = choosing
	default:
		return false
	}
	return true
}

// alwaysKey handles a key while the user chooses a rule and how long it lasts. Nothing is saved before Enter.
func (s *Screen) alwaysKey(q *question, name string) bool {
	q.problem = ""
	switch name {
	case "up":
		q.offer = max(0, q.offer-1)
	case "down":
		q.offer = min(len(q.why.Offer)-1, q.offer+1)
	case "s":
		q.scope = ForSession
	case "p":
		q.scope = ForProject
	case "u":
		q.scope = ForUser
	case "esc":
		q.stage = choosing
	case "enter":
		s.allowAlways(q)
	}
	return true
}

// allowAlways applies the rule that was chosen, and approves the call.
func (s *Screen) allowAlways(q *question) {
	offer := q.why.Offer[q.offer]
	path, err := s.o.Host.Allow(q.r, offer, q.scope)
	if err != nil {
		q.problem = "can't save the rule: " + err.Error()
		return
	}
	if path != "" {
		s.tell("saved " + approval.RuleList(offer) + " to " + path)
	}
	s.reply(q, tool.Decision{Verdict: tool.Allow, Remember: offer})
	n := 0
	for _, o := range s.questions.open { // the executor withdraws them
		if !o.r.MustAsk && o.why.Cause.Kind != tool.ByHook && s.o.Host.Allowed(o.r) {
			n++
		}
	}
	if s.settling = n > 0; s.settling {
		s.tell(plural(n, "question") + " answered by " + approval.RuleList(offer))
	}
}

// editKey handles a key while the user edits a command. Enter runs it.
func (s *Screen) editKey(q *question, name string) bool {
	switch name {
	case "esc":
		s.editor.Clear()
		q.stage = choosing
	case "enter":
		d, ok := approval.Edited(q.r, s.editor.Text())
		if !ok {
			q.problem = "this call can't use the edited command"
			return true
		}
		s.editor.Clear()
		s.reply(q, d)
	default:
		return false
	}
	return true
}

// pickKey handles a key while the user goes through the hunks of a diff.
func (s *Screen) pickKey(q *question, name string) bool {
	switch name {
	case "y":
		q.decide(taken)
	case "n":
		q.decide(skipped)
	case "left":
		q.hunk = max(0, q.hunk-1)
	case "right":
		q.hunk = min(len(q.hunks)-1, q.hunk+1)
	case "esc":
		q.stage = choosing
	case "enter":
		s.writeHunks(q)
	}
	return true
}

// decide notes what to do with the current hunk and goes to the next.
func (q *question) decide(c choice) {
	q.take[q.hunk] = c
	q.hunk = min(len(q.hunks)-1, q.hunk+1)
}

// writeHunks approves the hunks that were taken.
func (s *Screen) writeHunks(q *question) {
	take, n := make([]bool, len(q.hunks)), 0
	for i, c := range q.take {
		if take[i] = c == taken; take[i] {
			n++
		}
	}
	if n == 0 {
		q.problem = "nothing is taken: y takes a part, Esc goes back"
		return
	}
	if f, ok := q.effects(); ok {
		s.keepPicked(q, f, take)
		return
	}
	text, ok := approval.Take(q.r.Confirm.(tool.FileDiff), q.hunks, take)
	d, edited := approval.Edited(q.r, text)
	switch {
	case n == len(q.hunks):
		s.reply(q, tool.Decision{Verdict: tool.Allow})
	case !ok || !edited:
		q.problem = "this call can't be divided"
	default:
		s.reply(q, d)
	}
}

// fillKey handles a key while the user fills a form: what is typed goes to the prompt, and Enter answers a field with it.
func (s *Screen) fillKey(q *question, name string) bool {
	switch name {
	case "esc":
		s.reply(q, tool.Decision{Verdict: tool.Deny})
		s.interrupt()
		return true
	case "enter":
	default:
		return false
	}
	if len(q.fields) > 0 {
		if err := q.fields[0].Answer(s.editor.Text(), q.answer); err != nil {
			q.problem = err.Error()
			return true
		}
		q.problem = ""
		s.editor.Clear()
		q.fields = q.fields[1:]
	}
	if len(q.fields) > 0 {
		return true
	}
	answer, err := json.Marshal(q.answer)
	if err != nil {
		q.problem = err.Error()
		return true
	}
	s.reply(q, tool.Decision{Verdict: tool.Allow, Answer: answer})
	return true
}
