package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// modelAPI is an API by which the program reaches a model server.
type modelAPI struct {
	name     string // as --auth-type
	key, url string // variables
	base     string // path of the base URL
	model    string
}

// modelAPIs are the APIs that aimock and Adze have in common.
var modelAPIs = []modelAPI{
	{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5.5"},
	{"openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5.5"},
	{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-opus-4-7"},
	{"gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL", "", "gemini-2.5-pro"},
}

// mock is a server of aimock.
type mock struct {
	t   *testing.T
	api modelAPI
	url string
}

// aimock starts a server with fixtures, each for the first request that matches it.
func aimock(t *testing.T, api modelAPI, fixtures ...object) *mock {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, raw(t, fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node(t), "fixture/aimock.mjs", path)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &mock{t, api, strings.TrimSpace(line)}
}

// ask runs the program with a prompt in a directory.
func (m *mock) ask(p *program, dir, prompt string) (stdout, stderr string, err error) {
	was := p.env
	defer func() { p.env = was }()
	p.env = append(was, m.api.key+"=a-secret-key", m.api.url+"="+m.url+m.api.base)
	p.dir = dir
	return p.run("--auth-type", m.api.name, "--model", m.api.model, "--approval-mode", "yolo", "-p", prompt)
}

// statuses returns those of the answers so far.
func (m *mock) statuses() []int {
	m.t.Helper()
	resp, err := http.Get(m.url + "/__aimock/journal")
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	var entries []struct {
		Method   string
		Response struct{ Status int }
	}
	if err := json.NewDecoder(resp.Body).Decode(&entries); err != nil {
		m.t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		if e.Method == http.MethodPost {
			out = append(out, e.Response.Status)
		}
	}
	return out
}

// fixture returns an answer of aimock and the requests that it is for.
func fixture(match, response, options object) object {
	out := object{"match": match, "response": response}
	for k, v := range options {
		out[k] = v
	}
	return out
}

func mockCall(t *testing.T, name string, args object) object {
	t.Helper()
	return object{"name": name, "arguments": string(raw(t, args))}
}

// The program talks to a model server that others wrote, over each API: thoughts, parallel calls and their results.
func TestAimockConversation(t *testing.T) {
	for _, api := range modelAPIs {
		t.Run(api.name, func(t *testing.T) {
			p := adze(t)
			var calls []object
			for _, name := range []string{"first", "second"} {
				path := filepath.Join(p.dir, name)
				if err := os.WriteFile(path, []byte("the "+name+" file ü\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				calls = append(calls, mockCall(t, "read_file", object{"absolute_path": path}))
			}
			m := aimock(t, api,
				fixture(object{"answered": false}, object{"reasoning": "Two files.", "content": "I read both. ", "toolCalls": calls}, nil),
				fixture(object{"toolResultContains": "the second file ü"}, object{"content": "Both are read."}, nil))
			stdout, stderr, err := m.ask(p, p.dir, "Read them.")
			if err != nil || !strings.Contains(stdout, "Both are read.") || fmt.Sprint(m.statuses()) != "[200 200]" {
				t.Errorf("%v\n%s%s%v", err, stdout, stderr, m.statuses())
			}
		})
	}
}

// Rate limits and connections that break before an answer are waited out; the user sees the answer once.
func TestAimockFaults(t *testing.T) {
	first := object{"sequenceIndex": 0, "turnIndex": 0}
	for _, api := range modelAPIs {
		for _, c := range []struct {
			name string
			bad  object
			want string // statuses
		}{
			{"429", fixture(first, object{"error": object{"message": "Slow down.", "type": "rate_limit_error"}, "status": 429, "retryAfter": 1}, nil), "[429 200]"},
			{"429 of chaos", fixture(first, object{"content": "no"}, object{"chaos": object{"rateLimitRate": 1}}), "[429 200]"},
			{"500", fixture(first, object{"error": object{"message": "Oops.", "type": "server_error"}, "status": 500}, nil), "[500 200]"},
			{"disconnect", fixture(first, object{"content": "no"}, object{"chaos": object{"disconnectRate": 1}}), "[0 200]"},
			{"cut before the first word", fixture(first, object{"content": "no"}, object{"truncateAfterChunks": 1}), ""},
		} {
			t.Run(api.name+"/"+c.name, func(t *testing.T) {
				p := adze(t)
				m := aimock(t, api, c.bad, fixture(object{"turnIndex": 0}, object{"content": "It works."}, nil))
				stdout, stderr, err := m.ask(p, p.dir, "Try.")
				if err != nil || strings.TrimSpace(stdout) != "It works." || strings.Contains(stderr, "a-secret-key") {
					t.Errorf("%v\n%s%s", err, stdout, stderr)
				}
				if got := fmt.Sprint(m.statuses()); c.want != "" && got != c.want {
					t.Errorf("statuses %s, want %s", got, c.want)
				}
			})
		}
	}
}

// The connection breaks at different places of an answer with a text and a call. The call runs once. The latency lets aimock
// send what comes before the break.
func TestAimockCuts(t *testing.T) {
	for _, api := range modelAPIs {
		t.Run(api.name, func(t *testing.T) {
			p := adze(t)
			answer := object{"content": "I append a line.", "toolCalls": []object{mockCall(t, "run_shell_command", object{"command": "echo line >> log", "is_background": false})}}
			var fixtures []object
			var cuts []int
			for n := 2; n <= 26; n += 2 {
				cuts = append(cuts, n)
				match := object{"userMessage": fmt.Sprintf("cut %d.", n), "answered": false, "sequenceIndex": 0}
				fixtures = append(fixtures, fixture(match, answer, object{"truncateAfterChunks": n, "chunkSize": 8, "latency": 20}))
			}
			m := aimock(t, api, append(fixtures,
				fixture(object{"answered": false}, answer, nil),
				fixture(object{"answered": true}, object{"content": "Done."}, nil))...)
			for _, n := range cuts {
				dir := t.TempDir()
				stdout, stderr, err := m.ask(p, dir, fmt.Sprintf("cut %d.", n))
				log, _ := os.ReadFile(filepath.Join(dir, "log")) // no file: no line
				if err != nil || string(log) != "line\n" || strings.Count(stdout, "Done.") != 1 {
					t.Errorf("cut %d: %v, log %q\n%s%s", n, err, log, stdout, stderr)
				}
			}
		})
	}
}
