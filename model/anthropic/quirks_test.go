package anthropic_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/anthropic"
	"github.com/adze-dev/adze/tool"
)

// rejects returns an answer with status 400 in the words of the server.
func rejects(message string) answer {
	raw, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": message}})
	if err != nil {
		panic(err)
	}
	return answer{Status: 400, Raw: string(raw)}
}

const (
	notAdaptive = "adaptive thinking is not supported on this model"
	notEnabled  = `"thinking.type.enabled" is not supported for this model.`
	noEffort    = "This model does not support the effort parameter."
)

// The model is asked to think in the way that it takes. What it takes is learned once.
func TestThinking(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rejected []string
		effort   string
		max      int
		thinking string // of the last request
		output   string
	}{
		{"adaptive", nil, "", 0, `{"type":"adaptive","display":"summarized"}`, ``},
		{"with effort", nil, "xhigh", 0, `{"type":"adaptive","display":"summarized"}`, `{"effort":"xhigh"}`},
		{"a budget", []string{notAdaptive}, "", 0, `{"type":"enabled","budget_tokens":10000,"display":"summarized"}`, ``},
		{"a budget of an effort", []string{notAdaptive}, "high", 0, `{"type":"enabled","budget_tokens":20000,"display":"summarized"}`, ``},
		{"no effort", []string{noEffort}, "low", 0, `{"type":"enabled","budget_tokens":4000,"display":"summarized"}`, ``},
		{"a budget within the limit", []string{notAdaptive}, "max", 8000, `{"type":"enabled","budget_tokens":6000,"display":"summarized"}`, ``},
		{"a short answer", nil, "", 1000, ``, ``},
		{"a short answer with a budget", []string{notAdaptive}, "", 1000, ``, ``},
		{"no display", []string{"thinking.adaptive.display: Extra inputs are not permitted"}, "", 0, `{"type":"adaptive"}`, ``},
		{"never", []string{notAdaptive, notEnabled}, "high", 0, ``, ``},
		{"another server", []string{"thinking: Extra inputs are not permitted", "thinking: Extra inputs are not permitted"}, "", 0, ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var answers []answer
			for _, why := range tt.rejected {
				answers = append(answers, rejects(why))
			}
			m, srv := open(t, script{Answers: append(answers, answer{Text: "a"}, answer{Text: "b"})})
			for _, want := range []string{"a", "b"} {
				got, err := play(t.Context(), m, model.Request{Messages: []model.Message{model.Prompt("hi")}, Effort: tt.effort, MaxTokens: tt.max})
				if err != nil || !strings.HasPrefix(got, want) {
					t.Fatal(got, err)
				}
			}
			sent := srv.Requests()
			last := members(t, sent[len(sent)-1].Body)
			if string(last["thinking"]) != tt.thinking || string(last["output_config"]) != tt.output {
				t.Errorf("thinking %s, output_config %s", last["thinking"], last["output_config"])
			}
		})
	}
}

// An effort that the model doesn't take is an error with the next step, and nothing is changed silently.
func TestEffortIsNamed(t *testing.T) {
	const levels = "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
	for name, answers := range map[string][]answer{
		"adaptive": {rejects(levels)},
		"a level":  {rejects("This model does not support effort level 'turbo'. Supported levels: high, low, max, medium.")},
		"a budget": {rejects(notAdaptive)},
	} {
		m, _ := open(t, script{Answers: answers})
		got, err := play(t.Context(), m, model.Request{Messages: []model.Message{model.Prompt("hi")}, Effort: "turbo"})
		if got != "" || !errors.Is(err, model.ErrRejected) || !strings.Contains(err.Error(), `doesn't accept effort "turbo"`) || !strings.Contains(err.Error(), "--effort") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		message string
		want    string
	}{
		{"none", "", "32000"},
		{"Anthropic", "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022", "8192"},
		{"another server", "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", "4096"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := []answer{{Text: "a"}, {Text: "b"}}
			if tt.message != "" {
				answers = append([]answer{rejects(tt.message)}, answers...)
			}
			m, srv := open(t, script{Answers: answers})
			for range 2 {
				if _, err := play(t.Context(), m, request("hi")); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range srv.Requests()[len(answers)-2:] {
				if got := string(members(t, r.Body)["max_tokens"]); got != tt.want {
					t.Errorf("max_tokens %s", got)
				}
			}
		})
	}
	m, _ := open(t, script{Answers: []answer{rejects("max_tokens: must be less than 4")}})
	if _, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrRejected) {
		t.Errorf("got %v", err)
	}
}

