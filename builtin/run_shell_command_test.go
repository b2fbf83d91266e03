package builtin

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

// shellIn makes the tools for a directory, with an environment of the test's own.
func shellIn(t *testing.T, dir string, env ...string) *Set {
	t.Helper()
	set, err := New(Options{
		Dir: dir, State: t.TempDir(), Environ: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...),
		Helper: testHelper,
		Output: func(c tool.Call) (io.WriteCloser, string, error) {
			f, err := os.Create(filepath.Join(t.TempDir(), "output"))
			return f, f.Name(), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

func named(t *testing.T, set *Set, name string) tool.Tool {
	t.Helper()
	found, err := tool.NewRegistry(set.Tools()...).Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRunShellCommandCheck(t *testing.T) {
	tooltest.Check(t, func(dir string) tool.Tool { return named(t, shellIn(t, dir), "run_shell_command") },
		tooltest.Try{Args: `{"command":"echo x > made"}`},
		tooltest.Try{Args: `{"command":"trap '' TERM; sleep 0.2; echo y"}`},
		tooltest.Try{Args: `{"command":"exit 3"}`, Fails: true},
	)
}

func TestBackgroundJob(t *testing.T) {
	set := shellIn(t, t.TempDir())
	x := executor(set)
	started := call(t, x, "run_shell_command", map[string]any{"command": "echo up; read x < /dev/null; echo more; sleep 600", "is_background": true})
	id := regexp.MustCompile(`Background Id: (\S+)`).FindStringSubmatch(started.Result.Text())
	if id == nil {
		t.Fatalf("%+v", started)
	}
	read := ""
	for range 100 {
		o := call(t, x, "shell_output", map[string]any{"id": id[1], "wait": 1000})
		if o.Error != nil {
			t.Fatalf("%+v", o)
		}
		_, text, _ := strings.Cut(o.Result.Text(), "Output: ")
		read += text + "\n"
		if strings.Contains(read, "more") {
			break
		}
	}
	if !strings.Contains(read, "up") || strings.Count(read, "up") != 1 {
		t.Errorf("the output was read as %q", read)
	}
	again := call(t, x, "shell_output", map[string]any{"id": id[1], "offset": 0})
	if !strings.Contains(again.Result.Text(), "up\nmore") || !strings.Contains(again.Result.Text(), "State: running") {
		t.Errorf("%s", again.Result.Text())
	}
	if o := call(t, x, "shell_stop", map[string]any{"id": id[1]}); o.Error != nil || !strings.Contains(o.Result.Text(), "was ended") {
		t.Errorf("%+v", o)
	}
	if o := call(t, x, "shell_output", map[string]any{"id": "nope"}); o.Error == nil || !strings.Contains(o.Error.Message, id[1]) {
		t.Errorf("%+v", o)
	}
}

// A command that times out keeps its output, and the error of one that prints like a server suggests the background.
func TestTimeoutKeepsTheOutput(t *testing.T) {
	x := executor(shellIn(t, t.TempDir()))
	for _, c := range []struct{ command, output, hint string }{
		{"echo early; sleep 3600", "Output: early", ""},
		{"while true; do echo tick; sleep 0.02; done", "tick\n", "If it is a server, set is_background"},
	} {
		for ms := 300; ; ms *= 2 { // on a slow machine, nothing is printed in a short time
			o := call(t, x, "run_shell_command", args{"command": c.command, "timeout": ms})
			if o.Error == nil || o.Error.Type != tool.ExecutionTimeout || !strings.Contains(o.Error.Message, fmt.Sprintf("timed out after %d ms", ms)) {
				t.Fatalf("%+v", o)
			}
			if strings.Contains(o.Result.Text(), c.output) && strings.Contains(o.Error.Message, c.hint) {
				break
			}
			if ms > 60_000 {
				t.Fatalf("%+v", o)
			}
		}
	}
}

func TestJobsThatEndAreNews(t *testing.T) {
	set := shellIn(t, t.TempDir())
	x := executor(set)
	call(t, x, "run_shell_command", map[string]any{"command": "exit 4", "is_background": true})
	var news []string
	waittest.Until(t, "the job is reported", func() bool {
		news = set.News()
		return len(news) > 0
	})
	if !strings.Contains(news[0], "has ended: exit code 4") {
		t.Errorf("%q", news)
	}
}

func TestMoveToBackground(t *testing.T) {
	dir := t.TempDir()
	set := shellIn(t, dir)
	x := executor(set)
	over := make(chan tool.Outcome, 1)
	go func() {
		over <- call(t, x, "run_shell_command", args{"command": "echo begun; while [ ! -e go ]; do sleep 0.01; done; echo on > later; sleep 600"})
	}()
	var o tool.Outcome
	waittest.Until(t, "the command is moved", func() bool {
		set.Background() // also while the command is being started
		select {
		case o = <-over:
			return true
		default:
			return false
		}
	})
	if o.Error != nil || !strings.Contains(o.Result.Text(), "The user moved it to the background") {
		t.Fatalf("%+v", o)
	}
	put(t, dir, map[string]string{"go": ""})
	waittest.Until(t, "the command continues", func() bool {
		_, err := os.Stat(filepath.Join(dir, "later"))
		return err == nil
	})
}

func TestCancelKeepsTheOutput(t *testing.T) {
	x := executor(shellIn(t, t.TempDir()))
	ctx, cancel := context.WithCancel(t.Context())
	x.Observe = func(e tool.Event) {
		if e.Stage == tool.Showing && strings.Contains(e.Display.Markdown(), "begun") {
			cancel()
		}
	}
	batch := x.Batch(ctx)
	batch.Add(tool.Call{Name: "run_shell_command", Args: []byte(`{"command":"echo begun; sleep 600"}`)})
	o := batch.Wait()[0]
	if o.Status != tool.StatusCancelled || !strings.Contains(o.Result.Text(), "Output: begun") {
		t.Errorf("%+v", o)
	}
}

// The result is bounded; the whole output is in a file.
func TestLongOutputIsKept(t *testing.T) {
	x := executor(shellIn(t, t.TempDir()))
	o := call(t, x, "run_shell_command", map[string]any{"command": "seq 1 100000"})
	text := o.Result.Text()
	path := regexp.MustCompile(`The whole output is in (\S+);`).FindStringSubmatch(text)
	if path == nil || len(text) > 40_000 || !strings.Contains(text, "\n100000\n") {
		t.Fatalf("%d bytes: %.300s … %s", len(text), text, text[max(0, len(text)-300):])
	}
	whole, err := os.ReadFile(path[1])
	if err != nil || strings.Count(string(whole), "\n") != 100000 {
		t.Errorf("the file has %d bytes, %v", len(whole), err)
	}
}

// Commands get the user's environment without credentials, and what they print of known ones is masked.
func TestEnvironment(t *testing.T) {
	set := shellIn(t, t.TempDir(), "OPENAI_API_KEY=sk-1234567890abcdef", "JAVA_HOME=/opt/java", "MY_TOKEN=tok-abcdefghijkl")
	x := executor(set)
	o := call(t, x, "run_shell_command", map[string]any{"command": "echo key=$OPENAI_API_KEY java=$JAVA_HOME adze=$ADZE pager=$PAGER; echo leak sk-1234567890abcdef"})
	text := o.Result.Text()
	for _, want := range []string{"key= java=/opt/java adze=1 pager=cat", "leak [secret:value:"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}
