package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// managed says why the program behind the name of a tool may do more than print its version: it isn't one of the
// system's, or it is a version manager. These run what a project chooses, and write in the home directory.
func (e *engine) managed(name string) string {
	if e.world.Path == nil || e.disk == nil {
		return "can't determine which program " + show(name) + " is"
	}
	files := []string{name}
	if !strings.Contains(name, "/") {
		files = nil
		for _, dir := range filepath.SplitList(e.world.Path()) {
			files = append(files, path.Join(filepath.ToSlash(dir), name))
		}
	}
	for _, file := range files {
		if found, ok := e.disk.Glob(escapeGlob(file)); ok && len(found) == 0 {
			continue
		}
		program := e.at(file).path
		if !e.world.ofSystem(program) {
			return show(program) + " is not in a system directory, and may run what the project chooses"
		}
		if slices.ContainsFunc(components(program), func(c string) bool { return slices.Contains(shell.VersionManagers(), c) }) {
			return show(program) + " is a version manager, which may run what the project chooses"
		}
		return ""
	}
	return ""
}
