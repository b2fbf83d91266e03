package statusline

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
)

// Branch is the current git branch for the status line, which is drawn often: it is read again only after something
// ran.
type Branch struct {
	mu   sync.Mutex
	read bool
	text string
}

// Name returns the branch of a directory; "": none.
func (b *Branch) Name(dir string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read {
		b.read, b.text = true, branchOf(dir)
	}
	return b.text
}

// Changed lets it be read again.
func (b *Branch) Changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = false
}

// branchOf returns the branch of the repository that a directory is in, read from files: nothing runs. The .git of
// linked worktrees and submodules is a file that names the directory.
func branchOf(dir string) string {
	git := gitconfig.Find(dir)
	if git == "" {
		return ""
	}
	own, _ := gitconfig.Dirs(git)
	name, ok := strings.CutPrefix(gitconfig.Text(filepath.Join(own, "HEAD")), "ref: refs/heads/")
	if !ok && len(name) >= 7 {
		return name[:7]
	}
	return name
}
