package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/model/anthropic/anthropictest"
	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/model/responses/responsestest"
)

// bareAPI is an API whose first request is measured.
type bareAPI struct {
	name     string // as --auth-type
	key, url string // variables
	base     string // path of the base URL
	model    string
	server   func(file string) *openaitest.Server
}

// bareAPIs have servers that answer with a call and then with a text.
func bareAPIs() []bareAPI {
	args := func(file string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"absolute_path":%q}`, file))
	}
	return []bareAPI{
		{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5.5", func(file string) *openaitest.Server {
			return openaitest.New(openaitest.Script{Key: benchKey, Repeat: true, Answers: []openaitest.Answer{
				{Calls: []openaitest.Call{{ID: "c", Name: "read_file", Args: args(file)}}}, {Text: "done"},
			}})
		}},
		{"openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5.5", func(file string) *openaitest.Server {
			return responsestest.New(responsestest.Script{Key: benchKey, Repeat: true, Answers: []responsestest.Answer{
				{Calls: []responsestest.Call{{ID: "c", Name: "read_file", Args: args(file)}}}, {Text: "done"},
			}})
		}},
		{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-opus-4-7", func(file string) *openaitest.Server {
			return anthropictest.New(anthropictest.Script{Key: benchKey, Repeat: true, Answers: []anthropictest.Answer{
				{Calls: []anthropictest.Call{{ID: "c", Name: "read_file", Args: args(file)}}}, {Text: "done"},
			}})
		}},
		{"gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL", "", "gemini-2.5-pro", func(file string) *openaitest.Server {
			return geminitest.New(geminitest.Script{Key: benchKey, Repeat: true, Answers: []geminitest.Answer{
				{Calls: []geminitest.Call{{ID: "c", Name: "read_file", Args: args(file)}}}, {Text: "done"},
			}})
		}},
	}
}

const benchKey = "bench-key"

// printTurns measures a turn with settings, .env and context files: until the first byte of the request, its memory, and the
// size of the first request.
func printTurns(w io.Writer, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	for _, api := range bareAPIs() {
		t, err := measureTurns(binary, api)
		if err != nil {
			return fmt.Errorf("a turn over %s: %w", api.name, err)
		}
		fmt.Fprintf(w, "start to first byte of the request, %s\t%v, half of %d under %v\tunder 12 ms\n",
			api.name, t.least.Round(10*time.Microsecond), rounds, t.median.Round(10*time.Microsecond))
		fmt.Fprintf(w, "a turn with a call, memory, %s\t%.1f MB\tunder 26 MB\n", api.name, float64(t.memory)/1e6)
		fmt.Fprintf(w, "first request, %s\t%d bytes\tunder 20,000 bytes\n", api.name, t.bytes)
	}
	return nil
}

// turnCost is what turns cost.
type turnCost struct {
	least, median time.Duration // until the first byte
	memory        int64         // the most of all
	bytes         int           // of the first request's body
}

// How many turns are timed, and in how many more the memory is measured.
const (
	rounds       = 30
	memoryRounds = 3
)

func measureTurns(binary string, api bareAPI) (turnCost, error) {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return turnCost{}, err
	}
	defer os.RemoveAll(dir)
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return turnCost{}, err
	}
	l := &firstByte{Listener: inner}
	server := api.server(filepath.Join(project, "AGENTS.md"))
	s := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // it ends with Close and says so
	defer s.Close()
	err = writeAll(map[string]string{
		filepath.Join(home, "settings.json"): `{"model":{"name":"gpt-5.5","reasoningEffort":"low"},"permissions":{"allow":["Shell(git status)"],"deny":["Read(secret)"]},` +
			`"modelPricing":{"gpt-5.5":{"input":1,"output":5}}}`,
		filepath.Join(home, ".env"):                      api.key + "=" + benchKey + "\n" + api.url + "=http://" + inner.Addr().String() + api.base + "\n",
		filepath.Join(home, "AGENTS.md"):                 "Answer briefly.\n",
		filepath.Join(project, "AGENTS.md"):              "# Project\n" + strings.Repeat("Run the tests before you finish.\n", 10),
		filepath.Join(project, ".adze", "settings.json"): `{"permissions":{"deny":["Shell(rm)"]}}`,
	})
	if err != nil {
		return turnCost{}, err
	}
	var out turnCost
	var all []time.Duration
	command := func() *exec.Cmd {
		cmd := exec.Command(binary, "--auth-type", api.name, "-p", "Read AGENTS.md.", "--model", api.model)
		cmd.Dir = project
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ADZE_HOME=" + home}
		return cmd
	}
	for range rounds {
		cmd := command()
		l.reset()
		began := time.Now()
		if text, err := cmd.CombinedOutput(); err != nil {
			return turnCost{}, fmt.Errorf("%w: %s", err, text)
		}
		at := l.reset()
		if at.IsZero() {
			return turnCost{}, errors.New("no request was sent")
		}
		all = append(all, at.Sub(began))
	}
	for range memoryRounds {
		rss, err := memory(command())
		if err != nil {
			return turnCost{}, err
		}
		out.memory = max(out.memory, rss)
	}
	out.median = median(all)
	out.least = all[0]
	requests := server.Requests()
	if len(requests) != 2*(rounds+memoryRounds) {
		return turnCost{}, fmt.Errorf("%d requests in %d turns", len(requests), rounds+memoryRounds)
	}
	out.bytes = len(requests[0].Body)
	return out, nil
}

func writeAll(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// firstByte notes when the first byte of any connection came.
type firstByte struct {
	net.Listener
	mu sync.Mutex
	at time.Time
}

// reset gives the time of the first byte since the last reset; zero: none came.
func (f *firstByte) reset() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.at
	f.at = time.Time{}
	return at
}

// Accept waits for a connection.
func (f *firstByte) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	return notedConn{c, f}, err
}

type notedConn struct {
	net.Conn
	first *firstByte
}

// Read notes the time if it is the first.
func (c notedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.first.mu.Lock()
		if c.first.at.IsZero() {
			c.first.at = time.Now()
		}
		c.first.mu.Unlock()
	}
	return n, err
}
