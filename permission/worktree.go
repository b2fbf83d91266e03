package permission

import (
	"path"

	"github.com/adze-dev/adze/permission/shell/prove"
)

// addTree adds what a git command shows of a repository whose top is above the workspace. A repository in the workspace is
// judged by the words of the command.
func (e *engine) addTree(p *prove.Proof, t *prove.Tree) (why string) {
	top, known := e.disk.Worktree(e.at(t.Dir).path)
	if !known {
		return "can't determine which repository git uses here"
	}
	if top == "" || e.world.inside(top) {
		return ""
	}
	if t.Unless != "" {
		if found, ok := e.disk.Glob(escapeGlob(t.Unless)); ok && len(found) > 0 {
			return ""
		}
	}
	touch := t.Touch
	touch.Path = path.Join(top, touch.Path)
	p.Touches = append(p.Touches, touch)
	return ""
}
