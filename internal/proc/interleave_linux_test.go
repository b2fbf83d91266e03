package proc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/internal/workspace/names"
)

// moves are what two sandboxed commands do to git directories and links at the
// same time, each trying to make the other write where it must not.
var moves = []string{
	"mv .git .g; mv .g .git", "rm -rf tmp; ln -s $OUT tmp", "rm -f tmp; mkdir -p tmp", "mkdir -p .husky; rmdir .husky", "ln -sfn $OUT link; touch link/x",
	"echo / > .git/commondir; rm -f .git/commondir", "mv .git/hooks .git/h; mv .git/h .git/hooks", "echo x > .git/hooks/pre-commit", "echo '[core] x=evil' >> .git/config",
	"chmod 000 .git; chmod 755 .git", "mv .git/HEAD .git/H; mv .git/H .git/HEAD", "echo / > .git/worktrees/linked/commondir", "rm -rf .git/worktrees/linked/commondir",
	"mkdir -p sub/.git; echo x > sub/.git/config; rm -rf sub", "echo evil > .mcp.json", "mkdir .adze; echo evil > .adze/settings.json", "touch tmp/x link/y $OUT/z",
	"mkdir -p d/e; mv d f; ln -sfn $OUT d; touch d/e d/x; rm -rf f d", "git commit -q --allow-empty -m x", "rm -rf .git/info; ln -sfn $OUT .git/info; touch .git/info/x",
}

// outside is what someone does outside of sandboxes meanwhile.
var outsideMoves = []string{"rm -rf repo/tmp; mkdir -p repo/tmp", "rm -rf repo/tmp; ln -s ../outside repo/tmp", "mkdir -p repo/.husky", "rm -rf repo/.husky", "git -C repo status -s >/dev/null"}

// Whatever two commands and someone outside do at the same time, nothing outside is
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
	base := sandbox.NewBase([]string{dir}, nil, env, protected)
	const rounds, steps = 6, 8
	for range rounds {
		if r.IntN(3) == 0 { // another session
			base = sandbox.NewBase([]string{dir}, nil, env, protected)
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
