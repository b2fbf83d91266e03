package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// findBubblewrap only searches system directories: PATH may lead into a workspace.
func findBubblewrap() (path, why string) {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		p := filepath.Join(dir, "bwrap")
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, ""
		}
	}
	return "", "bwrap not found in /usr/bin, /bin or /usr/local/bin. Install bubblewrap"
}

// tried returns the support after running bwrap once: it may exist but not work. This is only done if it is requested.
func (s Support) tried() Support {
	if s.Bubblewrap == "" {
		return s
	}
	if why := bubblewrapFails(); why != "" {
		s.Bubblewrap, s.BubblewrapWhy = "", why
	}
	return s
}

var bubblewrapFails = sync.OnceValue(func() string {
	bwrap, why := findBubblewrap()
	if why != "" {
		return why
	}
	return failure((&Spec{Mode: ReadOnly}).bubblewrapArgs(wrapping{bwrap: bwrap, dir: "/", dieWithParent: true}))
})

// failure runs bwrap with a program that does nothing, and returns why it failed.
func failure(args []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // a busy machine needs seconds
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], "/bin/true")...)
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	_, err := cmd.Output()
	if err == nil {
		return ""
	}
	said := err.Error()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		said, _, _ = strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
	}
	return fmt.Sprintf("%s doesn't work on this system (%s)", args[0], said)
}

// wrapping are bwrap's parameters besides the Spec.
type wrapping struct {
	bwrap, dir    string
	write         []string // links resolved: bwrap can't mount on a link
	sharedToo     bool     // SharedDir is the one outside
	protect       []string
	covers        [][2]string // a cover and the hidden file that it is mounted over
	seccomp       string      // descriptor of a filter; empty: none
	sharedNetwork bool        // the network is the one outside, which is the session's own
	dieWithParent bool        // leftover processes die with the command
}

// bubblewrapArgs returns bwrap's command line, up to the command. Its own /proc would be writable for root, including
// kernel settings.
func (s *Spec) bubblewrapArgs(w wrapping) []string {
	args := []string{w.bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
		"--cap-drop", "ALL", "--unshare-user-try", "--unshare-ipc", "--unshare-pid"}
	if w.dieWithParent {
		args = append(args, "--die-with-parent")
	}
	if !s.network() && !w.sharedNetwork {
		args = append(args, "--unshare-net")
	}
	if w.sharedToo {
		args = append(args, "--ro-bind-try", SharedDir, SharedDir)
	}
	for _, path := range w.write {
		args = append(args, "--bind-try", path, path)
	}
	pinned := map[string]bool{} // a mount point can't be moved away
	for _, p := range w.protect {
		for _, dir := range between(holding(p, w.write), p) {
			if !pinned[dir] {
				args = append(args, "--bind", dir, dir)
			}
			pinned[dir] = true
		}
		args = append(args, "--ro-bind", p, p)
	}
	for _, c := range w.covers {
		for _, dir := range between(holding(c[1], w.write), c[1]) {
			if !pinned[dir] {
				args = append(args, "--bind", dir, dir)
			}
			pinned[dir] = true
		}
		args = append(args, "--ro-bind", c[0], c[1])
	}
	if w.seccomp != "" {
		args = append(args, "--seccomp", w.seccomp)
	}
	return append(args, "--chdir", w.dir, "--")
}
