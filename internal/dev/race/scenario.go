package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The steps of the scenario, in this order. Each is one call of the model; the last answer is a text.
const (
	reads    = 10
	commands = 6
)

// step is what the model does next.
type step int

const (
	stepRead step = iota
	stepPart      // reads the lines that are edited next
	stepEdit
	stepCommand
	stepEnd
)

// steps returns the whole scenario.
func steps() []step {
	var all []step
	for range reads {
		all = append(all, stepRead)
	}
	all = append(all, stepPart, stepEdit)
	for range commands {
		all = append(all, stepCommand)
	}
	return append(all, stepEnd)
}

// thinking is how long the model takes before it answers. Real ones take longer.
const thinking = 150 * time.Millisecond

// workspace is where an agent works.
type workspace struct {
	home, dir string
	url       string // of the model server
}

func (w workspace) small(i int) string {
	return filepath.Join(w.dir, "src", fmt.Sprintf("part%d.go", i))
}
func (w workspace) large() string { return filepath.Join(w.dir, "large.txt") }

// make writes the files: ten small ones and one of 1 MB.
func (w workspace) make() error {
	if err := os.MkdirAll(filepath.Join(w.dir, "src"), 0o755); err != nil {
		return err
	}
	for i := range reads {
		text := "package src\n\n" + strings.Repeat(fmt.Sprintf("// Part %d has comments that say little.\n", i), 40)
		if err := os.WriteFile(w.small(i), []byte(text), 0o644); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line %d of a file that is long enough to take time\n", i)
	}
	return os.WriteFile(w.large(), b.Bytes(), 0o644)
}

// The line that is edited, and where it is.
const (
	lineNumber = 9001

	oldLine = "line 9000 of a file that is long enough to take time"
	newLine = "line 9000 was changed"
)

