package permission

import (
	"path"

	"github.com/adze-dev/adze/permission/shell"
)

// chosenAbove says whether a file in a folder or above it chooses the program behind the name of a tool, or is printed
// by it. Some tools look above the folder as the shell names it, others above the one that a link leads to.
func (e *engine) chosenAbove(dir string) string {
	for _, from := range []string{dir, e.at(dir).path} {
		for at := from; ; at = path.Dir(at) {
			for _, file := range shell.ToolchainFiles() {
				if why := e.chosen(path.Join(at, file)); why != "" {
					return why
				}
			}
			for _, file := range shell.VersionFiles() {
				if e.at(path.Join(at, file)).path != path.Join(e.at(at).path, file) {
					return show(path.Join(at, file)) + " is a link to a file that it may print"
				}
			}
			if at == path.Dir(at) || e.overdue() {
				break
			}
		}
		if e.at(dir).path == dir {
			break
		}
	}
	return ""
}
