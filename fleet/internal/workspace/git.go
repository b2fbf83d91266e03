package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// gitTime is how long a git command may take.
const gitTime = 30 * time.Minute

// git runs git in a directory, with settings under which a repository can't run programs, and returns its output.
func git(ctx context.Context, dir string, input []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	args = append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "advice.detachedHead=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.autocrlf=false", "-c", "core.quotePath=false", "-c", "core.safecrlf=false",
	}, args...)
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stdin, c.Env = dir, bytes.NewReader(input), gitEnviron()
	c.WaitDelay = 10 * time.Second
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("git is not installed")
		}
		text := strings.TrimSpace(problems.String())
		if n := 2000; len(text) > n {
			text = text[len(text)-n:]
		}
		if text == "" {
			text = err.Error()
		}
		return nil, fmt.Errorf("git %s: %s", verb(args), text)
	}
	return out.Bytes(), nil
}

// verb returns the git subcommand in arguments.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// gitEnviron returns the environment without the variables that point git to another repository, and without prompts.
func gitEnviron() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE":
			continue
		}
		env = append(env, kv)
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "LC_ALL=C")
}
