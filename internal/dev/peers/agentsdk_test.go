package peers

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// agentRun is what a program with Claude's Agent SDK saw.
type agentRun struct {
	Results                    []any
	Tools, Used, Asked, Hooks  []string
	Modes, Denials, Errors     []string
	Commands, Agents           []string
	Status                     []map[string]any
	Thrown, Refused, SessionID string
}

// driveAgent runs a scenario of fixture/agentsdk.mjs.
func driveAgent(t *testing.T, p *program, url, scenario string) agentRun {
	t.Helper()
	cmd := exec.Command(node(t), "--no-warnings", "fixture/agentsdk.mjs", p.path, p.dir, url, scenario)
	cmd.Env = p.env
	out, err := cmd.Output()
	var got agentRun
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", scenario, err, out)
	}
	return got
}

// agentCase is a scenario, the model's part in it, and what the program sees.
type agentCase struct {
	scenario string
	answers  func(t *testing.T, p *program) []openaitest.Answer
	want     agentRun // what is nil isn't compared
	written  string   // in a.txt
}

func answers(all ...openaitest.Answer) func(*testing.T, *program) []openaitest.Answer {
	return func(*testing.T, *program) []openaitest.Answer { return all }
}

// writing calls write_file, and ends with an answer after a result with these texts.
func writing(expect ...string) func(*testing.T, *program) []openaitest.Answer {
	return func(t *testing.T, p *program) []openaitest.Answer {
		return []openaitest.Answer{write(t, p), text("ok", expect...)}
	}
}

func adding(expect ...string) func(*testing.T, *program) []openaitest.Answer {
	return func(t *testing.T, _ *program) []openaitest.Answer {
		return []openaitest.Answer{callOf(t, "calc__add", object{"a": 20, "b": 22}), text("ok", expect...)}
	}
}

// Claude's Agent SDK drives Adze by its path option.
func TestAgentSDK(t *testing.T) {
	ok := []any{"ok"}
	for _, c := range []agentCase{
		{"plain", answers(text("ok", `"model":"m2"`)), agentRun{Results: ok, Modes: []string{"default"}}, ""},
		{"allow", writing(), agentRun{Results: ok, Asked: []string{"write_file"}}, "written"},
		{"deny", writing("not today"), agentRun{Results: ok, Asked: []string{"write_file"}, Denials: []string{"write_file"}}, ""},
		{"nobody", writing("Permission denied"), agentRun{Results: ok, Denials: []string{"write_file"}}, ""},
		{"plan", writing("plan mode"), agentRun{Results: ok, Asked: []string{}, Modes: []string{"plan"}}, ""},
		{"updated", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), write(t, p), text("ok")}
		}, agentRun{Results: ok, Asked: []string{"write_file"}}, "written"},
		{"updatedRules", writing("updatedPermissions: addRules deny isn't supported"), agentRun{Results: ok, Denials: []string{"write_file"}}, ""},
		{"edits", writing(), agentRun{Results: ok, Asked: []string{}, Modes: []string{"auto-edit"}}, "written"},
		{"bypass", writing(), agentRun{Results: ok, Modes: []string{"yolo"}}, "written"},
		{"replaced", answers(openaitest.Answer{Text: "ok", Expect: []string{"You are a parrot."}, Absent: []string{"You are Adze"}}), agentRun{Results: ok}, ""},
		{"appended", answers(text("ok", "You are Adze", "Answer in rhymes.")), agentRun{Results: ok}, ""},
		{"hooked", writing("house rule"), agentRun{Results: ok, Hooks: []string{"Write"}, Asked: []string{}}, ""},
		{"hookedServer", adding("house rule"), agentRun{Results: ok, Hooks: []string{"mcp__calc__add"}, Asked: []string{}}, ""},
		{"server", adding("the sum is 42"), agentRun{Results: ok, Asked: []string{"mcp__calc__add"}, Used: []string{"mcp__calc__add"}}, ""},
		{"serverDenied", adding("not today"), agentRun{Results: ok, Asked: []string{"mcp__calc__add"}, Denials: []string{"mcp__calc__add"}}, ""},
		{"serverAllowed", adding("the sum is 42"), agentRun{Results: ok, Asked: []string{}}, ""},
		{"agents", func(t *testing.T, _ *program) []openaitest.Answer {
			return []openaitest.Answer{
				callOf(t, "task", object{"description": "a poem", "prompt": "Rhyme.", "subagent_type": "poet"}),
				{When: "You only write poems.", Absent: []string{`"write_file"`}, Text: "roses"}, text("ok", "roses"),
			}
		}, agentRun{Results: ok}, ""},
		{"tools", answers(text("ok", `"read_file"`)), agentRun{Results: ok, Tools: []string{"enter_plan_mode", "exit_plan_mode", "grep_search", "read_file", "tool_search"}}, ""},
		{"none", answers(openaitest.Answer{Text: "ok", Absent: []string{`"read_file"`}}), agentRun{Results: ok, Tools: []string{"enter_plan_mode", "exit_plan_mode", "tool_search"}}, ""},
		{"excluded", writing("Permission denied"), agentRun{Results: ok, Asked: []string{}, Denials: []string{"write_file"}}, ""},
		{"delivered", answers(text("ok")), agentRun{Results: ok}, ""},
		{"resume", answers(text("one", "first"), text("two", "first", `"one"`, "second")), agentRun{Results: []any{"one", "two"}}, ""},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			p := adze(t)
			s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: c.answers(t, p)})
			got := driveAgent(t, p, s.URL, c.scenario)
			if got.Thrown != "" {
				t.Errorf("thrown: %q, %q", got.Thrown, got.Errors)
			}
			for name, pair := range map[string][2][]string{
				"tools": {c.want.Tools, got.Tools}, "used": {c.want.Used, got.Used}, "asked": {c.want.Asked, got.Asked},
				"hooks": {c.want.Hooks, got.Hooks}, "modes": {c.want.Modes, got.Modes}, "denials": {c.want.Denials, got.Denials},
			} {
				if pair[0] != nil && !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s: want %q, got %q", name, pair[0], pair[1])
				}
			}
			if d := cmp.Diff(c.want.Results, got.Results); d != "" {
				t.Error(d, got.Errors)
			}
			wantFile(t, p, "a.txt", c.written)
		})
	}
}

