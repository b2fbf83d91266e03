package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

// canUseTool asks the program whether a call may run.
type canUseTool struct {
	Subtype     string          `json:"subtype"`
	Tool        string          `json:"tool_name"`
	ID          string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"input"`
	Suggestions []suggestion    `json:"permission_suggestions"`
	Path        *string         `json:"blocked_path"`

	// Members that Qwen Code doesn't send.
	Description string          `json:"description,omitempty"` // of the call, in one line
	Why         string          `json:"reason,omitempty"`      // why it requires approval
	Agent       string          `json:"agent,omitempty"`       // the path of the subagent that calls
	Form        json.RawMessage `json:"form,omitempty"`        // JSON Schema of updatedInput.answers
	Effects     *effects        `json:"effects,omitempty"`     // of a call that was tried: allow keeps them
}

// effects is what a tried call did, without lasting effects.
type effects struct {
	Command  string   `json:"command"`               // all of it
	Purpose  string   `json:"description,omitempty"` // in the model's words
	RunAgain bool     `json:"canRunAgain,omitempty"` // the trial denied it something: runAgain may help
	Ending   string   `json:"ending"`
	MS       int64    `json:"ms"`
	Output   string   `json:"output,omitempty"` // its end
	Changes  []effect `json:"changes"`
	Network  []string `json:"network,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

type effect struct {
	Path    string          `json:"path"`
	Kind    tool.EffectKind `json:"kind"`
	Files   int             `json:"files,omitempty"`
	Added   int             `json:"added,omitempty"`
	Removed int             `json:"removed,omitempty"`
	Ignored bool            `json:"ignored,omitempty"` // by git
	Diff    string          `json:"diff,omitempty"`

	Attributes string `json:"attributes,omitempty"` // "mode 0644 → 0755"
}

func effectsOf(f *tool.Effects) *effects {
	if f == nil {
		return nil
	}
	out := &effects{
		Command: f.Command.Line, Purpose: f.Command.Purpose, RunAgain: f.CanRunAgain(),
		Ending: f.Ending, MS: f.Took.Milliseconds(), Output: f.Output, Changes: []effect{},
		Network: f.Network, Warnings: f.AllWarnings(),
	}
	for _, c := range f.Changes {
		out.Changes = append(out.Changes,
			effect{c.Path, c.Kind, c.Files, c.Added, c.Removed, c.Ignored, c.Diff, c.Attributes})
	}
	return out
}

type suggestion struct {
	Type        string `json:"type"` // allow or deny
	Label       string `json:"label"`
	Description string `json:"description"`
}

// permission is the program's answer.
type permission struct {
	Behavior  string          `json:"behavior"`
	Input     json.RawMessage `json:"updatedInput"`
	Message   string          `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Keep      []string        `json:"keep"`     // paths of effects; nil: all of them
	RunAgain  bool            `json:"runAgain"` // discard the effects and run the call, with network
	Updates   []update        `json:"updatedPermissions"`
}

// update is a change of permissions that Claude's SDK can send with an answer.
type update struct{ Type, Behavior, Mode string }

// update applies the changes in an answer. What would allow more has no effect: Adze asks again. Other changes that it
// doesn't know are errors.
func (h *host) update(changes []update) error {
	for _, u := range changes {
		switch {
		case u.Type == "setMode":
			if err := h.session.SetMode(u.Mode); err != nil {
				return fmt.Errorf("updatedPermissions: %w", err)
			}
		case u.Type == "addRules" && u.Behavior == "allow", u.Type == "addDirectories", u.Type == "allow":
		default:
			return fmt.Errorf("updatedPermissions: %s isn't supported", strings.TrimSpace(u.Type+" "+u.Behavior))
		}
	}
	return nil
}

// ask is the session's [approval.Front]. The program answers instead of a user; if it can't or doesn't, the call is
// denied.
func (h *host) ask(ctx context.Context, q *approval.Question) (tool.Decision, error) {
	r, why := q.Request, q.Why
	h.mu.Lock()
	patience := h.patience
	call := r.Call.By + "/" + r.Call.ID
	own, rewritten := h.rewrote[call]
	h.mu.Unlock()
	if rewritten && bytes.Equal(own, r.Call.Args) && len(r.Form) == 0 {
		return tool.Decision{Verdict: tool.Allow}, nil // the program requested exactly this
	}
	late := fmt.Errorf("the program that drives this session didn't answer within %s", patience)
	limited, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	raw, err := h.asked.call(limited, question(q))
	switch {
	case ctx.Err() != nil:
		return tool.Decision{}, ctx.Err()
	case err != nil:
		return tool.Decision{}, tool.Unapproved(r, why, err.Error())
	}
	var p permission
	if err := json.Unmarshal(raw, &p); err != nil {
		return tool.Decision{}, tool.Unapproved(r, why, "the program's answer can't be read: "+err.Error())
	}
	switch p.Behavior {
	case "allow":
	case "deny":
		if p.Interrupt {
			h.queue.interrupt()
		}
		return tool.Decision{Reason: p.Message}, nil
	default:
		return tool.Decision{}, tool.Unapproved(r, why,
			fmt.Sprintf("the program answered with behavior %q (expected allow or deny)", p.Behavior))
	}
	if err := h.update(p.Updates); err != nil {
		return tool.Decision{}, tool.Unapproved(r, why, err.Error())
	}
	d := p.approval(q)
	if len(r.Form) > 0 && q.Invalid == nil {
		d.Answer, p.Input = formAnswer(q.Fields, p.Input)
	}
	// An empty object is no change: the types of Qwen Code's SDK require the field.
	if isObject(p.Input) && !sameValue(p.Input, json.RawMessage("{}")) && !sameValue(p.Input, argsOf(r)) {
		d.Args = p.Input
		h.mu.Lock()
		h.rewrote[call] = p.Input
		h.mu.Unlock()
	}
	return d, nil
}

// approval returns the approval of effects, or of some of them, or of running the call instead.
func (p permission) approval(q *approval.Question) tool.Decision {
	if q.Effects != nil && !p.RunAgain && p.Keep != nil {
		return approval.Keep(p.Keep)
	}
	return tool.Decision{Verdict: tool.Allow, Direct: p.RunAgain && q.Tried()}
}

// question returns the request for a call.
func question(q *approval.Question) canUseTool {
	r, verb := q.Request, "Run"
	if r.Declaration.Kind == tool.Edit {
		verb = "Edit"
	}
	return canUseTool{
		Subtype: "can_use_tool", Tool: discover.LongName(r.Declaration), ID: r.Call.ID, Input: argsOf(r),
		Suggestions: []suggestion{
			{"allow", "Allow", verb + ": " + r.Description},
			{"deny", "Deny", "Don't run this call"},
		},
		Description: r.Description, Why: q.Why.Reason, Agent: r.Call.By, Form: r.Form, Effects: effectsOf(q.Effects),
	}
}

// formAnswer removes the answers to a form from updatedInput, and returns both.
func formAnswer(fields []approval.Field, updated json.RawMessage) (answer, rest json.RawMessage) {
	var object, answers map[string]json.RawMessage
	if json.Unmarshal(updated, &object) != nil || object["answers"] == nil {
		return nil, updated
	}
	_ = json.Unmarshal(object["answers"], &answers) // other values have no answers
	delete(object, "answers")
	rest, _ = json.Marshal(object)
	answer, _ = json.Marshal(approval.Match(fields, answers))
	return answer, rest
}

// argsOf returns the arguments as an object, if they can be read as one.
func argsOf(r tool.Request) json.RawMessage {
	args := r.Call.Args
	if fixed, ok := schema.RepairJSON(args); ok {
		args = fixed
	}
	var quoted string
	// some models encode the object twice
	if json.Unmarshal(args, &quoted) == nil && isObject(json.RawMessage(quoted)) {
		args = json.RawMessage(quoted)
	}
	return input(args)
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// sameValue reports whether two JSON texts have the same value. Programs may format numbers and order keys differently.
func sameValue(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// wait reads initialize's timeout.
func wait(milliseconds float64) (time.Duration, error) {
	d := time.Duration(milliseconds * float64(time.Millisecond))
	if milliseconds <= 0 || d > 24*time.Hour {
		return 0, errors.New("timeout.canUseTool: expected milliseconds, at most 24 hours")
	}
	return d, nil
}
