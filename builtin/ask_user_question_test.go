package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestAskUserQuestion(t *testing.T) {
	tooltest.Check(t, one(t, "ask_user_question"), // no user answers, so a run fails
		tooltest.Try{Args: `{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`, Fails: true},
	)
}

var twoQuestions = args{"questions": []args{
	{"question": "Which database?", "header": "DB", "options": []args{{"label": "Postgres", "description": "as now"}, {"label": "SQLite"}}},
	{"question": "What to test?", "multiSelect": true, "options": []args{{"label": "Units"}, {"label": "All\u202e"}, {"label": "None"}}},
}}

// The form is flat, in order, and shows invisible characters; values are unchanged.
func TestQuestionForm(t *testing.T) {
	p := newPlanner(t, t.TempDir(), permission.Yolo, chose(`{"q1":"Postgres"}`))
	call(t, p.exec, "ask_user_question", twoQuestions)
	want := `{"type":"object","properties":{` +
		`"q1":{"type":"string","title":"DB","description":"Which database?","oneOf":[{"const":"Postgres","title":"Postgres","description":"as now"},{"const":"SQLite","title":"SQLite"}]},` +
		`"q1_other":{"type":"string","title":"Other","description":"Type your own answer"},` +
		`"q2":{"type":"array","description":"What to test?","items":{"anyOf":[{"const":"Units","title":"Units"},{"const":"All` + "\u202e" + `","title":"All\\u202E"},{"const":"None","title":"None"}]}},` +
		`"q2_other":{"type":"string","title":"Other","description":"Type your own answer"}}}`
	if len(p.asked) != 1 || !p.asked[0].MustAsk {
		t.Fatalf("asked %v", p.asked)
	}
	if d := cmp.Diff(want, string(p.asked[0].Form)); d != "" {
		t.Error(d)
	}
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		mode   permission.Mode
		answer tool.Decision
		status tool.Status
		want   string
	}{
		"chosen":        {permission.Default, chose(`{"q1":"SQLite","q2":["Units","None"]}`), "success", "The user answered:\n**DB**: SQLite\n**What to test?**: Units; None"},
		"their own":     {permission.Plan, chose(`{"q1_other":" MySQL ","q2":[],"q2_other":"docs"}`), "success", "**DB**: MySQL\n**What to test?**: docs"},
		"both":          {permission.Yolo, chose(`{"q2":["Units"],"q2_other":"docs"}`), "success", "**DB**: (no answer)\n**What to test?**: Units; docs"},
		"strange keys":  {permission.Default, chose(`{"q9":"x","1":"y","q1":7}`), "error", "no answers came back"},
		"nothing":       {permission.Default, tool.Decision{Verdict: tool.Allow}, "error", "no answers came back"},
		"not an object": {permission.Default, chose(`"yes"`), "error", "can't read the answers"},
		"declined":      {permission.Yolo, tool.Decision{Reason: "later"}, "denied", "denied by the user: later"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t, t.TempDir(), tt.mode, tt.answer)
			o := call(t, p.exec, "ask_user_question", twoQuestions)
			if o.Status != tt.status || !strings.Contains(o.Result.Text(), tt.want) || len(p.asked) != 1 {
				t.Errorf("%s: %s", o.Status, o.Result.Text())
			}
		})
	}
}

// Only the first agent asks the user.
func TestSubagentsDoNotAsk(t *testing.T) {
	p := newPlanner(t, t.TempDir(), permission.Default, chose(`{"q1":"SQLite"}`))
	if o := call(t, p.exec.Child(nil, "explore-1", nil), "ask_user_question", twoQuestions); o.Status != tool.StatusDenied {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
}
