package tui

import (
	"context"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// owner is what gets the keys. Exactly one does: a key that it doesn't use is for the prompt, never for something else
// that is open. So a letter that was typed into a search doesn't answer a question.
type owner uint8

// The owners, in the order in which they get the keys.
const (
	viewKeys     owner = iota // a view on the alternate screen
	testKeys                  // /keys: they are shown
	choiceKeys                // a choice that a command offers
	searchKeys                // the search in earlier prompts
	menuKeys                  // the list of completions
	helpKeys                  // the list of keys
	questionKeys              // a question, unless text was typed that isn't for it
	promptKeys
)

// owner is the first thing that is open.
func (s *Screen) owner() owner {
	switch {
	case s.view != nil:
		return viewKeys
	case s.testing:
		return testKeys
	case s.choice != nil:
		return choiceKeys
	case s.lookup.active:
		return searchKeys
	case s.complete.open(s):
		return menuKeys
	case s.showKeys:
		return helpKeys
	case s.asked() != nil && s.asked().owns(s):
		return questionKeys
	}
	return promptKeys
}

// key hands a key to its owner.
func (s *Screen) key(ctx context.Context, k keys.Key) {
	owner := s.owner()
	if owner != viewKeys {
		s.note = ""
		s.offered, s.offer = s.offer, nothing
	}
	used := owner != promptKeys
	switch owner {
	case viewKeys:
		s.viewKey(k)
	case testKeys:
		s.tested(keys.Sent{Key: k})
	case choiceKeys:
		s.choiceKey(ctx, k)
	case searchKeys:
		used = s.lookup.key(s, k)
	case menuKeys:
		used = s.complete.key(s, ctx, k)
	case helpKeys:
		used = k.String() == "esc"
		s.showKeys = !used
	case questionKeys:
		used = s.questionKey(s.asked(), k)
	}
	s.answering = used && owner == questionKeys
	if !used {
		s.promptKey(ctx, k)
	}
	if s.vimActive() {
		s.vim.Rest(&s.editor)
	}
}

// pasted hands a pasted text to its owner. It never answers anything.
func (s *Screen) pasted(ctx context.Context, text string) {
	s.answering = false
	switch s.owner() {
	case viewKeys:
		s.view.Paste(text)
	case choiceKeys:
		if !s.choice.keyed() {
			s.choice.narrow(visible(text))
		}
	case searchKeys:
		s.lookup.query += visible(text)
		s.lookup.find(s, 1)
	case testKeys:
	case questionKeys:
		if !s.asked().stage.letters() {
			s.paste(ctx, text)
		}
	default:
		s.paste(ctx, text)
	}
}

// asked is the question that is shown; nil: no question.
func (s *Screen) asked() *question {
	if s.settling {
		return nil
	}
	return s.questions.current()
}

// owns reports whether keys are for the question: the prompt is empty, Tab was pressed, or the text in the prompt is
// for it.
func (q *question) owns(s *Screen) bool { return q.typing || s.editor.Empty() || s.questions.focused }

// focus is Tab: keys are for the question although text was typed.
func (s *Screen) focus(q *question) {
	if q.stage == filling {
		s.takeText(q, filling)
		q.restore(s)
		return
	}
	s.questions.focused = true
	s.complete.close()
}

// letters reports whether single keys decide in a stage, so that nothing else is typed.
func (st stage) letters() bool { return st == always || st == picking || st == rerunning }

// takeText lets the user type text for a question. What is in the prompt comes back after that.
func (s *Screen) takeText(q *question, st stage) {
	q.stage = st
	if !q.typing {
		q.typing, q.draft = true, s.editor.Text()
		s.editor.Clear()
		s.complete.close()
	}
}

// giveBack ends what takeText began.
func (s *Screen) giveBack(q *question) {
	if q.typing {
		s.editor.Set(q.draft)
		q.typing, q.draft = false, ""
	}
}
