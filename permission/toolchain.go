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

// unmanaged says why a tool may do more than print its version: its program isn't one of the system's, or a version
// manager. These run what a project chooses, and write in the home directory.
func (e *engine) unmanaged(name string) string {
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
	i := slices.IndexFunc(files, e.present)
	if i < 0 {
		return "" // there is none
	}
	program := e.at(files[i]).path
	if !e.world.ofSystem(program) {
		return show(program) + " is not in a system directory, and may run what the project chooses"
	}
	if ofManager(program) {
		return managedBy(program)
	}
	return ""
}

// managed says whether a version manager may be behind the name of a program: asdf runs a program of the workspace if a
// file there says so.
func (e *engine) managed(name string) string {
	if e.world.Path == nil || e.disk == nil || name == "" {
		return ""
	}
	if e.managers == nil {
		e.managers = []string{}
		for _, dir := range filepath.SplitList(e.world.Path()) {
			if dir = filepath.ToSlash(dir); ofManager(dir) {
				e.managers = append(e.managers, dir)
			}
		}
	}
	for _, dir := range e.managers {
		if file := path.Join(dir, name); e.present(file) {
			return managedBy(file)
		}
	}
	return ""
}

func managedBy(file string) string {
	return show(file) + " belongs to a version manager, which may run what the project chooses"
}

// ofManager reports whether a path is that of a version manager.
func ofManager(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if slices.Contains(shell.VersionManagers(), strings.TrimPrefix(part, ".")) {
			return true
		}
	}
	return false
}

// present reports whether a file is there. What can't be looked at, in a folder of PATH that the user may not enter, can't
// be run either.
func (e *engine) present(file string) bool {
	found, ok := e.disk.Glob(escapeGlob(file))
	return (!ok || len(found) > 0) && e.at(file).path != "*"
}
