//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// busyModel answers chat completions: the first agent makes four turns of parallel calls, each with a subagent, and
// subagents make calls too. Every command adds its call's ID to a log.
type busyModel struct {
	log string

	mu     sync.Mutex
	bodies []string
	done   bool // it only says that it is done
}

type chatMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
	ID      string `json:"tool_call_id"`
	Calls   []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

func (m *busyModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		Messages []chatMessage `json:"messages"`
	}
	if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	m.bodies = append(m.bodies, string(body))
	done := m.done
	m.mu.Unlock()
	turn, agent := 0, ""
	for _, message := range in.Messages {
		text := fmt.Sprint(message.Content)
		switch {
		case message.Role == "assistant":
			turn++
		case message.Role == "user" && agent == "" && strings.Contains(text, "AGENT="):
			_, agent, _ = strings.Cut(text, "AGENT=")
			agent, _, _ = strings.Cut(agent, ".")
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last := 4
	if agent != "main" {
		last = 1
	}
	if done || turn >= last {
		m.send(w, `{"content":"done"}`, `"stop"`)
		return
	}
	for i, call := range m.calls(agent, turn) {
		m.send(w, fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, i, call), "null")
		time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond) // not synchronization: calls start while the answer continues
	}
	m.send(w, `{}`, `"tool_calls"`)
}

