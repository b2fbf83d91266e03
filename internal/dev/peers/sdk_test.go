package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// sdkRun is what a program with Qwen Code's SDK saw.
type sdkRun struct {
	Results                    []any
	Systems                    []sdkSystem
	Tools, Texts, Partial      []string
	Denials                    []string // names of tools
	Errors                     []string // what the program printed to stderr
	Asked                      []map[string]any
	Below                      int
	Aborted                    bool
	Thrown, Refused, Continued string
	Effort                     any
	Commands, Usage            map[string]any
	Models, Status             map[string]any
}

type sdkSystem struct {
	Subtype, Model, Mode, Session, UUID string
	Agents, Tools                       []string
	Servers                             []map[string]string
}

// drive runs a scenario of fixture/sdk.mjs.
func drive(t *testing.T, p *program, url, scenario string) sdkRun {
	t.Helper()
	cmd := exec.Command(node(t), "fixture/sdk.mjs", p.path, p.dir, url, scenario)
	cmd.Env, cmd.Stderr = p.env, os.Stderr
	out, err := cmd.Output()
	var got sdkRun
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", scenario, err, out)
	}
	return got
}

func callOf(t *testing.T, name string, args object) openaitest.Answer {
	t.Helper()
	return openaitest.Answer{Calls: []openaitest.Call{{ID: "call_0", Name: name, Args: raw(t, args)}}}
}

// sdkCase is a scenario of fixture/sdk.mjs, the model's part in it, and the expected result.
type sdkCase struct {
	scenario string
	answers  func(t *testing.T, p *program) []openaitest.Answer
	results  []any
	check    func(t *testing.T, p *program, got sdkRun)
}

func text(s string, expect ...string) openaitest.Answer {
	return openaitest.Answer{Text: s, Expect: expect}
}

func write(t *testing.T, p *program) openaitest.Answer {
	t.Helper()
	return callOf(t, "write_file", object{"file_path": filepath.Join(p.dir, "a.txt"), "content": "written"})
}

// sdkTurns are prompts, approvals and changes between prompts.
func sdkTurns() []sdkCase {
	return []sdkCase{
		{"one", func(*testing.T, *program) []openaitest.Answer { return []openaitest.Answer{text("one", "first")} }, []any{"one"},
			func(t *testing.T, _ *program, got sdkRun) {
				if s := got.Systems[0]; s.Subtype != "init" || s.Session != "123e4567-e89b-42d3-a456-426614174000" || s.UUID != s.Session || !slices.Contains(s.Tools, "read_file") {
					t.Errorf("%+v", s)
				}
			}},
		{"many", three, []any{"one", "two", "three"}, nil},
		{"queued", three, []any{"one", "two", "three"}, nil},
		{"partial", func(*testing.T, *program) []openaitest.Answer {
			return []openaitest.Answer{{Thought: "hm", Text: "one", Faults: openaitest.Faults{Split: 1}}}
		}, []any{"one"}, func(t *testing.T, _ *program, got sdkRun) {
			if d := cmp.Diff("message_start start delta delta stop start delta delta delta stop message_stop", strings.ReplaceAll(strings.Join(got.Partial, " "), "content_block_", "")); d != "" {
				t.Error(d)
			}
		}},
		{"allow", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", "written"); wantAsked(t, got, 1) }},
		{"deny", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok", "not today")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", ""); wantAsked(t, got, 1) }},
		{"nobody", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok", "Denied")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", "") }},
		{"update", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok", "edited this call")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) {
				wantFile(t, p, "a.txt", "")
				wantFile(t, p, "other.txt", "updated")
				wantAsked(t, got, 1)
			}},
		// An empty updatedInput, which the SDK's type requires, replaced the arguments.
		{"unchanged", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", "written"); wantAsked(t, got, 1) }},
		{"modes", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{text("one"), write(t, p), text("two"), text("three", "Plan mode is on")}
		}, []any{"one", "two", "three"}, func(t *testing.T, p *program, got sdkRun) {
			wantFile(t, p, "a.txt", "written")
			if got.Systems[0].Mode != "default" || got.Systems[1].Mode != "yolo" || got.Systems[2].Mode != "plan" {
				t.Errorf("%+v", got.Systems)
			}
		}},
		{"model", func(*testing.T, *program) []openaitest.Answer {
			return []openaitest.Answer{text("one", `"model":"alpha"`), text("two", `"model":"beta"`, `"one"`)}
		}, []any{"one", "two"}, nil},
	}
}