func TestNoCacheMarks(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{rejects("messages.0.content.0.cache_control: Extra inputs are not permitted"), {Text: "a", Absent: []string{"cache_control"}}}})
	if _, err := play(t.Context(), m, request("hi")); err != nil || len(srv.Requests()) != 2 {
		t.Error(err)
	}
}

// A rejected signature is removed with all thinking so far, once, and the user is told. What the model thinks later goes back.
func TestRejectedSignature(t *testing.T) {
	for _, why := range []string{
		"messages.1.content.0: Invalid `signature` in `thinking` block",
		"messages.1.content.0: Invalid `data` in `redacted_thinking` block",
		"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
		"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
	} {
		first := rejects(why)
		first.Thought, first.Signature, first.Redacted = "old", "old-sig", "hidden" // the script knows them
		m, srv := open(t, script{Answers: []answer{
			first,
			{Thought: "new", Signature: "new-sig", Calls: []call{{ID: "b", Name: "f"}}, Absent: []string{"old-sig", "hidden"}, Expect: []string{`"thinking":{"type":"adaptive"`}},
			{Text: "done", Expect: []string{"new-sig"}, Absent: []string{"old-sig", "hidden"}},
		}})
		seal := func(raw string) model.Sealed {
			return model.Sealed{API: anthropic.Name, Model: "claude-x", JSON: json.RawMessage(raw)}
		}
		r := model.Request{Messages: []model.Message{model.Prompt("hi"),
			{Role: model.Assistant, Parts: []model.Part{seal(`{"type":"thinking","thinking":"old","signature":"old-sig"}`), seal(`{"type":"redacted_thinking","data":"hidden"}`), model.Text("yes")}},
			model.Prompt("go")}}
		got, said, err := converse(t.Context(), m, r)
		const note = "[the server rejected the signature of earlier thinking, which is removed from the conversation, retrying (attempt 2)]"
		if err != nil || !strings.HasPrefix(got, note) {
			t.Fatalf("%s: %q, %v", why, got, err)
		}
		r.Messages = append(r.Messages, said, responses(said, tool.Text("x")))
		if got, err := play(t.Context(), m, r); err != nil || !strings.HasPrefix(got, "done") || len(srv.Requests()) != 3 {
			t.Errorf("%s: %q, %v", why, got, err)
		}
	}
}

// Where nothing can be removed, the rejection is the error.
func TestRejectedWithoutSealedData(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{rejects("Invalid `signature` in `thinking` block")}})
	if _, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrRejected) || len(srv.Requests()) != 1 {
		t.Errorf("got %v", err)
	}
}

// A model with a budget wants thinking at the beginning of a message with calls. A message of another model has none: then the
// request is sent without thinking, and later ones with it.
func TestHistoryWithoutThinking(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{
		rejects(notAdaptive),
		rejects("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."),
		{Text: "a", Absent: []string{`"thinking"`}}, {Text: "b", Expect: []string{`"budget_tokens"`}},
	}})
	called := model.Message{Role: model.Assistant, Parts: []model.Part{model.Call{Call: tool.Call{ID: "a", Name: "f"}}}}
	r := model.Request{Messages: []model.Message{model.Prompt("hi"), called, responses(called, tool.Text("x"))}}
	if got, err := play(t.Context(), m, r); err != nil || !strings.HasPrefix(got, "a") {
		t.Error(got, err)
	}
	if got, err := play(t.Context(), m, request("hi")); err != nil || !strings.HasPrefix(got, "b") || len(srv.Requests()) != 4 {
		t.Error(got, err)
	}
}

// Other rejections change nothing.
func TestOtherRejections(t *testing.T) {
	m, srv := open(t, script{Answers: []answer{rejects("messages.0: something else")}})
	if _, err := play(t.Context(), m, request("hi")); !errors.Is(err, model.ErrRejected) || len(srv.Requests()) != 1 {
		t.Errorf("got %v", err)
	}
}
