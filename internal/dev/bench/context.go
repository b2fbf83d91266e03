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

const (
	longMessages = 500    // messages in the history when the time between an answer and the next request is measured
	longResult   = 1000   // bytes of each result in it
	bulkTurns    = 500    // of a long task
	bulkResult   = 20_000 // bytes of each result in it
	lastGaps     = 20     // number of requests that are timed
)

// printLong measures long conversations: the time between an answer and the next request, and a task that is compacted.
func printLong(w io.Writer, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	for _, api := range longAPIs() {
		gaps, err := measureGaps(binary, api)
		if err != nil {
			return fmt.Errorf("%d messages over %s: %w", longMessages, api.name, err)
		}
		fmt.Fprintf(w, "answer to next request at %d messages, %s\t%v, half under %v\tunder 3 ms\n",
			longMessages, api.name, gaps[0].Round(10*time.Microsecond), median(gaps).Round(10*time.Microsecond))
	}
	first, last, rss, err := measureBulk(binary)
	if err != nil {
		return fmt.Errorf("%d turns of %d bytes: %w", bulkTurns, bulkResult, err)
	}
	fmt.Fprintf(w, "%d turns of 20 KB, memory\t%.1f MB\tunder 60 MB\n", bulkTurns, float64(rss)/1e6)
	fmt.Fprintf(w, "%d turns of 20 KB, a turn\t%v in the first 100, %v in the last\tflat\n", bulkTurns,
		first.Round(10*time.Microsecond), last.Round(10*time.Microsecond))
	return nil
}

// longAnswers returns many calls that read a file, and a last answer.
func longAnswers[A any](file string, last A, call func(id string, args []byte) A) []A {
	var out []A
	for n := range longMessages / 2 {
		args := fmt.Sprintf(`{"absolute_path":%q,"limit":%d}`, file, 1000+n)
		out = append(out, call(fmt.Sprintf("c%d", n), []byte(args)))
	}
	return append(out, last)
}

// longAPIs have servers that read a file in each turn, always with other arguments.
func longAPIs() []bareAPI {
	all := bareAPIs()
	all[0].server = func(file string) *openaitest.Server {
		answers := longAnswers(file, openaitest.Answer{Text: "done"}, func(id string, args []byte) openaitest.Answer {
			return openaitest.Answer{Calls: []openaitest.Call{{ID: id, Name: "read_file", Args: args}}}
		})
		return openaitest.New(openaitest.Script{Key: benchKey, Answers: answers})
	}
	all[1].server = func(file string) *openaitest.Server {
		answers := longAnswers(file, responsestest.Answer{Text: "done"},
			func(id string, args []byte) responsestest.Answer {
				return responsestest.Answer{Calls: []responsestest.Call{{ID: id, Name: "read_file", Args: args}}}
			})
		return responsestest.New(responsestest.Script{Key: benchKey, Answers: answers})
	}
	all[2].server = func(file string) *openaitest.Server {
		answers := longAnswers(file, anthropictest.Answer{Text: "done"},
			func(id string, args []byte) anthropictest.Answer {
				return anthropictest.Answer{Calls: []anthropictest.Call{{ID: id, Name: "read_file", Args: args}}}
			})
		return anthropictest.New(anthropictest.Script{Key: benchKey, Answers: answers})
	}
	all[3].server = func(file string) *openaitest.Server {
		answers := longAnswers(file, geminitest.Answer{Text: "done"}, func(id string, args []byte) geminitest.Answer {
			return geminitest.Answer{Calls: []geminitest.Call{{ID: id, Name: "read_file", Args: args}}}
		})
		return geminitest.New(geminitest.Script{Key: benchKey, Answers: answers})
	}
	return all
}

