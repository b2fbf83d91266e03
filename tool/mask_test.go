package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// Secret values are masked in everything that comes back from a call: results, errors, denials, notes, displays, saved texts,
// and results that hooks replace.
func TestMask(t *testing.T) {
	const secret = "s3cret-value"
	say := func(name string, run func() (tool.Result, error)) tool.Tool {
		return tool.Define(tool.Def[struct{}]{
			Name: name, Description: "Says it.", Kind: tool.Read,
			Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
				if name == "prepare" {
					return nil, errors.New("prepare: " + secret)
				}
				return &tool.Invocation{Description: name, Access: []tool.Access{tool.Nothing}, Notes: []string{"a note: " + secret},
					Run: func(context.Context, *tool.Live) (tool.Result, error) { return run() }}, nil
			},
		})
	}
	text := func() (tool.Result, error) {
		return tool.Result{Content: []tool.Part{tool.Text("a " + secret), tool.Text(secret + " b")}, Display: tool.Markdown("shown " + secret)}, nil
	}
	var saved string
	x := &tool.Executor{
		Registry: tool.NewRegistry(say("text", text), say("prepare", text), say("around", text),
			say("fails", func() (tool.Result, error) {
				return tool.TextResult("so far " + secret), errors.New("failed: " + secret)
			}),
			say("diff", func() (tool.Result, error) {
				old := strings.Repeat("x\n", 100_000) + secret
				return tool.Result{Content: []tool.Part{tool.Text("***")}, Display: tool.FileDiff{Original: &old, New: secret}}, nil
			}),
			say("panics", func() (tool.Result, error) { panic(secret) }),
			say("long", func() (tool.Result, error) { return tool.TextResult(strings.Repeat(secret+"\n", 5000)), nil })),
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Mask:   func(s string) string { return strings.ReplaceAll(s, secret, "***") },
		Before: func(_ context.Context, c tool.Call, _ tool.Declaration) (tool.Decision, error) {
			if c.ID == "denied" {
				return tool.Decision{Verdict: tool.Deny, Reason: "because of " + secret}, nil
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		},
		Around: func(ctx context.Context, r tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
			o := run(ctx)
			if r.Call.Name == "around" {
				o.Result = tool.TextResult("a hook adds " + secret)
			}
			return o
		},
		Spill: func(_ tool.Call, text string) (tool.Spilled, error) {
			saved = text
			return tool.Spilled{Path: "/saved"}, nil
		},
	}
	var seen []tool.Outcome
	x.Observe = func(e tool.Event) {
		if e.Outcome != nil {
			seen = append(seen, *e.Outcome)
		}
	}
	for _, executor := range []*tool.Executor{x, x.Child(nil, "sub", x.Policy)} {
		for _, c := range []tool.Call{{Name: "text"}, {Name: "text", ID: "denied"}, {Name: "prepare"}, {Name: "fails"}, {Name: "panics"}, {Name: "long"}, {Name: "around"}, {Name: "diff"}} {
			batch := executor.Batch(t.Context())
			batch.Add(c)
			for _, o := range append(batch.Wait(), seen...) {
				b, err := o.JSON(nil)
				if err != nil {
					t.Fatal(err)
				}
				if o.Error != nil {
					b = append(b, o.Error.ForModel()...)
				}
				if strings.Contains(string(b), secret) || !strings.Contains(string(b), "***") {
					t.Errorf("%s %s: %s", c.Name, c.ID, b)
				}
			}
			seen = nil
		}
	}
	if strings.Contains(saved, secret) || !strings.Contains(saved, "***") {
		t.Errorf("saved: %.100s", saved)
	}
}

// Looking for new secrets takes a hundred system calls, so a result that has none is masked at once.
func TestMaskedAtOnce(t *testing.T) {
	old, calls := "old", 0
	x := &tool.Executor{
		Registry: tool.NewRegistry(tool.Define(tool.Def[struct{}]{
			Name: "edits", Description: "Edits.", Kind: tool.Read,
			Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
				return &tool.Invocation{Access: []tool.Access{tool.Nothing},
					Run: func(context.Context, *tool.Live) (tool.Result, error) {
						return tool.Result{
							Content: []tool.Part{tool.Text("a"), tool.Text("b")}, Output: "c",
							Display: tool.FileDiff{Original: &old, New: "new", Diff: "diff"},
						}, nil
					}}, nil
			},
		})),
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Mask: func(s string) string {
			calls++
			return s
		},
	}
	batch := x.Batch(t.Context())
	batch.Add(tool.Call{Name: "edits"})
	o := batch.Wait()[0]
	if d, ok := o.Result.Display.(tool.FileDiff); !ok || d.New != "new" || calls != 1 {
		t.Errorf("%d calls, display %#v", calls, o.Result.Display)
	}
}

// A long text is masked, whatever else a result has.
func TestMaskLongText(t *testing.T) {
	x := &tool.Executor{
		Registry: tool.NewRegistry(tool.Define(tool.Def[struct{}]{
			Name: "long", Description: "Says it.", Kind: tool.Read,
			Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
				return &tool.Invocation{Access: []tool.Access{tool.Nothing},
					Run: func(context.Context, *tool.Live) (tool.Result, error) {
						return tool.Result{Content: []tool.Part{tool.Text(strings.Repeat("x", 100_000) + "s3cret")},
							Display: tool.Markdown("nothing")}, nil
					}}, nil
			},
		})),
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }, Budget: -1,
		Mask: func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") },
	}
	batch := x.Batch(t.Context())
	batch.Add(tool.Call{Name: "long"})
	if text := batch.Wait()[0].Result.Text(); !strings.HasSuffix(text, "***") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-10:])
	}
}
