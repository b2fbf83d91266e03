package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// branch is the current git branch for the status line, which is drawn often: it is read again only after something
// ran.
type branch struct {
	mu   sync.Mutex
	read bool
	text string
}

// name returns the branch of a directory; "": none.
func (b *branch) name(dir string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read {
		b.read, b.text = true, branchOf(dir)
	}
	return b.text
}

// changed lets it be read again.
func (b *branch) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = false
}

// branchOf returns the branch of the repository that a directory is in, read from files: nothing runs. The .git of
// linked worktrees and submodules is a file that names the directory.
func branchOf(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if st, err := os.Stat(git); err == nil {
			if !st.IsDir() {
				git = strings.TrimPrefix(smallFile(git), "gitdir: ")
				if !filepath.IsAbs(git) {
					git = filepath.Join(dir, git)
				}
			}
			name, ok := strings.CutPrefix(smallFile(filepath.Join(git, "HEAD")), "ref: refs/heads/")
			if !ok && len(name) >= 7 {
				return name[:7]
			}
			return name
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// smallFile returns the text of a small regular file; "": it is something else.
func smallFile(path string) string {
	const largest = 4 << 10
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > largest {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