// A mode, a flag, a value or a field that Adze doesn't know ends the run before the model is asked.
func TestAgentSDKNotUnderstood(t *testing.T) {
	for scenario, want := range map[string]string{
		"mode":       `--permission-mode: invalid approval mode "dontAsk"`,
		"promptTool": `--permission-prompt-tool: expected stdio, got "mcp__calc__add"`,
		"sources":    `--setting-sources: expected user,project,local, got "project"`,
		"flag":       "unknown flag --no-such-flag",
		"field":      "initialize: toolAliases isn't supported",
		"policy":     "sdkMcpServerConfigs: tools isn't supported",
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			p := adze(t)
			s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: nil})
			got := driveAgent(t, p, s.URL, scenario)
			if !strings.Contains(got.Thrown+fmt.Sprint(got.Results), want) || len(s.Requests()) > 0 {
				t.Errorf("%v, thrown: %q, %q", got.Results, got.Thrown, got.Errors)
			}
		})
	}
}

// The SDK's requests are answered in its terms, and --mcp-config replaces configured servers.
func TestAgentSDKControls(t *testing.T) {
	p := adze(t)
	p.settings(filepath.Join(p.home, "settings.json"), object{"mcpServers": object{"other": object{"command": "no-such-program"}}})
	s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: []openaitest.Answer{text("one"), text("two", "Plan mode is on", `"model":"other"`)}})
	got := driveAgent(t, p, s.URL, "controls")
	if d := cmp.Diff([]any{"one", "two"}, got.Results); d != "" || got.Thrown != "" {
		t.Fatalf("%s, thrown: %q, %q", d, got.Thrown, got.Errors)
	}
	states := map[string]any{}
	for _, st := range got.Status {
		states[fmt.Sprint(st["name"])] = st["status"]
	}
	if d := cmp.Diff(map[string]any{"calc": "connected", "other": "failed"}, states); d != "" {
		t.Error(d)
	}
	if !slices.Contains(got.Commands, "compact") && !slices.Contains(got.Commands, "compress") || !slices.Contains(got.Agents, "explore") ||
		!strings.Contains(got.Refused, `invalid approval mode "dontAsk"`) || !slices.Equal(got.Modes, []string{"default", "plan"}) {
		t.Errorf("%+v", got)
	}
}
