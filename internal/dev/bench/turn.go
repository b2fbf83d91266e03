package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/proc"
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
		{"openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5.5",
			func(file string) *openaitest.Server {
				return responsestest.New(responsestest.Script{Key: benchKey, Repeat: true,
					Answers: []responsestest.Answer{
						{Calls: []responsestest.Call{{ID: "c", Name: "read_file", Args: args(file)}}}, {Text: "done"},
					}})
			}},
		{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-opus-4-7",
			func(file string) *openaitest.Server {
				return anthropictest.New(anthropictest.Script{Key: benchKey, Repeat: true,
					Answers: []anthropictest.Answer{
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

// printTurns measures a turn with settings, .env and context files: until the first byte of the request, its memory,
// and the size of the first request.
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

// turnCost is the cost of turns.
type turnCost struct {
	least, median time.Duration // until the first byte
	memory        int64         // the maximum
	bytes         int           // of the first request's body
}

// The number of turns that are timed, and that measure memory.
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
	go func() { _ = s.Serve(l) }() // it returns an error after Close
	defer s.Close()
	err = writeAll(map[string]string{
		filepath.Join(home, "settings.json"): `{"model":{"name":"gpt-5.5","reasoningEffort":"low"},"permissions":{"allow":["Shell(git status)"],"deny":["Read(secret)"]},` +
			`"modelPricing":{"gpt-5.5":{"input":1,"output":5}}}`,
		filepath.Join(home, ".env"): api.key + "=" + benchKey + "\n" + api.url + "=http://" +
			inner.Addr().String() + api.base + "\n",
		filepath.Join(home, "AGENTS.md"): "Answer briefly.\n",
		filepath.Join(project, "AGENTS.md"): "# Project\n" +
			strings.Repeat("Run the tests before you finish.\n", 10),
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

// firstByte records the time of the first byte on any connection.
type firstByte struct {
	net.Listener
	mu sync.Mutex
	at time.Time
}

// reset returns the time of the first byte since the last reset; zero: none.
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

// Read records the time of the first byte.
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

// printHooks measures the cost of a hook that does nothing.
func printHooks(w io.Writer, helper proc.Helper) error {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := hook.Open(hook.Options{
		Hooks: []hook.Hook{{Event: hook.PreToolUse, Command: "true"}}, Dir: dir, Helper: hook.Helper(helper),
	})
	defer r.Close()
	var took []time.Duration
	for range 40 {
		time.Sleep(50 * time.Millisecond) // a model takes longer between calls
		began := time.Now()
		result := r.Run(context.Background(), hook.Input{Event: hook.PreToolUse, ToolInput: []byte(`{}`)}, "x")
		took = append(took, time.Since(began))
		if result.Verdict != hook.None {
			return fmt.Errorf("hook: %s", result.Reason)
		}
	}
	slices.Sort(took)
	fmt.Fprintf(w, "a hook that does nothing\t%v\tunder 5 ms\n", took[len(took)/2].Round(10*time.Microsecond))
	return nil
}

// partialEvents is the number of pieces of the measured answer.
const partialEvents = 20_000

// printPartial measures the cost of a piece of an answer from the server to stdout, with and without its own message.
func printPartial(w io.Writer, binary string) error {
	with, err := answerCost(binary, "--include-partial-messages")
	if err != nil {
		return fmt.Errorf("partial events: %w", err)
	}
	without, err := answerCost(binary)
	if err != nil {
		return fmt.Errorf("partial events: %w", err)
	}
	fmt.Fprintf(w, "a partial event, CPU\t%v, of which %v to print it\tunder 20 µs\n", with, max(with-without, 0))
	return nil
}

// answerCost returns the CPU time per piece of a long answer, the minimum of a few.
func answerCost(binary string, flags ...string) (time.Duration, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	server, err := openaitest.Start(openaitest.Script{Repeat: true, Answers: []openaitest.Answer{
		{Text: strings.Repeat("word", partialEvents), Faults: openaitest.Faults{Split: 4}},
	}})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	least := time.Hour
	for range 3 {
		cmd := exec.Command(binary, append([]string{"-p", "Go.", "-o", "stream-json"}, flags...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "OPENAI_BASE_URL=" + server.URL,
			"OPENAI_MODEL=m"}
		out, err := cmd.Output()
		if err != nil {
			return 0, err
		}
		if n := bytes.Count(out, []byte(`"content_block_delta"`)); len(flags) > 0 && n != partialEvents {
			return 0, fmt.Errorf("%d events, expected %d", n, partialEvents)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return (least / partialEvents).Round(100 * time.Nanosecond), nil
}
