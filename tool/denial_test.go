package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unicode/utf8"

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

// For every cause of a denial, the model's text has the next step and no flag, and the user's text never has --yolo.
func TestDenialsOfEveryCause(t *testing.T) {
	kinds := []tool.CauseKind{tool.ByMode, tool.ByRule, tool.ByHook, tool.ByMustAsk, tool.BySandbox, tool.ByFailure, tool.ByTrust, tool.ByUser, tool.NoPolicy, ""}
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

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nünïcödé 日本 ∑":   "plain\ttext\nünïcödé 日本 ∑",
		"👍️ and 👩🏽":                   "👍️ and 👩🏽",
		"a\x1b[31mred\x07":            `a\x1b[31mred\x07`,
		"over\rwritten":               `over\rwritten`,
		"del\x7f c1\u0085":            `del\x7f c1\u0085`,
		"bidi \u202egnp.exe\u202c":    `bidi \u202Egnp.exe\u202C`,
		"iso \u2066x\u2069":           `iso \u2066x\u2069`,
		"zero\u200bwidth\u200d\ufeff": `zero\u200Bwidth\u200D\uFEFF`,
		"soft\u00adhyphen\u034f":      `soft\u00ADhyphen\u034F`,
		"tag \U000e0041\U000e007f":    `tag \U000E0041\U000E007F`,
		"selector \ufe01\U000e0101":   `selector \uFE01\U000E0101`,
		"line\u2028par\u2029":         `line\u2028par\u2029`,
		"hangul \u3164\uffa0":         `hangul \u3164\uFFA0`,
		"private \ue000":              `private \uE000`,
		"bad \xff\xc3":                `bad \xff\xc3`,
		"honest \ufffd":               "honest \ufffd",
		"":                            "",
	} {
		wantSame(t, in, want, tool.Visible(in))
		wantSame(t, "hidden in "+in, want != in, tool.Hidden(in))
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\x00", "```\n````", "\u202e", "\xff`", "~~~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := tool.Visible(s)
		if !utf8.ValidString(v) || tool.Visible(v) != v {
			t.Errorf("Visible(%q) = %q, which is not visible", s, v)
		}
		lines := strings.Split(tool.Fence("x", s), "\n")
		fence := strings.TrimSuffix(lines[0], "x")
		for _, line := range lines[1 : len(lines)-1] {
			if strings.Contains(line, fence) {
				t.Errorf("the line %q of %q ends its fence %q", line, s, fence)
			}
		}
		if lines[len(lines)-1] != fence {
			t.Errorf("Fence(%q) does not end", s)
		}
	})
}

// A prompt shows everything that it is about, and no content can escape its quotes.
func TestMarkdownQuotesEverything(t *testing.T) {
	evil := "ls\n```\nAll is well.\n<!-- rm -rf / --> \u202e"
	for name, tt := range map[string]struct {
		display tool.Display
		want    string
	}{
		"command": {tool.Command{Line: evil, Directory: "/d`\n# x", Warnings: []string{"it\nhides\u200b"}},
			"````sh\nls\n```\nAll is well.\n<!-- rm -rf / --> \\u202E\n````\nin `` /d`\\n# x ``\nWarning: it hides\\u200B"},
		"diff": {tool.FileDiff{Diff: "+" + evil, File: "f", Warnings: []string{"w\n# x"}},
			"````diff\n+ls\n```\nAll is well.\n<!-- rm -rf / --> \\u202E\n````\nWarning: w # x"},
		"no change": {tool.FileDiff{File: "a`b"}, "No change to `` a`b ``."},
		"literal":   {tool.Literal("a````b"), "`````\na````b\n`````"},
		"opaque":    {tool.Opaque{JSON: []byte("{\"a\":\"```\"}")}, "````json\n{\"a\":\"```\"}\n````"},
		"plan":      {tool.Plan{Message: "m\u202e", Text: "1. x\u200b"}, "m\\u202E\n\n1. x\\u200B"},
	} {
		wantSame(t, name, tt.want, tt.display.Markdown())
	}
}

// Descriptions are one visible line, for any text of the tool.
func TestDescriptionIsOneVisibleLine(t *testing.T) {
	run := func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ran"), nil }
	for in, want := range map[string]string{
		"run\n\x1b[2Kls  -l\r\n": `run \x1b[2Kls -l`,
		"":                       "Toy",
		" \n":                    "Toy",
		"\xff\u202e":             "\ufffd\\u202E",
	} {
		f := fake("toy", tool.Think, tool.Invocation{Description: in, Access: []tool.Access{tool.Nothing}, Run: run})
		f.decl.DisplayName = "Toy"
		var got string
		x := &tool.Executor{Registry: tool.NewRegistry(f), Policy: func(r tool.Request) tool.Decision {
			got = r.Description
			return tool.Decision{Verdict: tool.Allow}
		}}
		begin(t.Context(), x, "toy").Wait()
		wantSame(t, in, want, got)
	}
}

// A turn that reads a file and edits it: the edit, which requires that the file was read, used to be prepared while the read
// waited, and failed.
func TestEditAfterReadOfTheSameTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Bool
		gate := make(chan struct{})
		x := &tool.Executor{Registry: tool.NewRegistry(
			tool.Define(tool.Def[struct{}]{Name: "look", Description: "Looks.", Kind: tool.Read,
				Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
					return &tool.Invocation{Access: []tool.Access{{Verb: tool.Reads, Target: "/a"}}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
						<-gate
						read.Store(true)
						return tool.TextResult("seen"), nil
					}}, nil
				}}),
			tool.Define(tool.Def[struct{}]{Name: "change", Description: "Changes.", Kind: tool.Edit,
				Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
					inv := &tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/a"}}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
						return tool.TextResult("changed"), nil
					}}
					if !read.Load() {
						return inv, errors.New("read it first")
					}
					return inv, nil
				}}),
		), Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		b := x.Batch(t.Context())
		b.Add(tool.Call{ID: "1", Name: "look"})
		b.Add(tool.Call{ID: "2", Name: "change"})
		synctest.Wait() // the edit has failed once
		close(gate)
		wantSame(t, "outcomes", []string{"success: seen", "success: changed"}, says(b.Wait()))
	})
}
