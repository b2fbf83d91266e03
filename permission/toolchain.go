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
	program := e.disk.Program(e.world.Path(), name)
	if program == "" {
		return "" // there is none
	}
	if !e.world.ofSystem(program) {
		return show(program) + " is not in a system directory, and may run what the project chooses"
	}
	if ofManager(filepath.ToSlash(program)) {
		return managedBy(program)
	}
	return ""
}

// managed says whether a version manager may be behind the name of a program: asdf runs a program of the workspace if a
// file there says so.
func (e *engine) managed(name string) string {
	if e.world.Path == nil || e.disk == nil || name == "" || strings.Contains(name, "/") {
		return "" // a path on the read-only list is one of the system's
	}
	if e.managers == nil {
		var dirs []string
		for _, dir := range filepath.SplitList(e.world.Path()) {
			if ofManager(filepath.ToSlash(dir)) {
				dirs = append(dirs, dir)
			}
		}
		path := strings.Join(dirs, string(filepath.ListSeparator))
		e.managers = &path
	}
	if *e.managers != "" {
		if program := e.disk.Program(*e.managers, name); program != "" {
			return managedBy(program)
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
