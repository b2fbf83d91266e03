package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a model that does what prompts say: "do NAME N FILE" makes N calls, each of which appends "NAME i" to FILE, then
// writes NAME.txt into the workspace. It has no state: it counts the results in the request. So a model that is asked again
// continues after the calls that it has results for, also those that were interrupted. It repeats calls that didn't start.
type scripted struct {
	*httptest.Server
	delay time.Duration // of each answer

	mu          sync.Mutex
	requests    int
	keys        map[string]int
	interrupted map[string]int // results "interrupted" by NAME
	resumed     map[string]int // most notes that the task continues, by NAME
	busy        int            // requests to answer with 429
	after       string         // Retry-After of these
	times       []time.Time
}

var directive = regexp.MustCompile(`do (\S+) (\d+) (\S+)`)

func serveModel(t *testing.T, change ...func(*scripted)) *scripted {
	s := &scripted{keys: map[string]int{}, interrupted: map[string]int{}, resumed: map[string]int{}}
	for _, c := range change {
		c(s)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (s *scripted) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"data":[{"id":"scripted"}]}`)
		return
	}
	var q struct{ Messages []message }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests++
	s.times = append(s.times, time.Now())
	s.keys[r.Header.Get("Authorization")]++
	if s.busy > 0 {
		s.busy--
		s.mu.Unlock()
		w.Header().Set("Retry-After", s.after)
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	}
	s.mu.Unlock()
	name, calls, file, done, results := s.read(q.Messages)
	time.Sleep(s.delay) // not synchronization: a model takes this long
	w.Header().Set("Content-Type", "text/event-stream")
	switch {
	case name == "":
		event(w, map[string]any{"content": "nothing to do"}, "stop")
	case done < calls:
		s.call(w, results, "run_shell_command", map[string]any{"command": fmt.Sprintf("echo '%s %d' >> %s", name, done, file), "description": "append", "is_background": false})
	case done == calls:
		s.call(w, results, "run_shell_command", map[string]any{"command": "echo " + name + " > " + name + ".txt", "description": "write", "is_background": false})
	default:
		event(w, map[string]any{"content": "finished " + name}, "stop")
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n")
}

// asked returns the number of requests so far.
func (s *scripted) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// read finds what to do, how many calls were executed or interrupted, and how many results there are.
func (s *scripted) read(all []message) (name string, calls int, file string, done, results int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	interrupted, resumed := 0, 0
	for _, m := range all {
		text := string(m.Content)
		if m.Role == "user" {
			if found := directive.FindStringSubmatch(text); found != nil && name == "" {
				name, file = found[1], strings.TrimRight(found[3], `"\`)
				fmt.Sscan(found[2], &calls)
			}
			if strings.Contains(text, "This task was interrupted and continues") {
				resumed++
			}
		}
		if m.Role == "tool" {
			results++
			if !strings.Contains(text, "not executed: ") {
				done++
			}
			if strings.Contains(text, "its effect is unknown") {
				interrupted++
			}
		}
	}
	s.interrupted[name] = max(s.interrupted[name], interrupted)
	s.resumed[name] = max(s.resumed[name], resumed)
	return name, calls, file, done, results
}

func (s *scripted) call(w http.ResponseWriter, n int, tool string, args map[string]any) {
	raw, _ := json.Marshal(args)
	event(w, map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function", "function": map[string]any{"name": tool, "arguments": string(raw)},
	}}}, "tool_calls")
}

func event(w http.ResponseWriter, delta map[string]any, reason string) {
	delta["role"] = "assistant"
	raw, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}})
	fmt.Fprintf(w, "data: %s\n\n", raw)
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", reason)
}
