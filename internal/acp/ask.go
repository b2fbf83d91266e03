package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

// IDs of the answers to a question. Choices of a form follow choicePrefix.
const (
	answerOnce   = "once"
	answerAlways = "always"
	answerNo     = "no"
	answerRun    = "run"
	choicePrefix = "choice-"
)

// ask is the session's [tool.Asker]: the editor asks the user.
func (t *talk) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	if r.Call.ID == "" { // not a call of the model: a file that a prompt names
		r.Call.ID = "question-" + session.NewID()
	}
	t.announce(r) // the editor must know the call before the question
	if len(r.Form) > 0 {
		return t.askForm(ctx, r, why)
	}
	f, _ := r.Confirm.(tool.Effects)
	answer, err := t.permission(ctx, r, answers(why, f))
	for err == nil && answer == answerRun { // shows the command, and asks again
		if answer, err = t.permission(ctx, runAgain(r, f), runAnswers()); answer == answerRun {
			return approval.RunAgain(f), nil
		}
		if err == nil {
			answer, err = t.permission(ctx, r, answers(why, f))
		}
	}
	if err != nil {
		return tool.Decision{}, unanswered(ctx, r, why, err)
	}
	switch answer {
	case answerOnce:
		return tool.Decision{Verdict: tool.Allow}, nil
	case answerAlways:
		t.save(r, why.Offer[0])
		return tool.Decision{Verdict: tool.Allow, Remember: why.Offer[0]}, nil
	}
	return tool.Decision{}, nil
}

// answers returns the options for the user: for a call, or for the effects of a tried call.
func answers(why tool.Decision, f tool.Effects) []permissionOption {
	yes, no := "Allow once", "No"
	if len(f.Changes) > 0 {
		yes, no = "Keep", "Discard"
	}
	out := []permissionOption{{answerOnce, yes, "allow_once"}}
	if len(why.Offer) > 0 {
		out = append(out, permissionOption{answerAlways, "Always allow " + approval.RuleList(why.Offer[0]), "allow_always"})
	}
	if f.CanRunAgain() {
		out = append(out, permissionOption{answerRun, "Discard, and run again with network …", "allow_once"})
	}
	return append(out, permissionOption{answerNo, no, "reject_once"})
}

// runAgain is the question whether a tried call runs for real.
func runAgain(r tool.Request, f tool.Effects) tool.Request {
	f.Command.Warnings = []string{"It runs with your permissions and the network. What the trial changed is discarded."}
	r.Confirm = f.Command
	return r
}

func runAnswers() []permissionOption {
	return []permissionOption{{answerRun, "Run it", "allow_once"}, {answerNo, "Back", "reject_once"}}
}

// save saves a rule for the project or, if that fails, applies it for the session.
func (t *talk) save(r tool.Request, offer string) {
	if _, err := t.session.Directory.SaveRule(session.ForProject, offer); err != nil {
		t.note("warning: the rule applies to this session only: " + err.Error())
	}
	t.session.Policy.Remember(r, offer)
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
	return "", errors.New("the editor answered with an option that was not offered: " + strconv.Quote(response.Outcome.OptionID))
}

// unanswered returns the error of a question without an answer.
func unanswered(ctx context.Context, r tool.Request, why tool.Decision, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return tool.Unapproved(r, why, "the editor didn't answer: "+err.Error())
}

// askForm asks a question with a form, if the editor can show one, or with a choice.
func (t *talk) askForm(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	t.server.mu.Lock()
	can := t.server.client.Elicitation.Form != nil
	t.server.mu.Unlock()
	if !can {
		return t.askChoice(ctx, r, why)
	}
	message := r.Description
	if r.Confirm != nil {
		message = r.Confirm.Markdown()
	}
	var response struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	request := map[string]any{"mode": "form", "sessionId": t.id, "toolCallId": callID(r.Call), "message": message, "requestedSchema": r.Form}
	if err := t.server.conn.call(ctx, "elicitation/create", request, &response); err != nil {
		return tool.Decision{}, unanswered(ctx, r, why, err)
	}
	if response.Action != "accept" {
		return tool.Decision{}, nil
	}
	return tool.Decision{Verdict: tool.Allow, Answer: response.Content}, nil
}

// askChoice turns a form with one choice into the options of a permission request. Other forms can't be shown.
func (t *talk) askChoice(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	fields, err := approval.ReadForm(r.Form)
	if err != nil || len(fields) != 1 || fields[0].Type == "array" || len(fields[0].Choices()) == 0 {
		return tool.Decision{}, tool.Unapproved(r, why, "this editor can't show forms")
	}
	var options []permissionOption
	for i, c := range fields[0].Choices() {
		options = append(options, permissionOption{choicePrefix + strconv.Itoa(i+1), tool.Visible(c.Title), "allow_once"})
	}
	chosen, err := t.permission(ctx, r, append(options, permissionOption{answerNo, "No answer", "reject_once"}))
	if err != nil {
		return tool.Decision{}, unanswered(ctx, r, why, err)
	}
	if chosen == answerNo {
		return tool.Decision{}, nil
	}
	answer := map[string]any{}
	if err := fields[0].Answer(chosen[len(choicePrefix):], answer); err != nil {
		return tool.Decision{}, tool.Unapproved(r, why, err.Error())
	}
	raw, err := json.Marshal(answer)
	return tool.Decision{Verdict: tool.Allow, Answer: raw}, err
}
