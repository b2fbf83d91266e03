package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/tool"
)

// IDs of answers that no choice of a question has. Choices of a form follow choicePrefix.
const (
	answerNo     = "no"
	choicePrefix = "choice-"
)

// ask is the session's [approval.Front]: the editor asks the user.
func (t *talk) ask(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	if q.Request.Call.ID == "" { // not a call of the model: a file that a prompt names
		q.Request.Call.ID = "question-" + record.NewID()
	}
	t.announce(q.Request) // the editor must know the call before the question
	if len(q.Request.Form) > 0 {
		return t.askForm(ctx, q)
	}
	for {
		id, err := t.permission(ctx, q.Request, answers(q))
		c, _ := q.Find(approval.Editor, id)
		if err == nil && c.Act == approval.Rerun { // shows the command, and asks again
			if id, err = t.permission(ctx, runAgain(q), runAnswers(id)); id == answerNo {
				continue
			}
		}
		if err != nil {
			return tool.Decision{}, unanswered(ctx, q, err)
		}
		a := approval.Answer{Act: c.Act, Rule: c.Rule, Scope: c.Scope}
		o, err := q.Decide(a)
		if err != nil && c.Act == approval.Always {
			t.note("warning: the rule applies to this session only: " + err.Error())
			a.Scope = approval.ForSession
			o, err = q.Decide(a)
		}
		return o.Decision, err
	}
}

// answers returns the options for the user: for a call, or for the effects of a tried call.
func answers(q *approval.Question) []permissionOption {
	kinds := map[approval.Act]string{approval.Always: "allow_always", approval.Deny: "reject_once"}
	var out []permissionOption
	for _, c := range q.List(approval.Editor) {
		k := c.Keys[approval.Editor]
		out = append(out, permissionOption{k.Key, k.Label, cmp.Or(kinds[c.Act], "allow_once")})
	}
	return out
}

// runAgain is the question whether a tried call runs for real.
func runAgain(q *approval.Question) tool.Request {
	r, c := q.Request, *q.Command
	c.Warnings = []string{"It runs with your permissions and the network. What the trial changed is discarded."}
	r.Confirm = c
	return r
}

func runAnswers(id string) []permissionOption {
	return []permissionOption{{id, "Run it", "allow_once"}, {answerNo, "Back", "reject_once"}}
}

// permission asks the editor to choose, and returns the ID of the option.
func (t *talk) permission(ctx context.Context, r tool.Request, options []permissionOption) (string, error) {
	call := describe(r)
	call.Status = "pending"
	var response struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	request := map[string]any{"sessionId": t.id, "toolCall": call, "options": options}
	if err := t.server.conn.call(ctx, "session/request_permission", request, &response); err != nil {
		return "", err
	}
	if response.Outcome.Outcome != "selected" {
		return "", context.Canceled
	}
	for _, o := range options {
		if o.ID == response.Outcome.OptionID {
			return o.ID, nil
		}
	}
	return "", errors.New("the editor answered with an option that was not offered: " +
		strconv.Quote(response.Outcome.OptionID))
}

// unanswered returns the error of a question without an answer.
func unanswered(ctx context.Context, q *approval.Question, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return tool.Unapproved(q.Request, q.Why, "the editor didn't answer: "+err.Error())
}

// askForm asks a question with a form, if the editor can show one, or with a choice.
func (t *talk) askForm(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	if t.server.can().Elicitation.Form == nil {
		return t.askChoice(ctx, q)
	}
	r := q.Request
	message := r.Description
	if r.Confirm != nil {
		message = r.Confirm.Markdown()
	}
	var response struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	request := map[string]any{
		"mode": "form", "sessionId": t.id, "toolCallId": callID(r.Call), "message": message, "requestedSchema": r.Form,
	}
	if err := t.server.conn.call(ctx, "elicitation/create", request, &response); err != nil {
		return tool.Decision{}, unanswered(ctx, q, err)
	}
	if response.Action != "accept" {
		return tool.Decision{}, nil
	}
	return tool.Decision{Verdict: tool.Allow, Answer: response.Content}, nil
}

// askChoice turns a form with one choice into the options of a permission request. Other forms can't be shown.
func (t *talk) askChoice(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	fields := q.Fields
	if q.Invalid != nil || len(fields) != 1 || fields[0].Type == "array" || len(fields[0].Choices()) == 0 {
		return tool.Decision{}, tool.Unapproved(q.Request, q.Why, "this editor can't show forms")
	}
	var options []permissionOption
	for i, c := range fields[0].Choices() {
		options = append(options, permissionOption{choicePrefix + strconv.Itoa(i+1), tool.Visible(c.Title),
			"allow_once"})
	}
	chosen, err := t.permission(ctx, q.Request, append(options, permissionOption{answerNo, "No answer", "reject_once"}))
	if err != nil {
		return tool.Decision{}, unanswered(ctx, q, err)
	}
	if chosen == answerNo {
		return tool.Decision{}, nil
	}
	answer := map[string]any{}
	if err := fields[0].Answer(chosen[len(choicePrefix):], answer); err != nil {
		return tool.Decision{}, tool.Unapproved(q.Request, q.Why, err.Error())
	}
	o, err := q.Decide(approval.Answer{Act: approval.Once, Form: answer})
	return o.Decision, err
}