func (m *busyModel) send(w http.ResponseWriter, delta, finish string) {
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	if finish != "null" {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
	w.(http.Flusher).Flush()
}

func (m *busyModel) calls(agent string, turn int) []string {
	call := func(id, name string, args map[string]any) string {
		raw, _ := json.Marshal(args)
		text, _ := json.Marshal(string(raw))
		return fmt.Sprintf(`"id":%q,"type":"function","function":{"name":%q,"arguments":%s}`, id, name, text)
	}
	var all []string
	for i := range 3 {
		id := fmt.Sprintf("%s-%d-%d", agent, turn, i)
		all = append(all, call(id, "run_shell_command", map[string]any{"command": fmt.Sprintf("echo %s >> %s", id, m.log)}))
	}
	all = append(all, call(fmt.Sprintf("%s-%d-g", agent, turn), "glob", map[string]any{"pattern": "*"}))
	if agent == "main" {
		for _, kind := range []string{"general-purpose", "general-purpose"} {
			id := fmt.Sprintf("main-%d-t%d", turn, len(all))
			all = append(all, call(id, "task", map[string]any{"description": "Work", "prompt": "AGENT=" + id + ".", "subagent_type": kind}))
		}
	}
	return all
}

// afterResume is the prompt of a resumed session.
const afterResume = "Continue after the resume."

// kills is the environment of one run.
type kills struct {
	dir, home, log string
	model          *busyModel
	server         *httptest.Server
	seen           map[string]int // how far the calls were that a kill interrupted
}

func newKills(t *testing.T) *kills {
	base := t.TempDir()
	k := &kills{dir: filepath.Join(base, "work"), home: filepath.Join(base, "home"), log: filepath.Join(base, "log")}
	for _, dir := range []string{k.dir, k.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.model, k.seen = &busyModel{log: k.log}, map[string]int{}
	k.server = httptest.NewServer(k.model)
	t.Cleanup(k.server.Close)
	return k
}

func (k *kills) adze(args ...string) *exec.Cmd {
	cmd := exec.Command("adze", append(args, "--yolo", "--sandbox", "off")...)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "HOME="+k.home, "ADZE_HOME="+k.home, "OPENAI_BASE_URL="+k.server.URL, "OPENAI_API_KEY=k", "OPENAI_MODEL=m",
		"ADZE_LOCAL_MODELS=off", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// ran counts how often each call had its effect.
func (k *kills) ran() map[string]int {
	counts := map[string]int{}
	text, _ := os.ReadFile(k.log)
	for line := range strings.Lines(string(text)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// A session that is killed at any point can be resumed: its journal is readable, every call has one response, and no call
// runs again.
func TestKilledSessions(t *testing.T) {
	t.Parallel()
	k := newKills(t)
	began := time.Now()
	if out, err := k.adze("-p", "AGENT=main.").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(began)
	var mu sync.Mutex
	resumed, torn, calls := 0, 0, map[string]int{}
	runs := make(chan struct{}, soak.Count(6, 300))
	for range cap(runs) {
		runs <- struct{}{}
	}
	close(runs)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for range runs {
				after := time.Duration(rand.Int64N(int64(whole)))
				k := newKills(t)
				found, cut := k.killAndResume(t, after)
				mu.Lock()
				resumed += found
				torn += cut
				for state, n := range k.seen {
					calls[state] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for try := 0; resumed == 0 && try < 20; try++ { // the machine may be much slower now than when whole was measured
		whole *= 2
		resumed, _ = newKills(t).killAndResume(t, time.Duration(rand.Int64N(int64(whole))))
	}
	t.Logf("%d of %d runs were resumed, %d had an incomplete last line; interrupted calls: %v; a whole run takes %v", resumed, cap(runs), torn, calls, whole)
	if resumed == 0 {
		t.Error("no run was killed after its session had begun")
	}
}

func (k *kills) killAndResume(t *testing.T, after time.Duration) (resumed, torn int) {
	run := k.adze("-p", "AGENT=main.")
	if err := run.Start(); err != nil {
		t.Error(err)
		return 0, 0
	}
	time.Sleep(after)      // not synchronization: a random moment
	_ = run.Process.Kill() // it may have ended
	_ = run.Wait()
	all := journal.Sessions{Home: k.home}
	ids, err := all.IDs()
	if err != nil || len(ids) == 0 {
		return 0, 0 // it was killed before
	}
	f, before, err := all.View(ids[0])
	var broken *journal.BrokenError
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) || errors.As(err, &broken) && broken.Line == 1 { // it was killed before or in its first entry
		if ran := k.ran(); len(ran) > 0 {
			t.Errorf("after %v: calls without a journal: %v", after, ran)
		}
		return 0, 0
	}
	if err != nil {
		t.Errorf("after %v: %v", after, err)
		return 0, 0
	}
	if f.Repair.Torn > 0 {
		torn = 1
	}
	f.Close()
	k.model.mu.Lock()
	k.model.bodies, k.model.done = nil, true
	k.model.mu.Unlock()
	if out, err := k.adze("-r", ids[0], "-p", afterResume).CombinedOutput(); err != nil {
		t.Errorf("after %v: resume: %v\n%s", after, err, out)
		return 0, torn
	}
	k.checkRequest(t, &before)
	k.checkJournal(t, all, ids[0])
	return 1, torn
}

// checkRequest checks the first request after the resume: each call has one response, which says what is known of it.
func (k *kills) checkRequest(t *testing.T, before *journal.State) {
	var in struct {
		Messages []chatMessage `json:"messages"`
	}
	k.model.mu.Lock()
	bodies := k.model.bodies
	k.model.mu.Unlock()
	// A request of the killed process can come late.
	i := slices.IndexFunc(bodies, func(body string) bool { return strings.Contains(body, afterResume) })
	if i < 0 || json.Unmarshal([]byte(bodies[i]), &in) != nil {
		t.Error("no request after the resume")
		return
	}
	answers := map[string]string{}
	var open []string
	for _, m := range in.Messages {
		switch {
		case m.Role == "tool" && (len(open) == 0 || open[0] != m.ID):
			t.Errorf("response to %s, expected one of %v", m.ID, open)
		case m.Role == "tool":
			open = open[1:]
			answers[m.ID] = fmt.Sprint(m.Content)
		case len(open) > 0:
			t.Errorf("no response to %v", open)
			open = nil
		}
		for _, c := range m.Calls {
			if _, twice := answers[c.ID]; twice {
				t.Errorf("call %s is there twice", c.ID)
			}
			open = append(open, c.ID)
		}
	}
	for _, c := range before.Agent("").Calls {
		want, state := "not executed", "not started"
		if c.Started != nil {
			want, state = "effect is unknown", "started"
		}
		if !c.Answered {
			k.seen["answer not complete"]++
		}
		if c.Finished != nil {
			state = "finished"
			want = strings.TrimSpace(c.Finished.Outcome.Result.Text())
			want = want[:min(len(want), 20)]
		}
		k.seen[state]++
		if got, ok := answers[c.Call.ID]; !ok || !strings.Contains(got, want) {
			t.Errorf("call %s (%+v): response %q, want %q in it", c.Call.ID, c, got, want)
		}
	}
}

// checkJournal checks that every call of every agent started at most once and has one response, and that effects are those
// of started calls.
func (k *kills) checkJournal(t *testing.T, all journal.Sessions, id string) {
	f, err := all.Entries(id)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	called, started, responses := map[string]int{}, map[string]int{}, map[string]int{}
	succeeded := map[string]bool{}
	for e, err := range f.Read(1) {
		if err != nil {
			t.Error(err)
			return
		}
		data, err := journal.Decode(e, all.Store())
		if err != nil {
			t.Error(err)
			return
		}
		switch d := data.(type) {
		case journal.Called:
			called[d.Call.ID]++
		case journal.Started:
			started[d.ID]++
		case journal.Finished:
			succeeded[d.ID] = d.Outcome.Name == "run_shell_command" && d.Outcome.Status == "success"
		case journal.Responses:
			for _, p := range d.Message.Parts {
				responses[p.(model.Response).ID]++
			}
		}
	}
	for id, n := range called {
		if n != 1 || responses[id] != 1 || started[id] > 1 {
			t.Errorf("call %s: requested %d times, started %d times, answered %d times", id, n, started[id], responses[id])
		}
	}
	ran := k.ran()
	for id, n := range ran {
		if n != 1 || started[id] != 1 {
			t.Errorf("call %s ran %d times, started %d times", id, n, started[id])
		}
	}
	for id, ok := range succeeded {
		if ok && ran[id] != 1 {
			t.Errorf("call %s succeeded and ran %d times", id, ran[id])
		}
	}
}
