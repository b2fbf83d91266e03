package permission

import "github.com/adze-dev/adze/permission/shell/prove"

// addWorktree adds to what a git command touches all that git tracks in a repository that begins above the workspace. A
// repository in the workspace is judged by the words of the command.
func (e *engine) addWorktree(p *prove.Proof, dir string) (why string) {
	top, known := e.disk.Worktree(e.at(dir).path)
	switch {
	case !known:
		return "can't determine which repository git uses here"
	case top != "" && !e.world.inside(top):
		p.Touches = append(p.Touches, prove.Touch{Path: top, Scope: prove.Tracked, Certain: prove.Sure})
	}
	return ""
}