// measureGaps times the last requests of a long conversation: from the last byte of an answer to the first of the next
// request, with the call in between.
func measureGaps(binary string, api bareAPI) ([]time.Duration, error) {
	place, err := newWorkDir(longResult)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(place.dir)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &gapListener{Listener: inner}
	server := &http.Server{Handler: api.server(place.file), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // it returns an error after Close
	defer server.Close()
	cmd := exec.Command(binary, "--auth-type", api.name, "-p", "Read the file.", "--model", api.model)
	place.set(cmd, api.key+"="+benchKey, api.url+"=http://"+inner.Addr().String()+api.base)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	gaps := l.all()
	if len(gaps) < longMessages/2 {
		return nil, fmt.Errorf("%d requests", len(gaps)+1)
	}
	gaps = gaps[len(gaps)-lastGaps:]
	median(gaps) // also sorts them
	return gaps, nil
}

// workDir is a directory with a file, and a home directory.
type workDir struct{ dir, home, project, file string }

func newWorkDir(size int) (workDir, error) {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return workDir{}, err
	}
	p := workDir{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	p.file = filepath.Join(p.project, "file.txt")
	return p, writeAll(map[string]string{
		filepath.Join(p.home, "settings.json"): "{}", p.file: strings.Repeat("0123456789 abcde\n", size/17),
	})
}

func (p workDir) set(cmd *exec.Cmd, env ...string) {
	cmd.Dir = p.project
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "ADZE_HOME=" + p.home}, env...)
}

// gapListener times how long a client takes from the last byte it was sent to the first that it sends.
type gapListener struct {
	net.Listener
	mu    sync.Mutex
	wrote time.Time // zero: the client has sent data since
	gaps  []time.Duration
}

func (l *gapListener) all() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps
}

// Accept waits for a connection.
func (l *gapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return gapConn{c, l}, err
}

type gapConn struct {
	net.Conn
	l *gapListener
}

// Read notes the time since the last write.
func (c gapConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if n > 0 && !c.l.wrote.IsZero() {
		c.l.gaps = append(c.l.gaps, time.Since(c.l.wrote))
		c.l.wrote = time.Time{}
	}
	return n, err
}

// Write records the time, except for the empty chunk at the end of a body: the client has the answer by then.
func (c gapConn) Write(b []byte) (int, error) {
	if string(b) != "0\r\n\r\n" {
		c.l.mu.Lock()
		c.l.wrote = time.Now()
		c.l.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// bulkServer is a model that reads a file in each turn and writes a short summary on request.
type bulkServer struct {
	file string
	mu   sync.Mutex
	at   []time.Time // of the turns
}

// ServeHTTP answers one request.
func (s *bulkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	message := `{"content":"Task: read the file many times. Done: most of it. To do: the rest. Paths: file.txt."}`
	if !strings.Contains(string(body[max(0, len(body)-100_000):]), "Your context window is nearly full.") {
		s.at = append(s.at, time.Now())
		// strings can always be written
		args, _ := json.Marshal(fmt.Sprintf(`{"absolute_path":%q,"limit":%d}`, s.file, 10_000+len(s.at)))
		message = fmt.Sprintf(`{"tool_calls":[{"id":"c%d","function":{"name":"read_file","arguments":%s}}]}`, len(s.at),
			args)
		if len(s.at) > bulkTurns {
			message = `{"content":"done"}`
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":20}}`, message, len(body)/4)
}

// measureBulk runs a long task that doesn't fit into the window, and returns the mean time of its first and last 100
// turns, including the server's work, and its peak memory.
func measureBulk(binary string) (first, last time.Duration, rss int64, err error) {
	p, err := newWorkDir(bulkResult)
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(p.dir)
	s := &bulkServer{file: p.file}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, 0, err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // it returns an error after Close
	defer server.Close()
	cmd := exec.Command(binary, "-p", "Read the file 500 times.", "--model", "m")
	p.set(cmd, "OPENAI_BASE_URL=http://"+l.Addr().String()+"/v1")
	if rss, err = memory(cmd); err != nil {
		return 0, 0, 0, err
	}
	if len(s.at) <= bulkTurns {
		return 0, 0, 0, errors.New("the task was not finished")
	}
	return s.at[100].Sub(s.at[0]) / 100, s.at[bulkTurns].Sub(s.at[bulkTurns-100]) / 100, rss, nil
}
