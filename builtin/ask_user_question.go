package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

//go:embed ask_user_question.md
var askUserQuestionText string

type askUserQuestionArgs struct {
	Questions []askedQuestion `json:"questions" minItems:"1" maxItems:"4" description:"Questions to ask." ignored:"metadata"`
}

type askedQuestion struct {
	Question string        `json:"question" description:"The question, as a full sentence."`
	Header   string        `json:"header,omitempty" description:"Short label for the question (1-2 words)."`
	Options  []askedOption `json:"options" description:"Answers to choose from." minItems:"2" maxItems:"4"`
	Several  bool          `json:"multiSelect,omitempty" description:"Allow several answers."`
}

type askedOption struct {
	Label       string `json:"label" description:"Answer text (1-5 words)."`
	Description string `json:"description,omitempty" description:"What choosing this answer means." ignored:"preview"`
}

// Maximum lengths of questions, in characters.
const (
	maxQuestion = 2000
	maxOption   = 500
)

func askUserQuestion() tool.Tool {
	return tool.Define(tool.Def[askUserQuestionArgs]{
		Name: "ask_user_question", DisplayName: "AskUserQuestion",
		Summary:     "Ask the user multiple-choice questions",
		Description: strings.TrimSpace(askUserQuestionText), Kind: tool.Think, Needs: tool.NeedsUser, Personal: true,
		Prepare: func(_ context.Context, a askUserQuestionArgs) (*tool.Invocation, error) {
			if err := checkQuestions(a.Questions); err != nil {
				return nil, err
			}
			return &tool.Invocation{
				Description: "ask: " + a.Questions[0].title() + more(len(a.Questions)-1),
				Access:      []tool.Access{tool.Nothing},
				Form:        questionForm(a.Questions),
				MustAsk:     true,
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					if err := ctx.Err(); err != nil {
						return tool.Result{}, err
					}
					if l.Call.By != "" {
						return tool.Result{}, tool.Errorf(tool.ExecutionDenied,
							"ask the user: a subagent can't; put the question into your report")
					}
					return readAnswers(a.Questions, l.Decision.Answer)
				},
			}, nil
		},
	})
}

// title returns the header of the question, or its text.
func (q askedQuestion) title() string {
	if h := strings.TrimSpace(q.Header); h != "" {
		return h
	}
	return q.Question
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return " and " + humanize.Count(n, "more question")
}

// checkQuestions checks what the schema can't express.
func checkQuestions(questions []askedQuestion) error {
	var bad []tool.Violation
	within := func(at, text string, least, limit int) {
		if n := len([]rune(strings.TrimSpace(text))); n < least || n > limit {
			bad = append(bad, tool.Violation{Param: at, Reason: fmt.Sprintf("must have %d to %d characters, got %d",
				least, limit, n)})
		}
	}
	for i, q := range questions {
		at := fmt.Sprintf("questions[%d].", i)
		within(at+"question", q.Question, 1, maxQuestion)
		within(at+"header", q.Header, 0, maxOption)
		labels := map[string]bool{}
		for j, o := range q.Options {
			at := fmt.Sprintf("%soptions[%d].", at, j)
			within(at+"label", o.Label, 1, maxOption)
			within(at+"description", o.Description, 0, maxOption)
			if labels[o.Label] {
				bad = append(bad, tool.Violation{Param: at + "label", Reason: "is that of another option"})
			}
			labels[o.Label] = true
		}
	}
	if len(bad) > 0 {
		return &tool.ParamError{Violations: bad}
	}
	return nil
}

// questionForm asks for q1, q2, …, each with q1_other for a free-text answer.
func questionForm(questions []askedQuestion) json.RawMessage {
	var f form
	for i, q := range questions {
		name := fmt.Sprintf("q%d", i+1)
		var choices []choice
		for _, o := range q.Options {
			choices = append(choices, choice{Const: o.Label, Title: o.Label, Description: o.Description})
		}
		if q.Several {
			f.many(name, q.Header, q.Question, choices)
		} else {
			f.one(name, q.Header, q.Question, choices)
		}
		f.text(name+"_other", "Other", "Type your own answer")
	}
	return f.json()
}

// readAnswers returns the text of the user's answers for the model.
func readAnswers(questions []askedQuestion, raw json.RawMessage) (tool.Result, error) {
	var filled map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &filled); err != nil {
			return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "ask the user: can't read the answers: %w", err)
		}
	}
	var b strings.Builder
	var shown []string
	answered := 0
	for i, q := range questions {
		name := fmt.Sprintf("q%d", i+1)
		given := append(words(filled[name]), words(filled[name+"_other"])...)
		answer := "(no answer)"
		if len(given) > 0 {
			answer = strings.Join(given, "; ")
			answered++
		}
		fmt.Fprintf(&b, "\n**%s**: %s", strings.TrimSpace(q.title()), answer)
		if len(questions) > 1 {
			answer = strings.TrimSpace(q.title()) + ": " + answer
		}
		shown = append(shown, answer)
	}
	if answered == 0 {
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "ask the user: no answers came back; ask in your "+
			"final answer, or continue with a reasonable assumption")
	}
	result := tool.TextResult("The user answered:" + b.String())
	result.Display = tool.Markdown(strings.Join(shown, ", "))
	return result, nil
}

// words returns the texts of an answer: one, or several.
func words(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if s := strings.TrimSpace(v); s != "" {
			out = append(out, s)
		}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, words(s)...)
			}
		}
	}
	return out
}

// form is the schema of an answer: a flat object, as in MCP elicitation. Its fields keep their order.
type form struct{ fields []field }

type field struct {
	name   string
	schema fieldSchema
}

type fieldSchema struct {
	Type        string   `json:"type"` // string, or array for several of items
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	OneOf       []choice `json:"oneOf,omitempty"`
	Items       *several `json:"items,omitempty"`
}

type several struct {
	AnyOf []choice `json:"anyOf"`
}

type choice struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// visible returns the choice with invisible characters shown; the value itself is unchanged.
func (c choice) visible() choice {
	return choice{c.Const, tool.Visible(c.Title), tool.Visible(c.Description)}
}

// text adds a field for text.
func (f *form) text(name, title, description string) {
	f.fields = append(f.fields, field{name, fieldSchema{
		Type: "string", Title: tool.Visible(title), Description: tool.Visible(description),
	}})
}

// one adds a field for one of several choices.
func (f *form) one(name, title, description string, choices []choice) {
	s := fieldSchema{Type: "string", Title: tool.Visible(title), Description: tool.Visible(description)}
	for _, c := range choices {
		s.OneOf = append(s.OneOf, c.visible())
	}
	f.fields = append(f.fields, field{name, s})
}

// many adds a field for any number of choices.
func (f *form) many(name, title, description string, choices []choice) {
	s := fieldSchema{
		Type: "array", Title: tool.Visible(title), Description: tool.Visible(description), Items: &several{},
	}
	for _, c := range choices {
		s.Items.AnyOf = append(s.Items.AnyOf, c.visible())
	}
	f.fields = append(f.fields, field{name, s})
}

func (f *form) json() json.RawMessage {
	out := []byte(`{"type":"object","properties":{`)
	for i, fd := range f.fields {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(fd.name) // a string
		schema, _ := json.Marshal(fd.schema)
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, "}}"...)
}
