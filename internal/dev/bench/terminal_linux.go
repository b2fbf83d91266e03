package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/screentest"
	"github.com/adze-dev/adze/model/modeltest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// printTerminal measures the interactive terminal.
func printTerminal(w io.Writer, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	for _, measure := range []func(io.Writer, string) error{benchPaint, benchEcho, benchBytes, benchIdle, benchItems,
		benchFiles} {
		if err := measure(w, binary); err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
	}
	return nil
}

// seat is the program in a terminal, with its own directories.
type seat struct {
	*screentest.Screen
	dir, project string
	keys         *os.File
	cmd          *exec.Cmd
	server       *openaitest.Server
	began        time.Time
	written      atomic.Int64 // bytes written by the program
	painted      chan struct{}
	ended        chan struct{}

	mu    sync.Mutex
	first time.Time // when the prompt was painted
	last  time.Time // time of the last output
}

func (s *seat) lastPaint() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// sitDown starts the program with settings, context files and three servers.
func sitDown(binary string, prepare func(project string) error, answers ...openaitest.Answer) (*seat, error) {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	server, err := openaitest.Start(openaitest.Script{Answers: answers, Repeat: true})
	if err != nil {
		return nil, err
	}
	mcp := fmt.Sprintf(`{"command":%q,"args":[%q]}`, self, echoServer)
	err = writeAll(map[string]string{
		filepath.Join(home, "settings.json"): `{"model":{"reasoningEffort":"low","generationConfig":{"contextWindowSize":50000000}},"permissions":{"allow":["Shell(git status)"],"deny":["Read(secret)"]},` +
			`"mcpServers":{"one":` + mcp + `,"two":` + mcp + `,"three":` + mcp + `}}`,
		filepath.Join(home, ".env"):      "OPENAI_BASE_URL=" + server.URL + "\n",
		filepath.Join(home, "AGENTS.md"): "Answer briefly.\n",
		filepath.Join(project, "AGENTS.md"): "# Project\n" +
			strings.Repeat("Run the tests before you finish.\n", 10),
		filepath.Join(project, ".adze", "settings.json"): `{"permissions":{"deny":["Shell(rm)"]}}`,
		filepath.Join(project, "small.txt"):              "one\ntwo\nthree\n",
	})
	if err == nil && prepare != nil {
		err = prepare(project)
	}
	s := &seat{dir: dir, project: project, server: server, painted: make(chan struct{}, 1), ended: make(chan struct{})}
	if err == nil {
		err = s.start(binary, home)
	}
	return s, err
}

func (s *seat) start(binary, home string) error {
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err != nil {
		return err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	s.keys = keys
	s.Screen = screentest.New(120, 40, func(reply string) { keys.WriteString(reply) })
	s.cmd = exec.Command(binary)
	s.cmd.Dir = s.project
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ADZE_HOME=" + home, "TERM=xterm-256color",
		"ADZE_LOCAL_MODELS=off"}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go s.watch()
	return nil
}

// watch shows the output of the program.
func (s *seat) watch() {
	defer close(s.ended)
	b := make([]byte, 64<<10)
	for {
		n, err := s.keys.Read(b)
		now := time.Now()
		s.written.Add(int64(n))
		s.mu.Lock()
		s.last = now
		if s.first.IsZero() && strings.Contains(string(b[:n]), "›") {
			s.first = now
		}
		s.mu.Unlock()
		s.Write(b[:n]) // after the times, so that a reader of the text sees them too
		select {
		case s.painted <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// leave stops the program and removes its directories.
func (s *seat) leave() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	<-s.ended
	s.keys.Close()
	s.server.Close()
	os.RemoveAll(s.dir)
}

// until waits until the screen is as expected, and returns how long that took.
func (s *seat) until(what string, ok func(lines []string) bool) (time.Duration, error) {
	began := time.Now()
	for !ok(s.Lines()) {
		select {
		case <-s.painted:
		case <-s.ended:
			return 0, fmt.Errorf("the program ended before %s", what)
		case <-time.After(time.Minute):
			return 0, fmt.Errorf("it did not happen that %s:\n%s", what, strings.Join(s.Lines(), "\n"))
		}
	}
	return time.Since(began), nil
}

// ask sends a prompt once it can, and waits for a text of the answer.
func (s *seat) ask(answer string) error {
	if _, err := s.shows("/ commands"); err != nil {
		return err
	}
	s.keys.WriteString("go\r")
	_, err := s.shows(answer)
	return err
}

func (s *seat) shows(text string) (time.Duration, error) {
	return s.until("the screen shows "+text, func(lines []string) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, text) })
	})
}

