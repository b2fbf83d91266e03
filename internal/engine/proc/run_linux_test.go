package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// both runs a test with keepers and without.
func both(t *testing.T, f func(t *testing.T, r *Runner)) {
	t.Run("keeper", func(t *testing.T) { f(t, opened(t, Options{State: t.TempDir()})) })
	t.Run("bare", func(t *testing.T) { f(t, bareRunner(t)) })
}

func run(t testing.TB, r *Runner, c Command) Outcome {
	t.Helper()
	p, err := r.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return ended(t, p)
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	type result struct {
		Text   string
		Exit   int
		Signal syscall.Signal
		Ended  Ended
		Left   int
	}
	for _, c := range []struct {
		name string
		cmd  Command
		want result
	}{
		{"output", Command{Line: "echo hello"}, result{Text: "hello\n"}},
		{"nothing", Command{Line: "true"}, result{}},
		{"code", Command{Line: "exit 3"}, result{Exit: 3}},
		{"signal", Command{Line: "kill -KILL $$"}, result{Exit: -1, Signal: syscall.SIGKILL}},
		{"both streams in order", Command{Line: "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, result{Text: "1\n2\n3\n4\n"}},
		{"directory", Command{Line: "pwd -P", Dir: dir}, result{Text: dir + "\n"}},
		{"arguments without a shell", Command{Argv: []string{"/bin/echo", "$HOME", "a b"}}, result{Text: "$HOME a b\n"}},
		{"a program from PATH", Command{Argv: []string{"echo", "x"}}, result{Text: "x\n"}},
		{"standard input is empty", Command{Line: "cat; read x; echo $?"}, result{Text: "1\n"}},
		{"no terminal", Command{Line: "(exec </dev/tty) 2>/dev/null || echo none"}, result{Text: "none\n"}},
		{"its own session", Command{Line: `read -r _ _ _ _ pgrp sid _ < /proc/$$/stat; [ "$pgrp $sid" = "$$ $$" ] && echo own`}, result{Text: "own\n"}},
		{"environment", Command{Line: "echo $ADZE $X", Env: []string{"ADZE=1", "X=\xff\xfe"}}, result{Text: "1 \ufffd\ufffd\n"}},
		{"cooked", Command{Line: `printf '10%%\r100%%\n\033[31mred\033[0m\n'`}, result{Text: "100%\nred\n"}},
		{"folded", Command{Line: "for i in {1..50}; do echo same; done; echo end"}, result{Text: "same\n[previous line repeated 49 times]\nend\n"}},
		{"syntax error", Command{Line: "echo 'open"}, result{Text: "bash: -c: line 1: unexpected EOF while looking for matching `''\n", Exit: 2}},
		{"closes its output and continues", Command{Line: "echo a; exec >&- 2>&-; sleep 0.05; exit 4"}, result{Text: "a\n", Exit: 4}},
		{"timeout", Command{Line: "echo a; sleep 3600", Timeout: 200 * time.Millisecond}, result{Text: "a\n", Exit: -1, Signal: syscall.SIGTERM, Ended: TimedOut}},
		{"long timeout", Command{Line: "echo a", Timeout: 1<<63 - 1}, result{Text: "a\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, r *Runner) {
				o := longer(t, r, c.cmd, func(o Outcome) bool { return o.Ended != TimedOut || o.Output.Bytes > 0 })
				got := result{o.Output.String(), o.Exit, o.Signal, o.Ended, o.Leftover}
				got.Text = strings.Replace(got.Text, "/bin/bash:", "bash:", 1)
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// The time to start a command doesn't count as its own: on a busy machine, a command with a short limit wasn't started.
func TestTimeoutCountsFromStart(t *testing.T) {
	both(t, func(t *testing.T, r *Runner) {
		large := make([]byte, 8<<20) // takes a moment to be sent
		if o := run(t, r, Command{Line: "sleep 3600", Input: large, Timeout: time.Nanosecond}); o.Ended != TimedOut {
			t.Errorf("%+v", o)
		}
	})
}

// Commands don't inherit the descriptors that this program was started with.
func TestOnlyThreeDescriptors(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syscall.RawSyscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETFD, 0) // not closed on exec
	o := run(t, opened(t, Options{}), Command{Line: "for f in /proc/self/fd/*; do [ -e $f ] && echo ${f##*/}; done | tr '\\n' ' '"})
	if o.Output.Head != "0 1 2 \n" {
		t.Errorf("descriptors %q", o.Output.Head)
	}
}

func TestBadCommands(t *testing.T) {
	file := t.TempDir() + "/file"
	os.WriteFile(file, nil, 0o600)
	both(t, func(t *testing.T, r *Runner) {
		missing := func() (Shell, error) { return Shell{Path: "/missing/bash", Bash: true}, nil }
		noShell := &Runner{opt: r.opt, ledger: r.ledger, keeper: r.keeper, shell: missing, live: map[*Process]bool{}}
		for _, c := range []struct {
			name string
			r    *Runner
			cmd  Command
			want string
		}{
			{"empty", r, Command{}, "empty"},
			{"blank", r, Command{Line: " \n\t"}, "empty"},
			{"nul", r, Command{Line: "echo a\x00b"}, "NUL"},
			{"two", r, Command{Line: "a", Argv: []string{"b"}}, "both Line and Argv"},
			{"missing directory", r, Command{Line: "pwd", Dir: "/missing/dir"}, "/missing/dir: no such file"},
			{"file as directory", r, Command{Line: "pwd", Dir: file}, "not a directory"},
			{"negative timeout", r, Command{Line: "pwd", Timeout: -1}, "negative"},
			{"missing program", r, Command{Argv: []string{"/missing/program"}}, "/missing/program: no such file"},
			{"unknown program", r, Command{Argv: []string{"no-such-program"}}, "is it installed?"},
			{"missing shell", noShell, Command{Line: "pwd"}, "start /missing/bash: no such file"},
			{"huge argument", r, Command{Argv: []string{"/bin/echo", strings.Repeat("x", 8<<20)}}, "too large for this system"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, err := c.r.Run(context.Background(), c.cmd)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want it to say %q", err, c.want)
				}
			})
		}
	})
}

func TestLongLine(t *testing.T) {
	both(t, func(t *testing.T, r *Runner) {
		for _, n := range []int{maxArg - 1, maxArg, maxArg + 1, 1 << 20} {
			line := "echo begin; cat; #" + strings.Repeat("x", n-len("echo begin; cat; #\nexit 7")) + "\nexit 7"
			o := run(t, r, Command{Line: line})
			if o.Exit != 7 || o.Output.Head != "begin\n" {
				t.Errorf("%d bytes: exit %d, %q", n, o.Exit, o.Output.Head)
			}
		}
	})
}

// qwen-code lost the output of 3 in 24 fast commands.
func TestFastCommandsLoseNothing(t *testing.T) {
	r := opened(t, Options{})
	for i := range soak.Count(100, 1000) {
		want := fmt.Sprintf("%d:%s", i, strings.Repeat("x", i%97))
		if o := run(t, r, Command{Line: "printf " + want}); o.Output.Head != want+"\n" || o.Output.Bytes != int64(len(want)) {
			t.Fatalf("command %d: %q", i, o.Output.Head)
		}
	}
}

// A command ignores no signal that this program does not ignore, as it does under nohup. Of the ordinary ones: make
// ignores two real-time signals, which are its own business.
func TestSignalsAreNotIgnored(t *testing.T) {
	t.Parallel()
	ordinary := func(status string) string {
		_, rest, _ := strings.Cut(status, "SigIgn:")
		mask, _, _ := strings.Cut(rest, "\n")
		return mask[max(0, len(mask)-7):]
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, r *Runner) {
		got := ordinary(run(t, r, Command{Line: "cat /proc/self/status"}).Output.String())
		if got != "0000000" && got != ordinary(string(status)) {
			t.Errorf("signals %s are ignored", got)
		}
	})
}

// The pipe is full when the command exits, and another process has it open.
func TestAllBeforeTheExitIsRead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *Runner) {
		for range soak.Count(5, 50) {
			o := run(t, r, Command{Line: "sleep 600 & head -c 900000 /dev/zero | tr '\\0' 'x'; echo; echo last"})
			if o.Output.Bytes != 900006 || !strings.HasSuffix(o.Output.Tail, "x\nlast\n") || o.Leftover != 1 {
				t.Fatalf("%d bytes, %d left, end %q", o.Output.Bytes, o.Leftover, o.Output.Tail[max(0, len(o.Output.Tail)-20):])
			}
		}
	})
}

