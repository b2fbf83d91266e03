package acp

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// An editor that goes away in the middle of a command leaves no process.
func TestGone(t *testing.T) {
	t.Parallel()
	e := open(t)
	pid := filepath.Join(e.dir, "pid")
	e.model(openaitest.Answer{Calls: []openaitest.Call{call("c1", "run_shell_command", map[string]any{"command": "echo $$ > pid; sleep 1000"})}})
	e.initialize(`{}`)
	id := e.session()
	e.choose("once")
	e.begin("session/prompt", prompt(id, "go"))
	var n int
	for began := time.Now(); n == 0; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(pid)
		n, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		if time.Since(began) > 2*time.Minute {
			t.Fatal("the command doesn't start")
		}
	}
	e.close()
	for began := time.Now(); !errors.Is(syscall.Kill(n, 0), syscall.ESRCH); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("the command goes on")
		}
	}
}
