package builtin

import (
	"context"
	_ "embed"
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

//go:embed enter_plan_mode.md
var enterPlanModeText string

// planMode is the mode's name.
const planMode = "plan"

// planning is the shared state of the two tools of plan mode.
type planning struct {
	mode    func() string      // nil: this session has no modes
	setMode func(string) error //
	hasUser bool               // a user can approve a plan

	mu   sync.Mutex
	plan string // the last approved plan
}

func newPlanning(o Options) *planning {
	return &planning{mode: o.Mode, setMode: o.SetMode, hasUser: o.HasUser}
}

// inPlanMode reports whether the session is in plan mode.
func (p *planning) inPlanMode() bool { return p.mode != nil && p.mode() == planMode }

func (p *planning) agreed(plan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

func (p *planning) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plan
}

// holdsAll is the access of a change of mode: every later call is prepared and judged after it.
var holdsAll = []tool.Access{{Verb: tool.Locks, Target: "*"}}

const inPlanModeText = "Plan mode is on: research only; calls that modify anything are denied. " +
	"When your plan is ready, call exit_plan_mode with the full plan for the user's approval."

func enterPlanMode(p *planning) tool.Tool {
	return tool.Define(tool.Def[struct{}]{
		Name: "enter_plan_mode", DisplayName: "EnterPlanMode",
		Summary:     "Switch to plan mode (read-only until the user approves a plan)",
		Description: strings.TrimSpace(enterPlanModeText), Kind: tool.Think, Needs: tool.NeedsUser, Personal: true,
		Auxiliary: true,
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "enter plan mode", Access: holdsAll}
			switch {
			case p.mode == nil || p.setMode == nil:
				return inv, tool.Errorf(tool.ExecutionDenied,
					"enter plan mode: this session has no modes; continue without it")
			case !p.hasUser && !p.inPlanMode():
				return inv, tool.Errorf(tool.ExecutionDenied,
					"enter plan mode: not available in a non-interactive session. "+
						"Put the plan in your answer, or continue with the work.")
			}
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				if err := p.mayChange(ctx, l); err != nil {
					return tool.Result{}, err
				}
				if !p.inPlanMode() {
					if err := p.setMode(planMode); err != nil {
						return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "enter plan mode: %w", err)
					}
				}
				return tool.Result{
					Content: []tool.Part{tool.Text(inPlanModeText)}, Display: tool.Markdown("Entered plan mode."),
				}, nil
			}
			return inv, nil
		},
	})
}

// mayChange denies a subagent a change of mode: only the user and the first agent change it.
func (p *planning) mayChange(ctx context.Context, l *tool.Live) error {
	if l.Call.By != "" {
		return tool.Errorf(tool.ExecutionDenied, "change the mode: a subagent can't; put the plan into your report")
	}
	return ctx.Err()
}
