package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

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
		if slices.Contains(versionManagers, strings.TrimPrefix(part, ".")) {
			return true
		}
	}
	return false
}

// versionManagers are names of programs that are behind the names of tools, or of the directories of such programs: they
// install or choose a tool. /usr/bin/cargo may be a link to rustup, which makes directories in the home directory.
var versionManagers = strings.Fields("rustup rustup-init asdf mise rtx volta volta-shim proto proto-shim pyenv rbenv nodenv jenv goenv phpenv aqua-proxy corepack shims")
