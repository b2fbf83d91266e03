package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// limitedReads measures commands that obviously only read, in workspaces of several sizes with secrets, in the
// read-only sandbox without and with limits on reads.
func limitedReads(w io.Writer, helper proc.Helper) error {
	for _, c := range []struct {
		files  int
		line   string
		rounds int
		goal   string
		share  bool // reported as a share of the time without limits
	}{
		{1000, "true", 60, "under 1.5 ms", false},
		{30_000, "true", 60, "under 3 ms", false},
		{40_000, "rg -c 'no such text'; true", 20, "within 5 %", true},
	} {
		name := fmt.Sprintf("more with limited reads, true in %d files", c.files)
		if c.share {
			name = fmt.Sprintf("more with limited reads, rg over %d files", c.files)
			if _, err := exec.LookPath("rg"); err != nil {
				fmt.Fprintf(w, "%s\tskipped: rg is not installed\t%s\n", name, c.goal)
				continue
			}
		}
		plain, limited, err := timeLimited(helper, c.files, c.line, c.rounds)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case c.share:
			fmt.Fprintf(w, "%s\t%+.1f %% of %v\t%s\n", name, 100*float64(limited-plain)/float64(plain),
				plain.Round(100*time.Microsecond), c.goal)
		default:
			fmt.Fprintf(w, "%s\t%v\t%s\n", name, (limited - plain).Round(10*time.Microsecond), c.goal)
		}
	}
	return nil
}

// timeLimited returns the shortest time of a command in a workspace without and with limits on reads. They alternate,
// so that noise of the machine affects both.
func timeLimited(helper proc.Helper, files int, line string, rounds int) (plain, limited time.Duration, err error) {
	dir, err := manyFiles(files)
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	var took [2][]time.Duration
	var calls [2]func() error
	for i, limits := range []*builtin.ReadLimits{nil, {System: permission.SystemDirectories()}} {
		set, err := builtin.New(builtin.Options{
			Dir: dir, Helper: builtin.Helper(helper), Sandbox: builtin.Sandbox{Limits: limits},
		})
		if err != nil {
			return 0, 0, err
		}
		defer set.Close()
		if limits != nil {
			// The list of hidden files is made once, in the background.
			for deadline := time.Now().Add(time.Minute); ; {
				if _, known := set.Secrets(); known {
					break
				}
				if time.Now().After(deadline) {
					return 0, 0, fmt.Errorf("reads are not enforced here")
				}
			}
		}
		calls[i] = approvedCall(set, line)
	}
	for round := range rounds + 1 { // the first round is a warm-up
		for i, call := range calls {
			time.Sleep(60 * time.Millisecond) // as between the calls of an agent, when the next helper is started
			began := time.Now()
			if err := call(); err != nil {
				return 0, 0, err
			}
			if round > 0 {
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	return slices.Min(took[0]), slices.Min(took[1]), nil
}

// approvedCall returns a call of the shell tool that a policy approves because it only reads.
func approvedCall(set *builtin.Set, line string) func() error {
	x := &tool.Executor{
		Registry: tool.NewRegistry(set.All()...),
		Policy: func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{{Verb: tool.Reads, Target: "*"}}}
		},
	}
	args, err := json.Marshal(map[string]string{"command": line})
	return func() error {
		if err != nil {
			return err
		}
		o := x.Run(context.Background(), tool.Call{Name: "run_shell_command", Args: args})
		if o.Error != nil {
			return fmt.Errorf("%s: %s", line, o.Error.Message)
		}
		return nil
	}
}

// manyFiles creates a workspace with that many files, a hundred per directory, and a secret in every tenth directory,
// at most 32.
func manyFiles(files int) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "bench-files-"); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	text := make([]byte, 2048)
	for i := range text {
		text[i] = "some words of a file\n"[i%21]
	}
	for n := range files {
		sub := filepath.Join(dir, fmt.Sprint(n/100))
		name := fmt.Sprintf("file%d.txt", n)
		if n%100 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				return dir, err
			}
			if n%1000 == 0 && n < 32_000 {
				name = ".env"
			}
		}
		if err := os.WriteFile(filepath.Join(sub, name), text, 0o644); err != nil {
			return dir, err
		}
	}
	return dir, nil
}