// sdkSessions returns what a program sets up.
func sdkSessions() []sdkCase {
	return []sdkCase{
		{"reports", func(*testing.T, *program) []openaitest.Answer {
			return []openaitest.Answer{{Text: "one", Expect: []string{`"reasoning_effort":"high"`}, Usage: &openaitest.Usage{Input: 900, Output: 100}}, text("two", `"reasoning_effort":"low"`)}
		}, []any{"one", "two"}, func(t *testing.T, _ *program, got sdkRun) {
			if got.Usage["totalTokens"] != 1000.0 || got.Effort != true || got.Commands["commands"] == nil ||
				got.Status["status"].(map[string]any)["weather"] != "connected" || !strings.Contains(fmt.Sprint(got.Models["models"]), "scripted") {
				t.Errorf("%+v", got)
			}
			if !strings.Contains(got.Refused, `invalid approval mode "wild"`) || !strings.Contains(got.Continued, "continue_last_turn: nothing to continue: the last answer is complete") {
				t.Errorf("%q, %q", got.Refused, got.Continued)
			}
		}},
		{"server", func(t *testing.T, _ *program) []openaitest.Answer {
			return []openaitest.Answer{callOf(t, "weather__forecast", object{"city": "Oslo"}), callOf(t, "weather__broken", object{}), text("ok", "sunny in Oslo", "no satellites")}
		}, []any{"ok"}, func(t *testing.T, _ *program, got sdkRun) {
			if d := cmp.Diff([]map[string]string{{"name": "weather", "status": "connected"}}, got.Systems[0].Servers); d != "" {
				t.Error(d)
			}
		}},
		{"agents", func(t *testing.T, _ *program) []openaitest.Answer {
			return []openaitest.Answer{
				callOf(t, "task", object{"description": "a poem", "prompt": "Rhyme.", "subagent_type": "poet"}),
				{When: "You only write poems.", Absent: []string{`"write_file"`}, Text: "roses"}, text("ok", "roses"),
			}
		}, []any{"ok"}, func(t *testing.T, _ *program, got sdkRun) {
			if !slices.Contains(got.Systems[0].Agents, "poet") || got.Below == 0 {
				t.Errorf("%+v", got)
			}
		}},
		{"core", func(t *testing.T, p *program) []openaitest.Answer {
			a := write(t, p)
			a.Absent = []string{`"name":"write_file"`}
			return []openaitest.Answer{a, text("one", "Permission denied: write_file: the tool is excluded")}
		}, []any{"one"}, func(t *testing.T, p *program, got sdkRun) {
			wantFile(t, p, "a.txt", "")
			if tools := got.Systems[0].Tools; !slices.Contains(tools, "read_file") || slices.Contains(tools, "grep_search") {
				t.Errorf("%v", tools)
			}
		}},
		{"allowed", func(t *testing.T, p *program) []openaitest.Answer {
			return []openaitest.Answer{write(t, p), text("ok")}
		}, []any{"ok"},
			func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", "written"); wantAsked(t, got, 0) }},
		{"excluded", func(t *testing.T, p *program) []openaitest.Answer {
			a := write(t, p)
			a.Absent = []string{`"name":"write_file"`}
			return []openaitest.Answer{a, text("ok", "Permission denied: write_file: the tool is excluded")}
		}, []any{"ok"}, func(t *testing.T, p *program, got sdkRun) { wantFile(t, p, "a.txt", "") }},
		{"prompts", func(*testing.T, *program) []openaitest.Answer {
			return []openaitest.Answer{text("one", "You are a parrot.")}
		}, []any{"one"}, nil},
	}
}

// Qwen Code's SDK drives Adze unchanged.
func TestSDK(t *testing.T) {
	for _, c := range slices.Concat(sdkTurns(), sdkSessions()) {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			p := adze(t)
			s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: c.answers(t, p)})
			got := drive(t, p, s.URL, c.scenario)
			if d := cmp.Diff(c.results, got.Results); d != "" || got.Thrown != "" {
				t.Errorf("%s, thrown: %q", d, got.Thrown)
			}
			if c.check != nil && !t.Failed() {
				c.check(t, p, got)
			}
		})
	}
}

