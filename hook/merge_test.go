package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// saying returns a hook that prints an output.
func saying(raw string) Hook {
	return Hook{Event: PreToolUse, Run: func(context.Context, Input) (Output, error) {
		var out Output
		err := json.Unmarshal([]byte(raw), &out)
		return out, err
	}}
}

func decides(word string) Hook {
	switch word {
	case "fails":
		return Hook{Event: PreToolUse, Run: func(context.Context, Input) (Output, error) { return Output{}, errors.New("oops") }}
	case "panics":
		return Hook{Event: PreToolUse, Run: func(context.Context, Input) (Output, error) { panic("oops") }}
	case "none":
		return saying(`{}`)
	case "block":
		return saying(`{"decision":"block","reason":"because"}`)
	}
	return saying(fmt.Sprintf(`{"hookSpecificOutput":{"permissionDecision":%q,"permissionDecisionReason":"because"}}`, word))
}

// Deny beats ask beats allow beats none, in any order and any number up to three. A failed hook asks.
func TestEveryOrder(t *testing.T) {
	words := []string{"none", "allow", "ask", "deny", "block", "fails", "panics"}
	rank := map[string]Verdict{"none": None, "allow": Allow, "ask": Ask, "deny": Deny, "block": Deny, "fails": Ask, "panics": Ask}
	var orders [][]string
	for _, a := range words {
		orders = append(orders, []string{a})
		for _, b := range words {
			orders = append(orders, []string{a, b})
			for _, c := range words {
				orders = append(orders, []string{a, b, c})
			}
		}
	}
	for _, order := range orders {
		want := None
		var hooks []Hook
		for _, w := range order {
			want = max(want, rank[w])
			hooks = append(hooks, decides(w))
		}
		for _, sequential := range []bool{false, true} {
			hooks[0].Sequential = sequential
			r := Open(Options{Hooks: hooks})
			got := r.Run(t.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{}`)}, "x")
			if got.Verdict != want || want == Deny && !strings.Contains(got.Reason, "because") {
				t.Errorf("%v: got %v (%q), want %v", order, got.Verdict, got.Reason, want)
			}
			r.Close()
		}
	}
}

func TestRewrites(t *testing.T) {
	rewrite := func(to string) Hook {
		return saying(fmt.Sprintf(`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":%q}}}`, to))
	}
	// denies denies a command, and approves every other.
	denies := func(command string) Hook {
		return Hook{Event: PreToolUse, Run: func(_ context.Context, in Input) (Output, error) {
			var args struct{ Command string }
			if err := json.Unmarshal(in.ToolInput, &args); err != nil {
				return Output{}, err
			}
			if args.Command == command {
				return Output{Decision: "deny", Reason: "no " + command}, nil
			}
			return Output{Decision: "allow"}, nil
		}}
	}
	for _, tt := range []struct {
		name    string
		hooks   []Hook
		verdict Verdict
		input   string
	}{
		{"one", []Hook{rewrite("b")}, Allow, `{"command":"b"}`},
		{"the same is no rewrite", []Hook{rewrite("a"), rewrite("a")}, Allow, ""},
		{"two", []Hook{rewrite("b"), rewrite("c")}, Deny, ""},
		{"two alike", []Hook{rewrite("b"), rewrite("b")}, Deny, ""},
		{"into what another denies", []Hook{rewrite("b"), denies("b")}, Deny, ""},
		{"into what another denies, which runs first", []Hook{denies("b"), rewrite("b")}, Deny, ""},
		{"away from what another denies", []Hook{rewrite("b"), denies("a")}, Deny, ""},
		{"into what another allows", []Hook{denies("c"), rewrite("b")}, Allow, `{"command":"b"}`},
		{"into no object", []Hook{saying(`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":"rm"}}`)}, Ask, ""},
	} {
		r := Open(Options{Hooks: tt.hooks})
		got := r.Run(t.Context(), Input{Event: PreToolUse, ToolInput: []byte(`{"command":"a"}`)}, "x")
		if got.Verdict != tt.verdict || string(got.Input) != tt.input {
			t.Errorf("%s: got %v %s %q, want %v %s", tt.name, got.Verdict, got.Input, got.Reason, tt.verdict, tt.input)
		}
		r.Close()
	}
}
