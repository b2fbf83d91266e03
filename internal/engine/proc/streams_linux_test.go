package proc

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// A command that reads an input and prints to two streams.
func TestInputAndStderr(t *testing.T) {
	large := strings.Repeat("0123456789abcde\n", 64<<10) // 1 MB: more than a pipe holds
	for _, c := range []struct {
		name, line, input, stdout, stderr string
		apart                             bool
	}{
		{"input", "cat", "one\ntwo\n", "one\ntwo\n", "", false},
		{"apart", "cat; echo careful >&2", "x\n", "x\n", "careful\n", true},
		{"together", "cat; echo careful >&2", "x\n", "x\ncareful\n", "", false},
		{"input that isn't read", "echo done", large, "done\n", "", true},
		{"much on stderr", "cat >&2", large, "", large, true},
		{"a leftover has both open", "sleep 1000 & echo out; echo err >&2", "", "out\n", "err\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, r *Runner) {
				var stderr bytes.Buffer
				cmd := Command{Line: c.line, Input: []byte(c.input)}
				if c.apart {
					cmd.Stderr = &stderr
				}
				o := run(t, r, cmd)
				if got := o.Output.String(); got != c.stdout || stderr.String() != c.stderr {
					t.Errorf("got %q and %.80q, want %q and %.80q", got, stderr.String(), c.stdout, c.stderr)
				}
			})
		})
	}
}

// moves are what two sandboxed commands do to git directories and links at the
// same time, each trying to make the other write where it must not.
var moves = []string{
	"mv .git .g; mv .g .git", "rm -rf tmp; ln -s $OUT tmp", "rm -f tmp; mkdir -p tmp", "mkdir -p .husky; rmdir .husky", "ln -sfn $OUT link; touch link/x",
	"echo / > .git/commondir; rm -f .git/commondir", "mv .git/hooks .git/h; mv .git/h .git/hooks", "echo x > .git/hooks/pre-commit", "echo '[core] x=evil' >> .git/config",
	"chmod 000 .git; chmod 755 .git", "mv .git/HEAD .git/H; mv .git/H .git/HEAD", "echo / > .git/worktrees/linked/commondir", "rm -rf .git/worktrees/linked/commondir",
	"mkdir -p sub/.git; echo x > sub/.git/config; rm -rf sub", "echo evil > .mcp.json", "mkdir .adze; echo evil > .adze/settings.json", "touch tmp/x link/y $OUT/z",
	"mkdir -p d/e; mv d f; ln -sfn $OUT d; touch d/e d/x; rm -rf f d", "git commit -q --allow-empty -m x", "rm -rf .git/info; ln -sfn $OUT .git/info; touch .git/info/x",
}

// outsideMoves are what happens outside of sandboxes meanwhile. With -T, a link that a command made in place of tmp isn't followed.
var outsideMoves = []string{"rm -rf repo/tmp; mkdir -p repo/tmp", "rm -rf repo/tmp; ln -sT ../outside repo/tmp", "mkdir -p repo/.husky", "rm -rf repo/.husky", "git -C repo status -s >/dev/null"}

// Whatever two commands and a program outside do at the same time, nothing outside is
// written and nothing that git obeys changes.
func TestInterleavings(t *testing.T) {
	needsLayers(t)
	t.Parallel()
	for seed := range uint64(soak.Count(2, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { interleave(t, rand.New(rand.NewPCG(seed, 16))) })
	}
}

func interleave(t *testing.T, r *rand.Rand) {
	w := newEscape(t, "", escapeRepo+"git -C repo worktree add -q ../linked; mkdir repo/tmp; cp repo/.git/config config")
	dir := filepath.Join(w.base, "repo")
	env := append(os.Environ(), "OUT="+w.base+"/outside", "TMPDIR="+dir+"/tmp", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	runner := Open(Options{Helper: helper})
	defer runner.Close()
	protected := func(path string) bool { _, ok := names.Protected(path); return ok }
	base := places.NewBase([]string{dir}, nil, env, protected)
	const rounds, steps = 6, 8
	for range rounds {
		if r.IntN(3) == 0 { // another session
			base = places.NewBase([]string{dir}, nil, env, protected)
		}
		var all sync.WaitGroup
		for range 2 {
			var line []string
			for range steps {
				line = append(line, moves[r.IntN(len(moves))])
			}
			command := Command{Line: strings.Join(line, "; ") + "; true", Dir: dir, Env: env, Sandbox: base.Spec(sandbox.Workspace), Timeout: time.Minute}
			all.Go(func() { runner.Run(t.Context(), command) }) // one that doesn't start writes nothing
		}
		who := outsideMoves[r.IntN(len(outsideMoves))]
		all.Go(func() { w.shell(who) })
		all.Wait()
	}
	if err := w.shell("test -z \"$(ls -A outside)\" && cmp config repo/.git/config && ! grep -rq evil repo/.git/hooks repo/.git/config && test ! -e repo/.git/hooks/pre-commit && ! test -s repo/.mcp.json && test ! -e repo/.adze/settings.json"); err != nil {
		t.Errorf("something was written: %v", err)
	}
}

// A command that was moved to the background was sometimes killed: its context was canceled right after Detach, and the
// cancellation was seen first.
func TestDetachHoldsAgainstWhatEndsAfterIt(t *testing.T) {
	r := opened(t, Options{})
	for range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := r.Start(ctx, Command{Line: "sleep 600", Timeout: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		p.Detach()
		cancel()
		select {
		case <-p.Done():
			t.Fatalf("it ended: %+v", ended(t, p))
		case <-time.After(5 * time.Millisecond):
		}
		p.Stop()
		ended(t, p)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Commands leave no goroutine, descriptor, child or ledger entry, however they end.
func TestLeaksNothing(t *testing.T) {
	state := t.TempDir()
	r := Open(Options{Helper: helper, State: state})
	run(t, r, Command{Line: "true"}) // creates what is created once
	r.Close()
	fds, routines := descriptors(t), runtime.NumGoroutine()

	r = Open(Options{Helper: helper, State: state})
	for i := range soak.Count(100, 1000) {
		switch i % 5 {
		case 0:
			r.Run(context.Background(), Command{Line: "sleep 0.2 & echo a"})
		case 1:
			r.Run(context.Background(), Command{Line: "sleep 600", Timeout: 3 * time.Millisecond})
		case 2:
			r.Run(context.Background(), Command{Argv: []string{"/missing"}})
		default:
			r.Run(context.Background(), Command{Line: "echo a; exit 1", Live: func(Progress) {}})
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	waittest.Until(t, "descriptors are closed", func() bool { return descriptors(t) <= fds })
	waittest.Until(t, "goroutines return", func() bool { return runtime.NumGoroutine() <= routines })
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("children %v", kids)
	}
	if files, _ := os.ReadDir(state); len(files) > 0 {
		t.Errorf("%d ledger entries", len(files))
	}
}