// Tools of MCP servers are mcp__server__tool in every message. Rules, matchers and settings accept both names.
func TestSDKToolNames(t *testing.T) {
	hooks := func(matcher string) object {
		command := `cat >> hooked; echo '{"decision":"block","reason":"house rule"}'`
		return object{"PreToolUse": []object{{"matcher": matcher, "hooks": []object{{"type": "command", "command": command}}}}}
	}
	for _, prefix := range []string{"", "mcp__"} {
		tool := prefix + "weather__forecast"
		for name, c := range map[string]struct {
			settings object
			result   string // what the model reads
			asked    int
			denied   bool
		}{
			"allow":   {object{"permissions": object{"allow": []string{tool}, "ask": []string{"x__y"}}}, "sunny in Oslo", 0, false},
			"ask":     {object{"permissions": object{"ask": []string{tool}}}, "sunny in Oslo", 1, false},
			"deny":    {object{"permissions": object{"deny": []string{tool}}}, "Permission denied", 0, true},
			"exclude": {object{"tools": object{"exclude": []string{tool}}}, "the tool is excluded", 0, true},
			"server":  {object{"tools": object{"exclude": []string{prefix + "weather__*"}}}, "the tool is excluded", 0, true},
			"matcher": {object{"hooks": hooks(tool)}, "house rule", 0, true},
			"pattern": {object{"hooks": hooks("^" + prefix + "weather__.*")}, "house rule", 0, true},
		} {
			t.Run(prefix+name, func(t *testing.T) {
				t.Parallel()
				p := adze(t)
				p.settings(filepath.Join(p.home, "settings.json"), c.settings)
				s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: []openaitest.Answer{
					callOf(t, tool, object{"city": "Oslo"}), text("ok", c.result),
				}})
				got := drive(t, p, s.URL, "names")
				if d := cmp.Diff([]any{"ok"}, got.Results); d != "" || got.Thrown != "" || len(got.Asked) != c.asked {
					t.Errorf("%s, thrown: %q, asked: %v", d, got.Thrown, got.Asked)
				}
				names := append(append(got.Tools, got.Denials...), "mcp__weather__forecast")
				for _, a := range got.Asked {
					names = append(names, a["name"].(string))
				}
				for _, n := range names {
					if n != "mcp__weather__forecast" && name != "exclude" && name != "server" {
						t.Errorf("%v", names)
					}
				}
				offered := slices.Contains(got.Systems[0].Tools, "mcp__weather__forecast")
				if (len(got.Denials) > 0) != c.denied || offered != (name != "exclude" && name != "server") {
					t.Errorf("denied: %v, offered: %v", got.Denials, got.Systems[0].Tools)
				}
				if hooked, err := os.ReadFile(filepath.Join(p.dir, "hooked")); err == nil &&
					!strings.Contains(string(hooked), `"tool_name":"`+tool+`"`) {
					t.Errorf("%s", hooked)
				}
			})
		}
	}
}

func three(*testing.T, *program) []openaitest.Answer {
	return []openaitest.Answer{
		{Text: "one", Expect: []string{"first"}}, {Text: "two", Expect: []string{`"one"`, "second"}}, {Text: "three", Expect: []string{`"two"`, "third"}},
	}
}

func wantFile(t *testing.T, p *program, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if string(got) != want || err != nil && want != "" {
		t.Errorf("%s: %q, %v", name, got, err)
	}
}

func wantAsked(t *testing.T, got sdkRun, times int) {
	t.Helper()
	if len(got.Asked) != times {
		t.Errorf("asked %v", got.Asked)
	}
}

// The SDK interrupts an answer, and the next prompt works. It aborts a run, and the program ends.
func TestSDKInterruptAndAbort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Contains(string(body), "please") {
			sdkDelta(w, "done", `"stop"`)
			fmt.Fprint(w, "data: [DONE]\n\n")
			return
		}
		sdkDelta(w, "I begin", "null")
		<-r.Context().Done()
	}))
	defer server.Close()
	got := drive(t, adze(t), server.URL, "interrupt")
	want := []any{map[string]any{"error": "interrupted", "subtype": "error_during_execution"}, "done"}
	if d := cmp.Diff(want, got.Results); d != "" || got.Thrown != "" {
		t.Errorf("%s, thrown: %q", d, got.Thrown)
	}
	if got := drive(t, adze(t), server.URL, "abort"); !got.Aborted || got.Thrown != "" {
		t.Errorf("%+v", got)
	}
}