// model is the scripted model. It records when requests arrive and when their answers are complete.
type model struct {
	steps  int
	script http.Handler
	side   http.Handler // for requests without tools: titles, summaries
	result string       // what every result of a call has in a request
	keep   string

	mu       sync.Mutex
	asked    []time.Time // when the request of a step arrived
	answered []time.Time // when its answer was complete
	bodies   [][]byte
	failed   error
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method != http.MethodPost || !bytes.Contains(body, []byte(`"tools"`)) {
		m.side.ServeHTTP(w, r)
		return
	}
	n := bytes.Count(body, []byte(m.result))
	m.mu.Lock()
	if n != len(m.asked) || n >= m.steps {
		if m.failed == nil {
			m.failed = fmt.Errorf("request with %d results after %d requests: %.2000s", n, len(m.asked), tail(body))
		}
		m.mu.Unlock()
		http.Error(w, "not in the script", http.StatusBadRequest)
		return
	}
	m.asked, m.bodies = append(m.asked, arrived), append(m.bodies, body)
	if m.keep != "" {
		os.WriteFile(filepath.Join(m.keep, strconv.Itoa(n)+".json"), body, 0o600)
	}
	m.mu.Unlock()
	time.Sleep(thinking)
	m.script.ServeHTTP(w, r)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	m.mu.Lock()
	m.answered = append(m.answered, time.Now())
	m.mu.Unlock()
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// round is what one run took.
type round struct {
	start    time.Duration // until the first request
	gaps     []time.Duration
	exit     time.Duration // after the last answer
	sent     int           // bytes of all requests
	fresh    int           // bytes that a request doesn't share with the one before it
	memory   int64         // peak of the sum of proportional sizes; 0 if it wasn't measured
	programs int           // processes at that moment
}

// race runs an agent through the scenario. Measuring memory costs time, so a round is for one or the other.
func (a agent) race(memory bool, keep string) (round, error) {
	cache, err := os.UserCacheDir() // not in a directory for temporary files, which sandboxes replace
	if err != nil {
		return round{}, err
	}
	root, err := os.MkdirTemp(cache, "adze-race-")
	if err != nil {
		return round{}, err
	}
	defer os.RemoveAll(root)
	w := workspace{home: filepath.Join(root, "home"), dir: filepath.Join(root, "project")}
	if err := errors.Join(os.Mkdir(w.home, 0o700), w.make()); err != nil {
		return round{}, err
	}
	if keep != "" {
		keep = filepath.Join(keep, a.name)
		if err := os.MkdirAll(keep, 0o700); err != nil {
			return round{}, err
		}
	}
	m := a.model(w)
	m.keep = keep
	server := httptest.NewServer(m)
	defer server.Close()
	w.url = server.URL
	argv, env, err := a.command(w)
	if err != nil {
		return round{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = w.dir
	nowhere := "http://127.0.0.1:9" // nothing but loopback may be reached
	cmd.Env = append([]string{
		"PATH=" + filepath.Dir(argv[0]) + ":" + os.Getenv("PATH"), "HOME=" + w.home, "TERM=dumb",
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
	}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return round{}, err
	}
	stop := func() (int64, int) { return 0, 0 }
	if memory {
		stop = watchMemory(cmd.Process.Pid)
	}
	err = cmd.Wait()
	ended := time.Now()
	var r round
	r.memory, r.programs = stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil || err != nil || len(m.answered) != m.steps {
		return round{}, fmt.Errorf("%d of %d answers, %w\n%s", len(m.answered), m.steps,
			errors.Join(err, m.failed), tail(out.Bytes()))
	}
	if text, err := os.ReadFile(w.large()); err != nil || !bytes.Contains(text, []byte(newLine)) {
		return round{}, errors.New("the file wasn't edited")
	}
	r.start, r.exit = m.asked[0].Sub(began), ended.Sub(m.answered[len(m.answered)-1])
	for i := 1; i < len(m.asked); i++ {
		r.gaps = append(r.gaps, m.asked[i].Sub(m.answered[i-1]))
	}
	for i, body := range m.bodies {
		r.sent += len(body)
		if i == 0 {
			r.fresh = len(body)
			continue
		}
		n, err := fresh(m.bodies[i-1], body)
		if err != nil {
			return round{}, err
		}
		r.fresh += n
	}
	return r, nil
}

// cacheMark is where a client of Anthropic's API says that a prefix should be cached; it moves.
var cacheMark = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// fresh returns how many bytes of a request the one before it didn't have: messages after those that both begin with,
// and other fields that differ.
func fresh(before, body []byte) (n int, err error) {
	var old, now map[string]json.RawMessage
	if err := errors.Join(
		json.Unmarshal(cacheMark.ReplaceAll(before, nil), &old), json.Unmarshal(cacheMark.ReplaceAll(body, nil), &now),
	); err != nil {
		return 0, err
	}
	for name, value := range now {
		switch {
		case name == "messages" || name == "input" || name == "contents":
			var a, b []json.RawMessage
			if err := errors.Join(json.Unmarshal(old[name], &a), json.Unmarshal(value, &b)); err != nil {
				return 0, err
			}
			same := 0
			for same < min(len(a), len(b)) && bytes.Equal(a[same], b[same]) {
				same++
			}
			for _, m := range b[same:] {
				n += len(m)
			}
		case !bytes.Equal(old[name], value):
			n += len(value)
		}
	}
	return n, nil
}

// plainShell measures bash -c without anything around it.
func plainShell() ([]time.Duration, error) {
	var all []time.Duration
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		if err := exec.Command("bash", "-c", "echo one").Run(); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}

// watchMemory samples the proportional sizes of a process and its descendants until the returned function is called,
// which gives the largest sum and the number of processes at that moment.
func watchMemory(pid int) (stop func() (int64, int)) {
	quit, done := make(chan struct{}), make(chan struct{})
	var limit int64
	var count int
	go func() {
		defer close(done)
		for {
			var sum int64
			all := tree(pid)
			for _, p := range all {
				sum += proportional(p)
			}
			if sum > limit {
				limit, count = sum, len(all)
			}
			select {
			case <-quit:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() (int64, int) {
		close(quit)
		<-done
		return limit, count
	}
}

// tree returns a process and its descendants.
func tree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		dir := "/proc/" + strconv.Itoa(all[i]) + "/task"
		tasks, _ := os.ReadDir(dir) // it may have ended
		for _, t := range tasks {
			text, _ := os.ReadFile(dir + "/" + t.Name() + "/children")
			for _, f := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(f); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// proportional returns the proportional set size of a process in bytes.
func proportional(pid int) int64 {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Pss:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
