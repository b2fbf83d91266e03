package ondisk

import (
	"path/filepath"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Repository looks at the directories above a path, up to the root of the workspace. Git prefers a .git, so that the
// files of a linked worktree in a bare repository are ordinary.
func (d *disk) Repository(path string) bool {
	root, ok := names.Within(path, d.options.roots)
	if !ok {
		return false
	}
	for dir := path; dir != root; {
		entry := filepath.Base(dir)
		dir = filepath.Dir(dir)
		exists := entriesOf(dir)
		if exists(".git") {
			return false
		}
		signs := names.GitSignsOf(func(name string) bool {
			return names.GitSign(name) == names.GitSign(entry) || exists(name)
		})
		if signs.Repository() {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}
