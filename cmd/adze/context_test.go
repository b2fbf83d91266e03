package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// longServer is a model with a small window and a task of many turns: it reads another file in each. It counts a token for
// each four bytes, rejects what is too long, and gives the answer only if the request still has the task.
type longServer struct {
	turns   int    // of the task
	window  int    // tokens; 0: any
	file    string // with %d
	summary string
	at      func(turn int) // called before each turn
	cycle   int            // files; 0: ten
	env     []string       // of the program, besides
	stuck   bool           // it makes the same calls again and again

	mu        sync.Mutex
	turn      int
	summaries int
	rejected  int
	noted     bool // the program said that it repeats itself
	limit     int  // tokens of a request
	fixed     int  // tokens that it reports for every request; 0: their number, -1: it reports none
}

const longTask = "Read all files. The password is plover-7781."

func (s *longServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	tokens := len(body) / 4
	if s.window > 0 && tokens > s.window {
		s.rejected++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is exceeded","code":"context_length_exceeded"}}`)
		return
	}
	s.limit = max(s.limit, tokens)
	usage := ""
	if s.fixed > 0 {
		tokens = s.fixed
	}
	if s.fixed >= 0 {
		usage = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":20,"total_tokens":%d}`, tokens, tokens+20)
	}
	fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}]%s}`, s.message(body), usage)
}

func (s *longServer) message(body []byte) []byte {
	if wantsSummary(body) {
		s.summaries++
		return quoted(s.summary)
	}
	if s.turn >= s.turns {
		if bytes.Contains(body, []byte(longTask)) {
			return quoted("the password is plover-7781")
		}
		return quoted("I forgot it")
	}
	s.turn++
	if s.at != nil {
		s.at(s.turn)
	}
	limit := 1000 + s.turn
	if s.stuck {
		limit = 1000
		s.noted = s.noted || strings.Contains(string(body), "turns only repeated calls")
	}
	args, _ := json.Marshal(fmt.Sprintf(`{"absolute_path":%q,"offset":0,"limit":%d}`, fmt.Sprintf(s.file, s.turn%s.files()), limit))
	return []byte(fmt.Sprintf(`{"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read_file","arguments":%s}}]}`, s.turn, args))
}

// wantsSummary reports whether the last message of a request asks for a summary. Only such a request is decoded: with the
// race detector that takes most of the time of a long conversation.
func wantsSummary(body []byte) bool {
	if !bytes.Contains(body, []byte("Write a summary")) {
		return false
	}
	var request struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		return false
	}
	last := request.Messages[len(request.Messages)-1]
	text, _ := last.Content.(string)
	return last.Role == "user" && strings.Contains(text, "Write a summary")
}

func (s *longServer) files() int { return cmp.Or(s.cycle, 10) }

func quoted(text string) []byte {
	out, _ := json.Marshal(map[string]string{"content": text})
	return out
}

// long runs the program with such a model, and returns its output and exit code.
func (s *longServer) run(t *testing.T, result int, settings string, watch func(*exec.Cmd), args ...string) (stdout, stderr string, code int) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	home, dir := t.TempDir(), t.TempDir()
	s.file = filepath.Join(dir, "f%d.txt")
	for i := range 10 {
		text := fmt.Sprintf("file %d\n", i) + strings.Repeat("0123456789 abcde\n", result/17)
		if err := os.WriteFile(fmt.Sprintf(s.file, i), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("adze", append([]string{"-p", longTask, "--model", "m"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "ADZE_HOME="+home, "OPENAI_BASE_URL="+server.URL+"/v1", "ADZE_LOCAL_MODELS=off")
	cmd.Env = append(cmd.Env, s.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if watch != nil {
		watch(cmd)
	}
	err := cmd.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

const smallWindow = `{"model":{"generationConfig":{"contextWindowSize":8000}}}`

// A task of 300 turns runs to its end in a window of 8,000 tokens, of which system prompt and declarations take more than
// half, and the task stays known.
func TestLongTaskInSmallWindow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result   int
		settings string
		fixed    int
	}{
		"short results":               {40, smallWindow, 0},
		"results of 1 KB":             {1000, smallWindow, 0},
		"results of 20 KB":            {20_000, smallWindow, 0},
		"a server that doesn't count": {1000, smallWindow, -1},
		"a window that isn't known":   {1000, "{}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &longServer{turns: 300, window: 8000, fixed: tt.fixed, summary: "Task: read all files. Decided: one by one. To do: the rest. Paths: f0.txt to f9.txt."}
			stdout, stderr, code := s.run(t, tt.result, tt.settings, nil)
			if code != 0 || stdout != "the password is plover-7781\n" {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			if s.summaries == 0 || !strings.Contains(stderr, "adze: compacted the conversation from ") {
				t.Errorf("%d summaries:\n%s", s.summaries, stderr)
			}
			t.Logf("%d summaries, %d requests rejected, at most %d tokens", s.summaries, s.rejected, s.limit)
		})
	}
}

// Summaries that free nothing end the run with a clear message.
func TestFutileSummariesEndTheRun(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*longServer{
		"empty":                            {summary: ""},
		"long":                             {summary: strings.Repeat("word ", 9000)},
		"the server counts as many tokens": {summary: "Task: read all files.", fixed: 7000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.turns = 300
			stdout, stderr, code := s.run(t, 300, smallWindow, nil)
			if code != 1 || stdout != "" || !strings.Contains(stderr, "adze: context window full: 2 compactions in a row freed less than 10 %") {
				t.Errorf("exit code %d after %d turns: %s%s", code, s.turn, stdout, stderr)
			}
			if s.turn > 60 {
				t.Errorf("it took %d turns", s.turn)
			}
		})
	}
}

// Programs see a compaction as a system message.
func TestCompactionInStreamJSON(t *testing.T) {
	t.Parallel()
	s := &longServer{turns: 60, window: 8000, summary: "Task: read all files."}
	stdout, stderr, code := s.run(t, 1000, smallWindow, nil, "--output-format", "stream-json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	seen := false
	for line := range strings.Lines(stdout) {
		var m struct {
			Type, Subtype, Summary string
			Pre                    int `json:"pre_tokens"`
			Post                   int `json:"post_tokens"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Subtype == "chat_compression" && m.Summary == "Task: read all files." {
			seen = m.Type == "system" && m.Pre > m.Post && m.Post > 0
		}
	}
	if !seen {
		t.Errorf("no compaction in:\n%.3000s", stdout)
	}
}

// Programs see repeated calls as a system message, and the run as failed.
func TestRepeatedCallsInStreamJSON(t *testing.T) {
	t.Parallel()
	s := &longServer{turns: 300, cycle: 1, stuck: true}
	stdout, _, code := s.run(t, 40, "{}", nil, "--output-format", "stream-json")
	if code != 1 || !strings.Contains(stdout, `"subtype":"loop_detected"`) || !strings.Contains(stdout, `"subtype":"error_during_execution"`) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// A model that repeats its calls gets a note, and then the run ends.
func TestRepeatedCallsEndTheRun(t *testing.T) {
	t.Parallel()
	for cycle, turns := range map[int]int{1: 7, 2: 8} {
		s := &longServer{turns: 300, cycle: cycle, stuck: true}
		stdout, stderr, code := s.run(t, 40, "{}", nil)
		if code != 1 || stdout != "" || s.turn != turns || !s.noted {
			t.Errorf("exit code %d after %d turns, noted: %v: %s%s", code, s.turn, s.noted, stdout, stderr)
		}
		if want := "adze: no progress: the last 6 turns repeated calls with the same results (read_file)\n"; !strings.Contains(stderr, want) {
			t.Errorf("got %s", stderr)
		}
	}
}
