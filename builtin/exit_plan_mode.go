package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/tool"
)

//go:embed exit_plan_mode.md
var exitPlanModeText string

// ExitPlanMode is the name of the tool that ends plan mode.
const ExitPlanMode = "exit_plan_mode"

type exitPlanModeArgs struct {
	Plan string `json:"plan" description:"The plan in Markdown: what changes where, in which order, and how to verify it." ignored:"allowedPrompts"`
}

// maxPlan is the maximum length of a plan, in characters.
const maxPlan = 100_000

// The choices at the end of plan mode. The first two are modes.
const (
	goOnAsking  = "default"
	goOnEditing = "auto-edit"
	stayInPlan  = "stay"
)

// planAnswer is the user's answer in the form. Text without a choice is the change that the user asks for.
type planAnswer struct {
	Choice string `json:"choice"`
	Change string `json:"choice_other"`
}

func planForm() json.RawMessage {
	var f form
	f.one("choice", "Next step", "", []choice{
		{Const: goOnAsking, Title: "Yes, and ask before each change"},
		{Const: goOnEditing, Title: "Yes, and edit files without asking"},
		{Const: stayInPlan, Title: "No, stay in plan mode"},
	})
	f.text("choice_other", "What to change in the plan", "")
	return f.json()
}

func exitPlanMode(p *planning) tool.Tool {
	answer := planForm()
	return tool.Define(tool.Def[exitPlanModeArgs]{
		Name: ExitPlanMode, DisplayName: "ExitPlanMode",
		Summary:     "Present a plan and ask the user to approve it",
		Description: strings.TrimSpace(exitPlanModeText), Kind: tool.Think, Needs: tool.NeedsUser, Personal: true,
		Auxiliary: true,
		Prepare: func(_ context.Context, a exitPlanModeArgs) (*tool.Invocation, error) {
			plan := strings.TrimSpace(a.Plan)
			if n := len([]rune(plan)); plan == "" || n > maxPlan {
				return nil, tool.BadParam("plan", "must have 1 to %d characters, so that the user can read it, got %d",
					maxPlan, n)
			}
			inv := &tool.Invocation{Description: "leave plan mode with this plan", Access: holdsAll}
			if err := p.check(); err != nil {
				return inv, err
			}
			inv.Confirm = tool.Plan{Message: "Implement this plan?", Text: plan}
			inv.Form, inv.MustAsk = answer, true
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				if err := p.mayChange(ctx, l); err != nil {
					return tool.Result{}, err
				}
				return p.leave(plan, l.Decision.Answer)
			}
			return inv, nil
		},
	})
}

// Plan returns the last plan that the user approved; "" if none.
func (s *Set) Plan() string { return s.plans.last() }

// SetPlan restores the plan that the user approved in an earlier session.
func (s *Set) SetPlan(plan string) { s.plans.agreed(plan) }

// check returns an error outside of plan mode.
func (p *planning) check() error {
	if p.inPlanMode() && p.setMode != nil {
		return nil
	}
	return tool.Errorf(tool.ExecutionDenied, "leave plan mode: plan mode is not on; "+
		"continue with the work and don't call this again")
}

// leave carries out the user's choice.
func (p *planning) leave(plan string, raw json.RawMessage) (tool.Result, error) {
	if err := p.check(); err != nil { // the user may have changed the mode in the meantime
		return tool.Result{}, err
	}
	a := planAnswer{Choice: goOnAsking} // approved without a choice
	if len(raw) > 0 {
		a.Choice = ""
		if err := json.Unmarshal(raw, &a); err != nil {
			return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "leave plan mode: the answer cannot be read, so "+
				"plan mode stays on: %w", err)
		}
	}
	if a.Choice == "" && strings.TrimSpace(a.Change) != "" {
		a.Choice = stayInPlan
	}
	switch a.Choice {
	case goOnAsking, goOnEditing:
	case stayInPlan:
		return stayed(plan, a.Change)
	case "":
		return stayed(plan, "")
	default:
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "leave plan mode: the answer %q isn't one of "+
			"the choices, so plan mode stays on", a.Choice)
	}
	if err := p.setMode(a.Choice); err != nil {
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "leave plan mode: the mode could not be changed, so "+
			"plan mode stays on: %w", err)
	}
	p.agreed(plan)
	said := "The user approved the plan. Plan mode is off; implement it now."
	if a.Choice == goOnEditing {
		said += " Edits inside the workspace are auto-approved."
	}
	if word := strings.TrimSpace(a.Change); word != "" {
		said += " The user adds: " + word
	}
	return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: tool.Plan{
		Message: "The plan was approved.", Text: plan,
	}}, nil
}

// stayed returns the result for a plan that the user wants to change.
func stayed(plan, change string) (tool.Result, error) {
	change = strings.TrimSpace(change)
	if change == "" {
		change = "no reason given; ask them"
	}
	shown := tool.Result{Display: tool.Plan{Message: "The plan was not approved.", Text: plan, Rejected: true}}
	return shown, fmt.Errorf("leave plan mode: %w by the user: the plan needs a change: %s. Plan mode stays on; call "+
		"this again with the changed plan",
		tool.ErrDenied, change)
}
