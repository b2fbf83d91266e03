package tui

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/humanize"
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
	typing  bool   // the text in the prompt is for it,
	draft   string // and this was there before

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
	choosing  stage = iota
	refusing        // typing why not
	always          // choosing a rule
	filling         // a form
	editing         // the command
	picking         // hunks of a diff
	rerunning       // whether to run a tried call again, for real
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
		s.send(func(s *Screen) { s.drop(func(o *question) bool { return o == q }) })
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

// remove removes questions. The one that the user reads stays, unless it is one of them.
func (l *questionList) remove(is func(*question) bool) {
	c := l.current()
	l.open = slices.DeleteFunc(l.open, is)
	if at := slices.Index(l.open, c); at >= 0 {
		l.at = at
	} else {
		l.focused = false
	}
}

// withdraw removes the question about a call that was answered otherwise.
func (s *Screen) withdraw(c tool.Call) {
	s.drop(func(q *question) bool { return q.r.Call.By == c.By && q.r.Call.ID == c.ID })
}

// drop removes questions without an answer. What was typed for one of them stays in the prompt, unless there was
// something before.
func (s *Screen) drop(is func(*question) bool) {
	for _, q := range s.questions.open {
		if is(q) && q.draft != "" {
			s.giveBack(q)
		}
	}
	s.questions.remove(is)
}

// reply answers the question that is shown.
func (s *Screen) reply(q *question, d tool.Decision) {
	s.giveBack(q)
	s.questions.remove(func(o *question) bool { return o == q })
	q.reply <- d
}

// calm reports whether a key was meant for the question: it was visible before, and no other key was pressed.
func (s *Screen) calm(q *question) bool {
	return !q.shown.IsZero() && s.keyAt.Sub(q.shown) >= calm && s.keyAt.Sub(s.lastKey) >= calm
}

// questionKey handles a key of a question. It reports whether the question used the key; others are for the prompt.
func (s *Screen) questionKey(q *question, k keys.Key) bool {
	name := k.String()
	switch q.stage {
	case filling:
		return s.fillKey(q, name)
	case refusing:
		return s.refuseKey(q, name)
	case editing:
		return s.editKey(q, name)
	case always, picking, rerunning:
		if k.Mods&keys.Ctrl != 0 { // interrupt, suspend, view the transcript
			return false
		}
		s.decideKey(q, name)
		return true
	}
	switch {
	case name == "esc":
		s.reply(q, tool.Decision{Verdict: tool.Deny})
		s.interrupt()
		return true
	case name == "tab" && s.questions.focused:
		s.questions.focused = false
		return true
	case (name == "left" || name == "right") && s.editor.Empty() && len(s.questions.open) > 1:
		n := len(s.questions.open)
		s.questions.at = (s.questions.at + map[string]int{"left": n - 1, "right": 1}[name]) % n
		return true
	case !s.calm(q):
		return false
	}
	return s.choose(q, name)
}

// decideKey handles a key in a stage in which single keys decide.
func (s *Screen) decideKey(q *question, name string) {
	switch q.stage {
	case always:
		s.alwaysKey(q, name)
	case picking:
		s.pickKey(q, name)
	case rerunning:
		s.rerunKey(q, name)
	}
}

// choose does what a key of the question stands for.
func (s *Screen) choose(q *question, name string) bool {
	if s.chooseEffects(q, name) {
		return true
	}
	switch name {
	case "y":
		if len(q.fields) > 0 {
			s.takeText(q, filling)
			return true
		}
		s.reply(q, tool.Decision{Verdict: tool.Allow})
	case "n":
		s.takeText(q, refusing)
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
			s.takeText(q, editing)
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
		s.reply(q, tool.Decision{Verdict: tool.Deny, Reason: s.editor.Text()})
	case "esc":
		s.giveBack(q)
		q.stage = choosing
	default:
		return false
	}
	return true
}

// alwaysKey handles a key while the user chooses a rule and how long it lasts. Nothing is saved before Enter.
func (s *Screen) alwaysKey(q *question, name string) {
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
		s.tell(humanize.Count(n, "question") + " answered by " + approval.RuleList(offer))
	}
}

// editKey handles a key while the user edits a command. Enter runs it.
func (s *Screen) editKey(q *question, name string) bool {
	switch name {
	case "esc":
		s.giveBack(q)
		q.stage = choosing
	case "enter":
		d, ok := approval.Edited(q.r, s.editor.Text())
		if !ok {
			q.problem = "this call can't use the edited command"
			return true
		}
		s.reply(q, d)
	default:
		return false
	}
	return true
}

// pickKey handles a key while the user goes through the hunks of a diff.
func (s *Screen) pickKey(q *question, name string) {
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
		if s.editor.Empty() && s.keyAt.Sub(q.shown) < calm { // it was meant for the prompt
			return true
		}
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
