package tui

import (
	"context"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

const (
	// calm is how long a question must be visible, and no key pressed, before a key answers it. What the user types
	// just when a question appears was meant for the prompt.
	calm = 400 * time.Millisecond
	// brief is the same after a key that a question took: the user is answering questions.
	brief = 150 * time.Millisecond
)

// question is an approval or a form that waits for the user.
type question struct {
	*approval.Question

	reply   chan tool.Decision
	printed bool      // its diff or command is above the live area
	long    bool      // that doesn't fit on the screen
	shown   time.Time // since when it is visible
	stage   stage
	list    list // what the user chooses from: answers, rules, choices of a field, hunks
	explain bool // why it is asked is shown
	reasons []approval.Reason
	scope   approval.Scope // how long the rule of "always" would apply
	problem string
	typing  bool   // the text in the prompt is for it,
	draft   string // and this was there before

	field int      // of a form, that is asked for
	given []string // the answers so far, as they were typed

	take []bool // which parts are taken
}

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

// newQuestion makes a question for the screen.
func newQuestion(q *approval.Question) *question {
	out := &question{Question: q, reply: make(chan tool.Decision, 1), given: make([]string, len(q.Fields))}
	out.enter(choosing)
	if len(q.Request.Form) > 0 && q.Request.Declaration.Origin == "" {
		out.enter(filling)
	}
	return out
}

// enter goes to a stage, with what is chosen from in it. No answer is highlighted: Enter alone approves nothing.
func (q *question) enter(st stage) {
	q.stage, q.list = st, list{at: -1}
	switch st {
	case choosing:
		q.list.items = q.answers()
		q.list.least = slices.IndexFunc(q.shownChoices(),
			func(c approval.Choice) bool { return c.Act == approval.Deny })
	case always:
		q.scope, q.list.at = approval.ForSession, 0
		for _, offer := range q.Why.Offer {
			q.list.items = append(q.list.items, item{text: approval.RuleList(offer), about: permission.Extent(offer)})
		}
	case picking:
		q.take, q.list.at = make([]bool, len(q.Parts)), 0
		q.list.items = make([]item, len(q.Parts))
	case filling:
		q.askField(0)
	}
}

// Ask puts a question to the user. It is an [approval.Front].
func (s *Screen) Ask(ctx context.Context, asked *approval.Question) (tool.Decision, error) {
	if asked.Invalid != nil {
		return tool.Decision{}, asked.Invalid
	}
	q := newQuestion(asked)
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

// current is the question that is shown; nil: no question.
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
	at := position(q.Request.Call)
	i := slices.IndexFunc(l.open, func(o *question) bool { return position(o.Request.Call) > at })
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

// hide is called after something else was on the screen: the user hasn't seen a question since.
func (l *questionList) hide() {
	for _, q := range l.open {
		q.shown = time.Time{}
	}
}

// withdraw removes the question about a call that was answered otherwise.
func (s *Screen) withdraw(c tool.Call) {
	s.drop(func(q *question) bool { return q.Request.Call.By == c.By && q.Request.Call.ID == c.ID })
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

// decide answers the question that is shown, or says why it can't be answered so.
func (s *Screen) decide(q *question, a approval.Answer) {
	o, err := q.Decide(a)
	if err != nil {
		q.problem = err.Error()
		return
	}
	s.calls.answered(q, a, s.layout())
	if o.Saved != "" {
		s.tell("saved " + approval.RuleList(o.Remember) + " to " + o.Saved)
	}
	s.reply(q, o.Decision)
}

// ready reports whether a key was meant for the question: it was visible before, and no other key was pressed.
func (s *Screen) ready(q *question) bool {
	wait := calm
	if s.answering {
		wait = brief
	}
	return !q.shown.IsZero() && s.keyAt.Sub(q.shown) >= wait && s.keyAt.Sub(s.lastKey) >= wait
}

// seen reports whether the question was visible for a moment: a key that closed a search or a list may be followed by
// others that were meant for that.
func (s *Screen) seen(q *question) bool { return !q.shown.IsZero() && s.keyAt.Sub(q.shown) >= brief }

// questionKey handles a key of a question. It reports whether the question used the key; others are for the prompt.
func (s *Screen) questionKey(q *question, k keys.Key) bool {
	name := k.String()
	switch q.stage {
	case filling:
		return s.fillKey(q, k)
	case refusing:
		return s.textKey(q, name, approval.Deny)
	case editing:
		return s.textKey(q, name, approval.Edit)
	}
	decide := map[stage]func(*question, string){always: s.alwaysKey, picking: s.pickKey, rerunning: s.rerunKey}
	if key := decide[q.stage]; key != nil {
		if k.Mods&keys.Ctrl != 0 { // interrupt, suspend, view the transcript
			return false
		}
		key(q, name)
		return true
	}
	lit := q.list.at >= 0
	switch {
	case name == "esc":
		s.interrupt() // first: the model must not be asked again after the answer
		s.reply(q, tool.Decision{Verdict: tool.Deny})
		s.settling = len(s.questions.open) > 0 // they are withdrawn
		return true
	case name == "tab" && s.questions.focused:
		s.questions.focused = false
		return true
	case (name == "left" || name == "right") && s.editor.Empty() && len(s.questions.open) > 1:
		n := len(s.questions.open)
		q.list.at = -1
		s.questions.at = (s.questions.at + map[string]int{"left": n - 1, "right": 1}[name]) % n
		return true
	case name == "up" || name == "down": // a key that is held moves on
		return (lit && s.answering || s.ready(q)) && q.list.move(name)
	case name == "enter" && lit:
		if s.ready(q) {
			s.choose(q, q.list.items[q.list.chosen()].key)
		}
		return true
	case !s.ready(q):
		return false
	}
	return s.choose(q, name)
}

// choose does what a key of the question stands for.
func (s *Screen) choose(q *question, name string) bool {
	key := name
	if name == "n" && q.Tried() {
		key = "d"
	}
	c, ok := q.Find(approval.Screen, key)
	if !ok {
		return false
	}
	switch c.Act {
	case approval.Once:
		if len(q.Fields) > 0 {
			s.takeText(q, filling)
			q.enter(filling)
		} else {
			s.decide(q, approval.Answer{Act: approval.Once})
		}
	case approval.Deny:
		if name == "n" {
			s.takeText(q, refusing)
		} else {
			s.decide(q, approval.Answer{Act: approval.Deny})
		}
	case approval.Always:
		q.enter(always)
	case approval.View:
		s.viewQuestion(q)
	case approval.Explain:
		if q.explain = !q.explain; q.explain {
			q.reasons = q.Explain()
		}
	case approval.Edit:
		if q.Command == nil {
			s.editProposal(q)
			break
		}
		s.takeText(q, editing)
		s.editor.Set(q.Proposal)
	case approval.Parts:
		q.enter(picking)
	case approval.Rerun:
		s.space()
		s.print(cell.Styled("? Run again, with your permissions and the network:", cell.Yellow))
		s.print(commandText(*q.Command)...)
		q.stage, q.shown = rerunning, time.Time{}
	}
	return true
}

// textKey handles a key while the user types why not, or edits a command.
func (s *Screen) textKey(q *question, name string, act approval.Act) bool {
	switch name {
	case "enter":
		switch {
		case act == approval.Edit && s.editor.Empty():
			q.problem = "type a command, or press Esc to go back"
		case act == approval.Deny || s.seen(q):
			s.decide(q, approval.Answer{Act: act, Text: s.editor.Text()})
		}
	case "esc":
		s.giveBack(q)
		q.enter(choosing)
	default:
		return false
	}
	return true
}

// alwaysKey handles a key while the user chooses a rule and how long it lasts. Nothing is saved before Enter.
func (s *Screen) alwaysKey(q *question, name string) {
	q.problem = ""
	switch name {
	case "up", "down":
		q.list.move(name)
	case "esc":
		q.enter(choosing)
	case "enter":
		if s.ready(q) {
			s.allowAlways(q)
		}
	default:
		for _, o := range q.scopes() {
			if o.key == name {
				q.scope = o.scope
			}
		}
	}
}

// allowAlways applies the rule that was chosen, and approves the call.
func (s *Screen) allowAlways(q *question) {
	offer := q.Why.Offer[q.list.at]
	s.decide(q, approval.Answer{Act: approval.Always, Rule: offer, Scope: q.scope})
	if q.problem != "" {
		return
	}
	n := 0
	for _, o := range s.questions.open { // the executor withdraws them
		if o.Settled() {
			n++
		}
	}
	if s.settling = n > 0; s.settling {
		s.tell(humanize.Count(n, "question") + " answered by " + approval.RuleList(offer))
	}
}

// pickKey handles a key while the user goes through the hunks of a diff.
func (s *Screen) pickKey(q *question, name string) {
	switch name {
	case "y", "n":
		q.take[q.list.at] = name == "y"
		q.list.move("down")
	case "space":
		q.take[q.list.at] = !q.take[q.list.at]
	case "left", "up":
		q.list.move("up")
	case "right", "down":
		q.list.move("down")
	case "esc":
		q.enter(choosing)
	case "enter":
		if s.seen(q) {
			s.writeHunks(q)
		}
	}
}

// writeHunks approves the parts that were taken.
func (s *Screen) writeHunks(q *question) {
	if !slices.Contains(q.take, true) {
		q.problem = "nothing is taken: y takes a part, Esc goes back"
		return
	}
	s.decide(q, approval.Answer{Act: approval.Parts, Take: q.take})
}

// rerunKey handles a key while the user decides whether a tried command runs again, for real.
func (s *Screen) rerunKey(q *question, name string) {
	switch name {
	case "y":
		if s.ready(q) {
			s.decide(q, approval.Answer{Act: approval.Rerun})
		}
	case "n", "esc":
		q.enter(choosing)
		q.shown = time.Time{}
	}
}
