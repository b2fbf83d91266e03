package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// sitting is the program at its own terminal.
type sitting struct {
	*ptytest.Terminal
	*desk
	stdout io.Writer // nil: the terminal
	env    []string
}

func sit(t *testing.T) *sitting {
	t.Helper()
	return &sitting{Terminal: ptytest.Open(t), desk: newDesk(t, `{}`), env: []string{"TERM=xterm"}}
}

// begin starts adze. end waits for it and returns its exit code.
func (s *sitting) begin(t *testing.T, model *openaitest.Server, args ...string) (end func() int) {
	t.Helper()
	cmd := exec.Command("adze", args...)
	cmd.Dir = s.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "ADZE_HOME=" + s.home, "HOME=" + s.home, "OPENAI_BASE_URL=" + model.URL, "ADZE_LOCAL_MODELS=off", "GORACE=atexit_sleep_ms=0"}, s.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.TTY, s.TTY, s.TTY
	if s.stdout != nil {
		cmd.Stdout = s.stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		s.End()
		ended <- err
	}()
	return func() int {
		err := <-ended
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
}

func (s *sitting) echoes(t *testing.T) bool {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0
}

// waiter returns a call of a command that prints, and goes on when a file appears.
func waiter(print string) []openaitest.Call {
	args := `{"command":"` + print + `; while [ ! -e go ]; do sleep 0.1; done"}`
	return []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(args)}}
}

// A command's output is seen while it runs and is folded to a line when it has ended. The answer is seen once. What is
// typed meanwhile is not shown, and the terminal is left as it was.
func TestTerminalShowsACommandAtWork(t *testing.T) {
	s := sit(t)
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Text: "I count.", Calls: waiter("printf 'one\\\\ntwo\\\\nthree\\\\nfour\\\\n'")}, {Text: "It is four.\n"},
	}})
	end := s.begin(t, model, "-p", "go", "--model", "m", "--yolo")
	s.Await("    four", 1)
	if s.echoes(t) {
		t.Error("what is typed would be painted into the live area")
	}
	s.Type("y\n")
	s.write(t, filepath.Join(s.dir, "go"), "")
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	want := regexp.MustCompile(`^I count\.\n● Shell printf 'one[^\n]* s\n  1 file changed, 1 new\nIt is four\.\n$`)
	if got := s.Shown(); !want.MatchString(got) {
		t.Errorf("shown:\n%s\nwant\n%s", got, want)
	}
	if !s.echoes(t) {
		t.Error("the terminal does not echo any more")
	}
	if raw := s.Raw(); !strings.Contains(raw, "    two") || strings.Contains(raw, "    one") {
		t.Errorf("not the last three lines: %q", raw)
	}
}

// After Ctrl-C, text of the model before its call used to be printed again, as if it were the answer.
func TestCtrlCPrintsNoAnswer(t *testing.T) {
	for name, piped := range map[string]bool{"terminal": false, "pipe": true} {
		t.Run(name, func(t *testing.T) {
			s := sit(t)
			var out bytes.Buffer
			if piped {
				s.stdout = &out
			}
			model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{{Text: "I count first.", Calls: waiter("echo one")}}})
			end := s.begin(t, model, "-p", "go", "--model", "m", "--yolo")
			s.Await("    one", 1)
			s.Type("\x03")
			if code := end(); code != 130 || out.Len() > 0 {
				t.Errorf("exit code %d, stdout %q", code, out.String())
			}
			if shown := s.Shown(); strings.Count(shown, "I count first.") != 1 || !strings.Contains(shown, "adze: interrupted") {
				t.Errorf("shown:\n%s", shown)
			}
		})
	}
}

// A program that reads stdout gets the whole answer or nothing: no words before a failure.
func TestStdoutHasAnAnswerOrNothing(t *testing.T) {
	d := newDesk(t, `{}`)
	words := openaitest.Answer{Text: "I look first.", Calls: []openaitest.Call{{ID: "1", Name: "list_directory", Args: []byte(`{"path":"` + d.dir + `"}`)}}}
	for name, c := range map[string]struct {
		last openaitest.Answer
		want string
	}{
		"answer":  {openaitest.Answer{Text: "It is empty.\n\n"}, "It is empty.\n"},
		"failure": {openaitest.Answer{Status: 400, Raw: `{"error":{"message":"no"}}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{words, c.last}})
			if out, screen := d.run(t, model, "", "-p", "go", "--model", "m"); out != c.want {
				t.Errorf("stdout %q, want %q\n%s", out, c.want, screen)
			}
		})
	}
}

// Diffs are colored at a terminal, unless its user or its kind forbids.
func TestTerminalColorsDiffs(t *testing.T) {
	for name, c := range map[string]struct {
		env   []string
		color bool
	}{
		"xterm":    {[]string{"TERM=xterm"}, true},
		"NO_COLOR": {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		"dumb":     {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sit(t)
			s.env = c.env
			model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
				{Calls: []openaitest.Call{{ID: "1", Name: "write_file", Args: []byte(`{"file_path":"` + s.dir + `/a","content":"text\n"}`)}}},
				{Expect: []string{"denied by the user: use make instead"}, Text: "done"},
			}})
			end := s.begin(t, model, "-p", "go", "--model", "m")
			s.Await("Allow? [y/s/p/u/e/n] ", 1)
			s.Type("n: use make instead\n")
			if code := end(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if got := strings.Contains(s.Raw(), "\x1b[32m+text\x1b[m"); got != c.color {
				t.Errorf("colored: %v\n%q", got, s.Raw())
			}
			if name == "dumb" && strings.Contains(strings.TrimSuffix(s.Raw(), "\x1b[m\x1b[m"), "\x1b") {
				t.Errorf("a dumb terminal got %q", s.Raw())
			}
		})
	}
}
