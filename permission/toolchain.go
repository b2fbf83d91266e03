package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// managed returns a reason if a version manager may be behind the name of a program: asdf runs a program of the workspace if
// a file there says so.
func (e *engine) managed(name string) string {
	if e.world.Path == nil || e.disk == nil || name == "" || strings.Contains(name, "/") {
		return "" // paths on the read-only list are in system directories
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

// ofManager reports whether a path belongs to a version manager.
func ofManager(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if slices.Contains(versionManagers, strings.TrimPrefix(part, ".")) {
			return true
		}
	}
	return false
}

// versionManagers are names of programs behind the names of tools, or of their directories: they install or choose a tool.
// /usr/bin/cargo may be a link to rustup, which creates directories in the home directory.
var versionManagers = strings.Fields("rustup rustup-init asdf mise rtx volta volta-shim proto proto-shim pyenv rbenv nodenv jenv goenv phpenv aqua-proxy corepack shims")
