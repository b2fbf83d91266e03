package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// The text for the model says what to do next and names no flag or rule to change. The text for the user names the
// narrowest rule, then a flag.
func TestDenialTexts(t *testing.T) {
	r := tool.Request{Invocation: tool.Invocation{Description: "run make test"}}
	why := tool.Decision{
		Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"}, Reason: "runs make, which is not on the read-only list",
		Offer: []string{"Shell(make test:*)\nShell(rm x)", "Shell(make:*)"},
	}
	err := error(tool.Unapproved(r, why, "this session is non-interactive", "--approval-mode auto-edit"))
	var d *tool.DenialError
	if !errors.Is(err, tool.ErrDenied) || !errors.As(err, &d) {
		t.Fatalf("not a denial: %v", err)
	}
	wantSame(t, "model", "Permission denied: run make test: runs make, which is not on the read-only list (mode: default). "+
		"It requires approval, and this session is non-interactive. Continue without it, or tell the user what you need.", d.Model)
	wantSame(t, "user", "permission denied: run make test\n"+
		"Runs make, which is not on the read-only list (mode: default). This session is non-interactive.\n"+
		`To allow it, add to permissions.allow: "Shell(make test:*)", "Shell(rm x)", or run with --approval-mode auto-edit`, d.User)
}

// Whatever denies a call: the model's text has the next step and no flag, and the user's text never has --yolo.
func TestDenialsOfEveryCause(t *testing.T) {
	kinds := []tool.CauseKind{tool.ByMode, tool.ByRule, tool.ByHook, tool.ByMustAsk, tool.BySandbox, tool.ByFailure, tool.ByTrust, tool.ByUser, tool.ByNobody, ""}
	askers := map[string]tool.Asker{
		"none": nil,
		"flags": func(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, tool.Unapproved(r, why, "this session is non-interactive", "--approval-mode auto-edit")
		},
		"fails": func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, errors.New("no terminal")
		},
		"no": func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Reason: "not now"}, nil
		},
	}
	for _, kind := range kinds {
		for _, verdict := range []tool.Verdict{tool.Deny, tool.Ask} {
			for name, ask := range askers {
				for _, must := range []bool{false, true} {
					d := tool.Decision{Verdict: verdict, Cause: tool.Cause{Kind: kind, Mode: "plan"}, Reason: "writes a", Offer: []string{"Edit(/a)"}}
					x := &tool.Executor{Registry: tool.NewRegistry(denialTool(must)), Policy: func(tool.Request) tool.Decision { return d }, Ask: ask}
					b := x.Batch(t.Context())
					b.Add(tool.Call{Name: "do", Args: []byte("{}")})
					o := b.Wait()[0]
					at := fmt.Sprintf("%s, %s, asker %s, must ask %v", kind, verdict, name, must)
					if o.Status != tool.StatusDenied {
						t.Fatalf("%s: %s", at, o.Status)
					}
					if text := o.Result.Text(); strings.Contains(text, "--") || strings.Contains(text, "Edit(/a)") ||
						!strings.Contains(text, "ontinue without it") && !strings.Contains(text, "present it for approval") {
						t.Errorf("%s: for the model: %s", at, text)
					}
					if text := o.Error.Message; strings.Contains(text, "--yolo") || strings.Contains(text, "ontinue without it") {
						t.Errorf("%s: for the user: %s", at, text)
					}
				}
			}
		}
	}
}

func denialTool(must bool) tool.Tool {
	return tool.Define(tool.Def[struct{}]{
		Name: "do", Description: "Does it.",
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			return &tool.Invocation{Description: "do it", MustAsk: must, Run: func(context.Context, *tool.Live) (tool.Result, error) {
				return tool.TextResult("done"), nil
			}}, nil
		},
	})
}
