package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// sdkSession is the ID that the scenarios of recorded sessions begin with.
const sdkSession = "123e4567-e89b-42d3-a456-426614174000"

// recorded returns the recorded sessions of the program's directory by ID: the number of prompts and the parent.
func (p *program) recorded() map[string]string {
	p.t.Helper()
	var all []struct {
		ID, State string
		Turns     int
		Parent    *struct{ ID string }
	}
	if err := json.Unmarshal([]byte(p.must("session", "list", "--json")), &all); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range all {
		parent := ""
		if s.Parent != nil {
			parent = s.Parent.ID
		}
		out[s.ID] = fmt.Sprintf("%d %s %s", s.Turns, s.State, parent)
	}
	return out
}

func sessionsOf(got sdkRun) []string {
	var ids []string
	for _, s := range got.Systems {
		if s.Subtype == "init" {
			ids = append(ids, s.Session)
		}
	}
	return ids
}

// A program resumes a session with Qwen Code's SDK, and forks it: the copy and the session continue apart.
func TestSDKResumeAndFork(t *testing.T) {
	p := adze(t)
	s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: []openaitest.Answer{text("one", "first"), text("two", "first", `"one"`, "second")}})
	got := drive(t, p, s.URL, "resume")
	if d := cmp.Diff([]any{"one", "two"}, got.Results); d != "" || got.Thrown != "" {
		t.Fatalf("%s, thrown: %q, %q", d, got.Thrown, got.Errors)
	}
	if d := cmp.Diff([]string{sdkSession, sdkSession}, sessionsOf(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{sdkSession: "2 closed "}, p.recorded()); d != "" {
		t.Error(d)
	}

	p = adze(t)
	s = openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: []openaitest.Answer{
		text("one", "first"), text("two", `"one"`, "second"),
		{Text: "three", Expect: []string{`"one"`, "third"}, Absent: []string{`"two"`}},
		{Text: "four", Expect: []string{`"one"`, "second", `"two"`, "fourth"}, Absent: []string{`"three"`}},
	}})
	got = drive(t, p, s.URL, "fork")
	if d := cmp.Diff([]any{"one", "two", "three", "four"}, got.Results); d != "" || got.Thrown != "" {
		t.Fatalf("%s, thrown: %q, %q", d, got.Thrown, got.Errors)
	}
	ids := sessionsOf(got)
	if len(ids) != 4 || ids[0] != sdkSession || ids[1] == sdkSession || ids[2] != sdkSession || ids[3] != ids[1] {
		t.Fatal(ids)
	}
	if d := cmp.Diff(map[string]string{sdkSession: "2 closed ", ids[1]: "3 closed " + sdkSession}, p.recorded()); d != "" {
		t.Error(d)
	}
}

// A session of the SDK is the newest of its directory: --continue continues it, and then the SDK resumes it.
func TestSDKContinue(t *testing.T) {
	p := adze(t)
	s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: three(t, p)})
	first := drive(t, p, s.URL, "one")
	p.env = append(p.env, "OPENAI_BASE_URL="+s.URL, "OPENAI_API_KEY=a-key", "OPENAI_MODEL=m")
	if got := p.must("--continue", "-p", "second"); strings.TrimSpace(got) != "two" {
		t.Errorf("%q", got)
	}
	last := drive(t, p, s.URL, "again")
	if d := cmp.Diff([]any{"one", "three"}, slices.Concat(first.Results, last.Results)); d != "" || last.Thrown != "" {
		t.Errorf("%s, thrown: %q, %q", d, last.Thrown, last.Errors)
	}
	if d := cmp.Diff(map[string]string{sdkSession: "3 closed "}, p.recorded()); d != "" {
		t.Error(d)
	}
}

// The SDK throws, and a result and stderr have the reason: a taken ID, an unknown one, a session in use. No request is sent
// for it.
func TestSDKDeniedSessions(t *testing.T) {
	for _, c := range []struct {
		scenario string
		results  []any
		reason   string
	}{
		{"taken", []any{"one"}, "session " + sdkSession + " exists already\nUse another ID, or continue it with --resume."},
		{"unknown", []any{}, `unknown session "` + sdkSession + "\"\nSee 'adze session list --all'."},
		{"busy", []any{"one"}, "session " + sdkSession + " is in use by process"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			p := adze(t)
			s := openaitest.Serve(t, openaitest.Script{Key: "a-key", Answers: []openaitest.Answer{text("one", "first")}[:len(c.results)]})
			got := drive(t, p, s.URL, c.scenario)
			n := len(c.results)
			if len(got.Results) != n+1 || !strings.Contains(got.Thrown+got.Refused, "exited with code 42") {
				t.Fatalf("%v, thrown: %q, denied: %q", got.Results, got.Thrown, got.Refused)
			}
			if d := cmp.Diff(c.results, got.Results[:n]); d != "" {
				t.Error(d)
			}
			last, _ := got.Results[n].(map[string]any)
			if text, _ := last["error"].(string); !strings.HasPrefix(text, c.reason) {
				t.Errorf("%v", last)
			}
			quoted, err := json.Marshal(c.reason)
			if err != nil {
				t.Fatal(err)
			}
			if errs := strings.Join(got.Errors, ""); !strings.Contains(errs, strings.Trim(string(quoted), `"`)) {
				t.Errorf("%q", errs)
			}
			if len(c.results) > 0 {
				if d := cmp.Diff(map[string]string{sdkSession: "1 closed "}, p.recorded()); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// The SDK continues a turn without a prompt: after an error, and after the program was killed.
func TestSDKContinueLastTurn(t *testing.T) {
	for scenario, want := range map[string]int{
		"failed": 2,
		"killed": 1,
	} {
		t.Run(scenario, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if requests++; requests == 1 && scenario == "failed" {
					http.Error(w, `{"error":{"message":"not now"}}`, http.StatusForbidden)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if requests == 1 { // the next one comes after this one was canceled
					sdkDelta(w, "I begin", "null")
					<-r.Context().Done()
					return
				}
				if n := strings.Count(string(body), `"hang"`); n != 1 {
					t.Errorf("the prompt is in the request %d times: %s", n, body)
				}
				sdkDelta(w, "done", `"stop"`)
				fmt.Fprint(w, "data: [DONE]\n\n")
			}))
			defer server.Close()
			got := drive(t, adze(t), server.URL, scenario)
			ok := len(got.Results) == want && got.Results[want-1] == "done" && got.Thrown == ""
			if !ok || strings.Contains(fmt.Sprint(got.Errors), "SIGKILL") != (scenario == "killed") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// sdkDelta sends a part of an answer.
func sdkDelta(w http.ResponseWriter, text, finish string) {
	fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
	w.(http.Flusher).Flush()
}
