package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// maxOutput is how much a command may print on each of its two streams.
const maxOutput = 10 << 20

// drain is how long output is still read after a command has exited while something it left behind holds it open.
const drain = 250 * time.Millisecond

// child is a command to run to its end, without a shell.
type child struct {
	argv  []string
	dir   string
	env   []string
	input []byte
}

// ended is what became of a command.
type ended struct {
	stdout, stderr string
	exit           int    // -1: it did not exit by itself
	signal         string // that ended it, or ""
	err            error  // it was stopped, printed too much, or its output could not be read
}

// run runs the command. The error says that it did not start. When ctx ends, the whole process group is ended.
func (c child) run(ctx context.Context) (ended, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, bytes.NewReader(c.input)
	full := func() { stop(fmt.Errorf("stopped after printing more than %d MB", maxOutput>>20)) }
	stdout, stderr := &bounded{full: full}, &bounded{full: full}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ownGroup(cmd)
	cmd.WaitDelay = drain
	cmd.Cancel = func() error {
		time.AfterFunc(killGrace, func() { killGroup(cmd) })
		return termGroup(cmd)
	}
	if err := cmd.Start(); err != nil {
		return ended{}, startError(c.argv[0], err)
	}
	err := cmd.Wait()
	killGroup(cmd) // what it left behind
	e := ended{stdout: stdout.String(), stderr: stderr.String(), exit: cmd.ProcessState.ExitCode(), signal: signalOf(cmd)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		e.err = context.Cause(ctx)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		e.err = err
	}
	return e, nil
}

// startError explains why a command could not be started.
func startError(name string, err error) error {
	var path *fs.PathError // repeats the name
	words := strings.Fields(name)
	switch {
	case errors.Is(err, exec.ErrNotFound) && len(words) > 1:
		args, _ := json.Marshal(words[1:])
		return fmt.Errorf("command %q not found in PATH. Put arguments in \"args\": {\"command\": %q, \"args\": %s}", name, words[0], args)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("command %q not found in PATH. Install it, or use its full path", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable. Run chmod +x on it", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: file not found (or its #! interpreter is missing)", name)
	case errors.As(err, &path):
		err = path.Err
	}
	return fmt.Errorf("start %s: %w", name, err)
}

// bounded keeps what is written to it, up to maxOutput bytes, and then says so once.
type bounded struct {
	full func()
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := maxOutput - b.buf.Len()
	b.buf.Write(p[:min(len(p), room)])
	if len(p) > room {
		b.full()
	}
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
