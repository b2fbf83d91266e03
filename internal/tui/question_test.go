package tui

import (
	"testing"

	"github.com/adze-dev/adze/tool"
)

// Questions about the calls of an answer arrive in any order. They used to be shown as they came.
func TestQuestionsInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	of := func(id string) tool.Request { return tool.Request{Call: tool.Call{ID: id}} }
	var calls callList
	for _, id := range []string{"1", "2", "3"} {
		calls.find(of(id))
	}
	order := func(l *questionList) (out string) {
		for _, q := range l.open {
			out += q.r.Call.ID
		}
		return out
	}
	var l questionList
	for _, id := range []string{"3", "4", "1", "2"} { // 4 isn't in the list
		l.add(&question{r: of(id)}, calls.position)
	}
	if got := order(&l); got != "1234" || l.current().r.Call.ID != "1" {
		t.Errorf("the order is %s, at %d", got, l.at)
	}
	l = questionList{}
	l.add(&question{r: of("2"), printed: true}, calls.position)
	l.add(&question{r: of("3")}, calls.position)
	l.add(&question{r: of("1")}, calls.position)
	if got := order(&l); got != "123" || l.current().r.Call.ID != "2" {
		t.Errorf("the order is %s, at %d: the question that is read must stay", got, l.at)
	}
}