// key types and returns the time until the screen is as expected.
func (s *seat) key(text string, ok func(lines []string) bool) (time.Duration, error) {
	began := time.Now()
	if _, err := s.keys.WriteString(text); err != nil {
		return 0, err
	}
	_, err := s.until("the key "+text+" is shown", ok)
	return time.Since(began), err
}

func benchPaint(w io.Writer, binary string) error {
	var all []time.Duration
	for range 20 {
		s, err := sitDown(binary, nil, openaitest.Answer{Text: "done"})
		if err != nil {
			return err
		}
		_, err = s.shows("›")
		all = append(all, s.first.Sub(s.began))
		s.leave()
		if err != nil {
			return err
		}
	}
	half := median(all)
	fmt.Fprintf(w, "terminal: exec to first paint, three servers\t%v, half of 20 under %v\tunder 30 ms\n",
		all[0].Round(100*time.Microsecond), half.Round(100*time.Microsecond))
	return nil
}

// benchEcho types while an answer streams, after 100,000 lines.
func benchEcho(w io.Writer, binary string) error {
	var lines strings.Builder
	lines.WriteString("```\n")
	for i := range 100_000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	lines.WriteString("```\n\nThe long part ends.")
	s, err := sitDown(binary, nil,
		openaitest.Answer{Text: lines.String(), Faults: openaitest.Faults{Split: 8 << 10}},
		openaitest.Answer{
			Text:   strings.Repeat("Some text of an answer. ", 5_000),
			Faults: openaitest.Faults{Split: 5, Pause: modeltest.Duration(5 * time.Millisecond)},
		})
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.ask("The long part ends."); err != nil {
		return err
	}
	if err := s.ask("Some text"); err != nil {
		return err
	}
	var all []time.Duration
	for i := range 300 {
		want := "› " + strings.Repeat("q", i%60+1)
		took, err := s.key("q", func(lines []string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) })
		})
		if err != nil {
			return err
		}
		all = append(all, took)
		if i%60 == 59 {
			s.keys.WriteString("\x15")
			if _, err := s.until("the prompt is empty",
				func(lines []string) bool { return !strings.Contains(strings.Join(lines, "\n"), "› q") }); err != nil {
				return err
			}
		}
		time.Sleep(7 * time.Millisecond)
	}
	slices.Sort(all)
	fmt.Fprintf(w, "terminal: key to echo, 100,000 lines, 200 tokens/s\thalf under %v, p99 %v\tunder 5 ms\n",
		all[len(all)/2].Round(10*time.Microsecond), all[len(all)*99/100].Round(10*time.Microsecond))
	return nil
}

// benchBytes counts the output of the program for an answer.
func benchBytes(w io.Writer, binary string) error {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and `then` it sleeps.\n\n- one thing\n- "+
		"another thing\n\n", 60)
	s, err := sitDown(binary, nil, openaitest.Answer{
		Text: text + "That is all.", Faults: openaitest.Faults{
			Split: 5, Pause: modeltest.Duration(5 * time.Millisecond),
		},
	})
	if err != nil {
		return err
	}
	defer s.leave()
	if _, err := s.shows("/ commands"); err != nil {
		return err
	}
	before := s.written.Load()
	s.keys.WriteString("go\r")
	if _, err := s.shows("That is all."); err != nil {
		return err
	}
	fmt.Fprintf(w, "terminal: bytes written per byte of an answer\t%.1f\tunder 5\n",
		float64(s.written.Load()-before)/float64(len(text)))
	return nil
}

