package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

// Questions about the calls of an answer arrive in any order. They used to be shown as they came.
// questionOf is a question about a call, with the rules that it offers.
func questionOf(id string, offer ...string) *question {
	return newQuestion(approval.Rules{}.Question(tool.Request{Call: tool.Call{ID: id}}, tool.Decision{Offer: offer}))
}

func TestQuestionsInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	of := func(id string) tool.Request { return tool.Request{Call: tool.Call{ID: id}} }
	var calls callList
	for _, id := range []string{"1", "2", "3"} {
		calls.find(of(id))
	}
	order := func(l *questionList) (out string) {
		for _, q := range l.open {
			out += q.Request.Call.ID
		}
		return out
	}
	var l questionList
	for _, id := range []string{"3", "4", "1", "2"} { // 4 isn't in the list
		l.add(questionOf(id), calls.position)
	}
	if got := order(&l); got != "1234" || l.current().Request.Call.ID != "1" {
		t.Errorf("the order is %s, at %d", got, l.at)
	}
	l = questionList{}
	read := questionOf("2")
	read.printed = true
	l.add(read, calls.position)
	l.add(questionOf("3"), calls.position)
	l.add(questionOf("1"), calls.position)
	if got := order(&l); got != "123" || l.current().Request.Call.ID != "2" {
		t.Errorf("the order is %s, at %d: the question that is read must stay", got, l.at)
	}
}

// A text beside a question is wrapped between words: a terminal of 40 columns cut "which" in two.
func TestTextsAreWrapped(t *testing.T) {
	const text = "curl -sS https://example.com/data > data\nIt may send anything to that host, which can't be undone."
	var words []string
	for _, l := range details(tool.Literal(text), 40, false) {
		if l.Width() > 40 {
			t.Errorf("%d columns: %q", l.Width(), l.String())
		}
		words = append(words, strings.Fields(l.String())...)
	}
	if want := strings.Fields(text); !slices.Equal(words, want) {
		t.Errorf("words %q, want %q", words, want)
	}
}
