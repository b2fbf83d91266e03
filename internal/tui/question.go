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
	shown   time.Time // since when it is visible
	stage   stage
	explain bool // why it is asked is shown
	offer   int  // the rule that "always" would apply
	problem string

	fields []approval.Field // of a form
	answer map[string]any
}

// stage is what the user is answering.
type stage uint8

const (
	choosing stage = iota
	refusing       // typing why not
	always         // choosing a rule
	filling        // a form
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
	s.send(func(s *Screen) { s.questions.open = append(s.questions.open, q) })
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
	now := s.o.Now()
	return (s.editor.Empty() || s.questions.focused) && !q.shown.IsZero() && now.Sub(q.shown) >= calm && now.Sub(s.lastKey) >= calm
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
		q.stage, q.offer = always, 0
	case "w":
		q.explain = !q.explain
	case "e":
		if _, _, ok := approval.Proposal(q.r); !ok {
			return false
		}
		s.editProposal(q)
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

// alwaysKey handles a key while the user chooses a rule. Nothing is saved before a scope is chosen.
func (s *Screen) alwaysKey(q *question, name string) bool {
	scope := ForSession
	switch name {
	case "up":
		q.offer = max(0, q.offer-1)
		return true
	case "down":
		q.offer = min(len(q.why.Offer)-1, q.offer+1)
		return true
	case "esc":
		q.stage = choosing
		return true
	case "enter", "s":
	case "p":
		scope = ForProject
	case "u":
		scope = ForUser
	default:
		return true
	}
	offer := q.why.Offer[q.offer]
	path, err := s.o.Host.Allow(q.r, offer, scope)
	if err != nil {
		q.problem = "can't save the rule: " + err.Error()
		return true
	}
	if path != "" {
		s.tell("saved to " + path)
	}
	s.reply(q, tool.Decision{Verdict: tool.Allow, Remember: offer})
	return true
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
