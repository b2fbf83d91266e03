package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// A hook rewrites once, however often the call is prepared.
func TestHookRewrites(t *testing.T) {
	w := newWorld(map[string]string{"a": "0"})
	var hooked atomic.Int32
	x := w.executor()
	x.Before = func(_ context.Context, c tool.Call, d tool.Declaration) (tool.Decision, error) {
		hooked.Add(1)
		if d.Kind != tool.Edit {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		var a editArgs
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return tool.Decision{}, err
		}
		a.New += "!"
		args, err := json.Marshal(a)
		return tool.Decision{Verdict: tool.Allow, Args: args}, err
	}
	out := begin(t.Context(), x, "edit a 0 1", "edit a 1 2", "read a").Wait()
	wantSame(t, "outcomes", []string{
		"success: a holds \"1!\"\nNote: a hook edited this call. New arguments: {\"path\":\"a\",\"old\":\"0\",\"new\":\"1!\"}",
		"success: a holds \"2!!\"\nNote: a hook edited this call. New arguments: {\"path\":\"a\",\"old\":\"1\",\"new\":\"2!\"}",
		"success: <2!!>",
	}, says(out))
	wantSame(t, "hooks run", 3, int(hooked.Load()))
	wantSame(t, "as it ran", `{"path":"a","old":"1","new":"2!"}`, string(out[1].Call.Args))
}

func TestHookMayOnlyTighten(t *testing.T) {
	deny := func(tool.Request) tool.Decision { return tool.Decision{Reason: "rule"} }
	for name, tt := range map[string]struct {
		hook   func() (tool.Decision, error)
		policy tool.Policy
		asked  int
		want   string
	}{
		"its allow grants nothing": {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Allow}, nil }, deny, 0, "denied: Permission denied: read a: rule. Continue without it, or tell the user what you need."},
		"it may have it asked":     {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Ask}, nil }, nil, 1, "success: <0>"},
		"a rule wins over its ask": {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Ask}, nil }, deny, 0, "denied: Permission denied: read a: rule. Continue without it, or tell the user what you need."},
		"it may deny":              {func() (tool.Decision, error) { return tool.Decision{Reason: "not now"}, nil }, nil, 0, "denied: Permission denied: read: denied by a hook: not now. Continue without it, or tell the user what you need."},
		"it fails":                 {func() (tool.Decision, error) { return tool.Decision{Verdict: tool.Allow}, errors.New("exit 1") }, nil, 0, "denied: Permission denied: read: exit 1. Continue without it, or tell the user what you need."},
		"it panics":                {func() (tool.Decision, error) { panic("oops") }, nil, 0, "denied: Permission denied: read: the hook failed: oops. Continue without it, or tell the user what you need."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]string{"a": "0"})
			x := w.executor()
			if tt.policy != nil {
				x.Policy = tt.policy
			}
			asked := 0
			x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
				asked++
				return tool.Decision{Verdict: tool.Allow}, nil
			}
			x.Before = func(context.Context, tool.Call, tool.Declaration) (tool.Decision, error) { return tt.hook() }
			wantSame(t, "outcome", []string{tt.want}, says(begin(t.Context(), x, "read a").Wait()))
			wantSame(t, "times asked", tt.asked, asked)
		})
	}
}

func TestNotesAreLastLines(t *testing.T) {
	note := func(content ...tool.Part) *fakeTool {
		return fake("noted", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing}, Notes: []string{"one", "two\nlines"},
			Run: func(context.Context, *tool.Live) (tool.Result, error) {
				var err error
				if len(content) == 0 {
					err = errors.New("failed")
				}
				return tool.Result{Content: content}, err
			},
		})
	}
	for _, tt := range []struct {
		f    *fakeTool
		want []tool.Part
	}{
		{note(tool.Text("text\n")), []tool.Part{tool.Text("text\nNote: one\nNote: two lines")}},
		{note(tool.Media{MIMEType: "image/png"}), []tool.Part{tool.Media{MIMEType: "image/png"}, tool.Text("Note: one\nNote: two lines")}},
		{note(), []tool.Part{tool.Text("failed\nNote: one\nNote: two lines")}},
	} {
		out := begin(t.Context(), newWorld(nil).executor(tt.f), "noted").Wait()
		wantSame(t, fmt.Sprint(tt.want), tt.want, out[0].Result.Content)
	}
}
