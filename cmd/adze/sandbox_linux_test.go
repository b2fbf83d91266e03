package main

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A command in "adze sandbox run" gets Ctrl-C and SIGTERM. Ctrl-C used to kill it immediately.
func TestSandboxRunSignals(t *testing.T) {
	for name, send := range map[string]func(pid int) error{
		"typed": func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) }, // to the process group of the terminal
		"sent":  func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
	} {
		for _, mode := range []string{"off", "read-only", "workspace"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				if all, _ := condition("layers"); mode != "off" && !all {
					t.Skip("not all layers of the sandbox work here")
				}
				cmd := exec.Command("adze", "sandbox", "run", "--mode", mode, "--", "bash", "-c",
					"trap 'echo answered; exit 9' INT TERM; echo up; while :; do sleep 0.05; done")
				cmd.Dir = t.TempDir()
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				hangs := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
				defer hangs.Stop()
				lines := bufio.NewReader(out)
				if line, err := lines.ReadString('\n'); line != "up\n" {
					t.Errorf("%q, %v", line, err)
				}
				if err := send(cmd.Process.Pid); err != nil {
					t.Error(err)
				}
				rest, _ := io.ReadAll(lines)
				cmd.Wait()
				if string(rest) != "answered\n" || cmd.ProcessState.ExitCode() != 9 {
					t.Errorf("%q, %v", rest, cmd.ProcessState)
				}
			})
		}
	}
}