// benchIdle counts how often the idle program wakes up in 2 s.
func benchIdle(w io.Writer, binary string) error {
	s, err := sitDown(binary, nil, openaitest.Answer{Text: "All done."})
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.ask("All done."); err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // everything that an answer started has ended by then
	before, err := s.switches()
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	after, err := s.switches()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "terminal: wake-ups in 2 s of an idle prompt\t%d\tnone\n", after-before)
	return nil
}

// switches returns the number of context switches of the program's threads.
func (s *seat) switches() (n int, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.cmd.Process.Pid))
	for _, t := range tasks {
		n += status(t, "voluntary_ctxt_switches:")
	}
	if err == nil && len(tasks) == 0 {
		err = errors.New("the program has ended")
	}
	return n, err
}

// status returns a number of a file in /proc.
func status(path, name string) (n int) {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			fmt.Sscan(rest, &n)
		}
	}
	return n
}

// benchItems returns the memory after 5,000 calls and their results.
func benchItems(w io.Writer, binary string) error {
	var answers []openaitest.Answer
	for i := range 25 {
		a := openaitest.Answer{}
		for j := range 200 {
			a.Calls = append(a.Calls, openaitest.Call{
				ID: fmt.Sprintf("c%d_%d", i, j), Name: "read_file",
				Args: []byte(`{"absolute_path":"$PROJECT/small.txt"}`),
			})
		}
		answers = append(answers, a)
	}
	answers = append(answers, openaitest.Answer{Text: "All of them."})
	s, err := sitDown(binary, func(project string) error {
		for _, a := range answers {
			for i, c := range a.Calls {
				a.Calls[i].Args = []byte(strings.ReplaceAll(string(c.Args), "$PROJECT", project))
			}
		}
		return nil
	}, answers...)
	if err != nil {
		return err
	}
	defer s.leave()
	if err := s.ask("All of them."); err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	path := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)
	fmt.Fprintf(w, "terminal: memory after 10,000 items\t%.1f MB, at most %.1f MB\tunder 60 MB\n",
		float64(status(path, "VmRSS:"))/1e3, float64(status(path, "VmHWM:"))/1e3)
	return nil
}

// benchFiles completes paths among 100,000 files.
func benchFiles(w io.Writer, binary string) error {
	s, err := sitDown(binary, func(project string) error {
		for d := range 1000 {
			dir := filepath.Join(project, fmt.Sprintf("pkg%02d/module%03d", d/40, d))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			for f := range 100 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file_%02d_handler.go", f)), nil,
					0o600); err != nil {
					return err
				}
			}
		}
		return nil
	}, openaitest.Answer{Text: "done"})
	if err != nil {
		return err
	}
	defer s.leave()
	if _, err := s.shows("/ commands"); err != nil {
		return err
	}
	time.Sleep(time.Second)
	listed := func(lines []string) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  › @") })
	}
	first, err := s.key("@", listed)
	if err != nil {
		return err
	}
	if _, err := s.until("the list is complete",
		func(lines []string) bool {
			return !strings.Contains(strings.Join(lines, "\n"),
				"listing files")
		}); err != nil {
		return err
	}
	var all []time.Duration
	word := "@"
	for _, c := range "pkg1mod45file3handler" {
		word += string(c)
		began := time.Now()
		if _, err := s.key(string(c), func(lines []string) bool {
			return slices.Contains(lines,
				"› "+word)
		}); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // the list follows
		all = append(all, s.lastPaint().Sub(began))
	}
	slices.Sort(all)
	fmt.Fprintf(w, "terminal: @ among 100,000 files\tfirst list %v, slowest key %v\tunder 30 ms, under 10 ms\n",
		first.Round(100*time.Microsecond), all[len(all)-1].Round(100*time.Microsecond))
	return nil
}