func TestHeldPipe(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *Runner) {
		env, tag := tagged(t)
		for _, line := range []string{
			"echo out; sleep 60 &",
			"echo out; setsid sleep 60 & sleep 0.1",
			"echo out; (setsid sleep 60 &) ; sleep 0.1",
			"echo out; (while :; do echo noise; sleep 0.01; done) & sleep 0.1",
		} {
			began := time.Now()
			o := run(t, r, Command{Line: line, Env: env})
			if took := time.Since(began); took > slack(500*time.Millisecond) || o.Leftover == 0 || !strings.HasPrefix(o.Output.Head, "out\n") {
				t.Errorf("%s: after %v, %d left, %q", line, took, o.Leftover, o.Output.Head)
			}
		}
		if n := len(r.processes()); n != 4 {
			t.Errorf("%d commands left something, want 4", n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left := tagsLeft(t, tag); left != nil {
			t.Errorf("after Close: %q", left)
		}
	})
}

// A leftover process that prints is neither blocked nor killed.
func TestLeftoverLivesOn(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	file := t.TempDir() + "/alive"
	run(t, r, Command{Line: "(sleep 0.2; head -c 3000000 /dev/zero; echo yes > " + file + ") &"})
	waittest.Until(t, "the background process has written everything", func() bool {
		b, _ := os.ReadFile(file)
		return string(b) == "yes\n"
	})
}

