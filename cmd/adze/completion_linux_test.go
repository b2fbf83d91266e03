package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// The scripts of "adze completion" work in the shells themselves, at a terminal where the shell has no other way.
func TestCompletionInShells(t *testing.T) {
	for _, tt := range []struct {
		shell string
		args  []string
		setup string // typed first; $S is the script
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, `PS1='ready> '; source "$S"`},
		{"zsh", []string{"-f", "-i"}, `PS1='ready> '; autoload -U compinit; compinit -u -D; source "$S"`},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			t.Parallel()
			for _, line := range [][2]string{
				{"adze session exp", "adze session export"},
				{"adze session export --for", "adze session export --format"},
				{"adze session export --format h", "adze session export --format html"},
				{"adze --approval-mode=au", "adze --approval-mode=auto-edit"},
				{`adze "session" exp`, `adze "session" export`},
				{"adze --cwd only-dir", "adze --cwd only-directory/"},
			} {
				completeAt(t, tt.shell, tt.args, tt.setup, line[0], line[1])
			}
		})
	}
	t.Run("fish", func(t *testing.T) {
		t.Parallel()
		dir, script := completionScript(t, "fish")
		for line, want := range map[string]string{"adze session exp": "export\t", "adze session export --format h": "html", "adze --cwd only-dir": "only-directory/"} {
			cmd := exec.Command("fish", "--no-config", "-c", "source $S; complete -C '"+line+"'")
			cmd.Dir, cmd.Env = dir, completionEnviron(dir, script)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), want) {
				t.Errorf("%s: got %q (%v), want %q", line, out, err, want)
			}
		}
	})
}

// completionScript writes the script of a shell into a new home directory.
func completionScript(t *testing.T, shell string) (dir, script string) {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("%s is not installed", shell)
	}
	dir = t.TempDir()
	script = filepath.Join(dir, "script")
	text, err := exec.Command("adze", "completion", shell).Output()
	if err == nil {
		err = os.WriteFile(script, text, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "only-directory"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, script
}

func completionEnviron(dir, script string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ADZE_HOME=" + dir, "S=" + script, "TERM=xterm", "LC_ALL=C.UTF-8", "GORACE=atexit_sleep_ms=0"}
}

// completeAt types a line and Tab in a shell, and waits until the terminal shows the completed line.
func completeAt(t *testing.T, shell string, args []string, setup, line, want string) {
	t.Helper()
	dir, script := completionScript(t, shell)
	terminal := ptytest.Open(t)
	cmd := exec.Command(shell, args...)
	cmd.Dir, cmd.Env = dir, completionEnviron(dir, script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.TTY, terminal.TTY, terminal.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Type(setup + "\r")
	terminal.Await("ready> ", 2) // the one that was typed, and the prompt
	terminal.Type(line + "\t")
	if !waittest.Holds(func() bool { return strings.Contains(terminal.Shown(), want) }) {
		t.Errorf("%s never completed %q to %q:\n%s", shell, line, want, terminal.Shown())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// The manual page has no mistakes that man would report.
func TestManPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("man is not installed")
	}
	page, err := exec.Command("adze", "man").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "adze.1")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("man", "--warnings", "-l", file)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANPAGER=cat", "PAGER=cat")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	shown, err := cmd.Output()
	if err != nil || stderr.Len() > 0 || !strings.Contains(string(shown), "--approval-mode MODE") {
		t.Errorf("%v\n%s\n%.500s", err, stderr.String(), shown)
	}
}