func TestNotStarted(t *testing.T) {
	r := opened(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx, Command{Line: "true"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Close()
	if _, err := r.Run(context.Background(), Command{Line: "true"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestHealth(t *testing.T) {
	if h := opened(t, Options{State: t.TempDir()}).Health(); !h.Helper || h.Shell == "" || h.Notes != nil {
		t.Errorf("%+v", h)
	}
	if h := bareRunner(t).Health(); h.Helper || len(h.Notes) != 1 {
		t.Errorf("%+v", h)
	}
	blocked := t.TempDir() + "/file"
	os.WriteFile(blocked, nil, 0o600)
	r := opened(t, Options{State: blocked + "/ledger"})
	if o := run(t, r, Command{Line: "echo a"}); o.Output.Head != "a\n" || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "not recorded") {
		t.Errorf("%+v", o)
	}
}

// Without SHELL, bash asks the system for it with two connections, which the sandbox has to judge.
func TestCommandsHaveAShell(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	line := Command{Line: `env | grep ^SHELL=`, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	if got, want := run(t, r, line).Output.String(), "SHELL="+r.Shell().Path+"\n"; got != want {
		t.Errorf("without SHELL: %q, want %q", got, want)
	}
	line.Env = append(line.Env, "SHELL=/bin/other")
	if got := run(t, r, line).Output.String(); got != "SHELL=/bin/other\n" {
		t.Errorf("with SHELL: %q", got)
	}
}

// Why there is no supervisor process may be an error with a path, which was shown in place of it.
func TestStartErrorKeepsItsKind(t *testing.T) {
	t.Parallel()
	why := &os.PathError{Op: "write", Path: "control", Err: os.ErrClosed}
	err := startError(spec{argv: []string{"/bin/bash"}}, cantStart(fmt.Errorf("%w: %w", errUnused, why)))
	if !errors.Is(err, errNoKeeper) || !strings.Contains(err.Error(), "it requires a supervisor process") {
		t.Error(err)
	}
}
