package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Surroundings is the environment of a session that determines limits on reads.
type Surroundings struct {
	Roots  []string // the workspace, resolved
	System []string // system directories: their files may be read and executed
	Env    []string // the environment of limited commands
}

// Limits returns what auto-approved commands may read and execute: the workspace, system directories, the programs in
// PATH with their toolchains, and the configuration that git and compilers read. Nothing in the workspace may be
// executed. The caller sets Hide and Write.
func (s Surroundings) Limits() *sandbox.Limits {
	l := &sandbox.Limits{}
	l.Read = append(l.Read, s.Roots...)
	// harmless devices can be written too
	l.Read = append(l.Read, "/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm")
	for _, root := range s.Roots {
		l.Read = append(l.Read, gitDirs(root)...)
		l.Read = append(l.Read, ignoreFilesAbove(root)...)
	}
	home := s.value("HOME")
	l.Read = append(l.Read, s.userConfig(home)...)
	avoid := s.unexecuted()
	if home != "" && home != "/" {
		avoid = append(avoid, home)
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for _, dir := range append(slices.Clone(s.System), stores...) {
		l.Execute = append(l.Execute, around(dir, avoid, 0)...)
	}
	for _, dir := range s.programs(home) {
		if !s.executable(dir, home, l.Execute) {
			continue
		}
		l.Execute = append(l.Execute, dir)
	}
	l.Execute = resolvedPaths(l.Execute)
	// Each rule takes time in every command.
	l.Read = slices.DeleteFunc(resolvedPaths(l.Read), func(path string) bool { return isIn(path, l.Execute) })
	return l
}

// unexecuted returns the parts of the workspace in which nothing may be executed: all of it, unless it contains system
// directories, as / does.
func (s Surroundings) unexecuted() []string {
	return slices.DeleteFunc(slices.Clone(s.Roots), func(root string) bool {
		return slices.ContainsFunc(s.System, func(dir string) bool { return names.Below(dir, root) })
	})
}

// stores are the directories in which some systems have all their programs.
var stores = []string{"/nix/store", "/gnu/store", "/snap", "/run/current-system", "/home/linuxbrew/.linuxbrew"}

// executable reports whether a directory of programs may be used: it neither contains the workspace nor is in it,
// doesn't contain the home directory, and isn't allowed already.
func (s Surroundings) executable(dir, home string, have []string) bool {
	if home != "" && names.Below(home, dir) {
		return false
	}
	for _, r := range s.unexecuted() {
		if names.Below(dir, r) || names.Below(r, dir) {
			return false
		}
	}
	return !isIn(dir, have)
}

// around returns a directory or, if it contains one of the paths to avoid, the other entries in it: /usr without
// /usr/src/app.
func around(dir string, avoid []string, depth int) []string {
	inside := false
	for _, a := range avoid {
		if names.Below(dir, a) {
			return nil
		}
		inside = inside || names.Below(a, dir)
	}
	if !inside {
		return []string{dir}
	}
	const deepest = 16
	if depth == deepest {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // the target of a link is allowed separately
			out = append(out, around(filepath.Join(dir, e.Name()), avoid, depth+1)...)
		}
	}
	return out
}

// programs returns the directories of PATH and the toolchains of their programs.
func (s Surroundings) programs(home string) []string {
	var out []string
	for _, dir := range filepath.SplitList(s.value("PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		out = append(out, real)
		out = append(out, toolchain(real, home)...)
		if !isIn(real, s.System) {
			out = append(out, linked(real)...)
		}
		for _, name := range []string{"go", "node", "python3"} {
			if program, err := filepath.EvalSymlinks(filepath.Join(real, name)); err == nil {
				out = append(out, toolchain(filepath.Dir(program), home)...)
			}
		}
	}
	if home != "" {
		for _, name := range []string{".rustup/toolchains", "go/pkg/mod", ".cargo/registry/src", ".local/lib"} {
			out = append(out, filepath.Join(home, name))
		}
	}
	if v := s.value("GOMODCACHE"); v != "" {
		out = append(out, v)
	}
	return out
}

// linked returns the programs elsewhere that links in a directory of PATH lead to.
func linked(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil && filepath.Dir(real) != dir {
			out = append(out, real)
		}
	}
	return out
}

// toolchain returns the directory above a bin directory, if it is a toolchain's: of Go, Node, Python, conda, or of a
// version manager with shims. For a directory that has the user's data too, such as ~/.local, it only returns the
// programs and libraries.
func toolchain(bin, home string) []string {
	prefix := filepath.Dir(bin)
	marks := []string{"pkg/tool", "lib/node_modules", "pyvenv.cfg", "conda-meta", "lib/python3*/os.py"}
	switch filepath.Base(bin) {
	case "shims":
		marks = []string{"versions", "installs"}
	case "bin":
	default:
		return nil
	}
	if !slices.ContainsFunc(marks, func(mark string) bool {
		found, _ := filepath.Glob(filepath.Join(prefix, mark))
		return len(found) > 0
	}) {
		return nil
	}
	if home == "" || !names.Below(home, prefix) && prefix != filepath.Join(home, ".local") {
		return []string{prefix}
	}
	var out []string
	for _, name := range []string{"bin", "lib", "lib64", "libexec", "include"} {
		out = append(out, filepath.Join(prefix, name))
	}
	return out
}

// gitDirs returns the git directories of a root's repository that are outside it: above it, or elsewhere for a linked
// worktree or a submodule.
func gitDirs(root string) []string {
	dotGit := gitconfig.Find(root)
	st, err := os.Lstat(dotGit)
	switch {
	case err != nil:
	case st.IsDir() && filepath.Dir(dotGit) != root:
		return []string{dotGit}
	case st.Mode().IsRegular():
		return append([]string{dotGit}, outsideGit(filepath.Dir(dotGit))...)
	}
	return nil
}

// RepositoryAbove returns the top of the repository that a directory is a part of; "" if it isn't above the directory.
func RepositoryAbove(dir string) string {
	if git := gitDirs(dir); len(git) > 0 && filepath.Dir(git[0]) != dir {
		return filepath.Dir(git[0])
	}
	return ""
}

// ignoreFilesAbove returns the ignore files that rg and fd read in the directories above a root. Links aren't followed:
// the author of the workspace may have created the directories above it too.
func ignoreFilesAbove(root string) []string {
	var out []string
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore", ".fdignore"} {
			path := filepath.Join(dir, name)
			if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
				out = append(out, path)
			}
		}
		if dir == filepath.Dir(dir) {
			return out
		}
	}
}

// userConfig returns the files that programs read in a home directory: git's configuration and the files that it names,
// Go's, and terminal descriptions.
func (s Surroundings) userConfig(home string) []string {
	if home == "" {
		return nil
	}
	config := s.value("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	out := []string{filepath.Join(home, ".terminfo"), filepath.Join(config, "go/env"),
		filepath.Join(config, "fd/ignore")}
	seen := map[string]bool{}
	for _, path := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git/config"),
		"/etc/gitconfig"} {
		out = append(out, gitConfig(path, home, seen)...)
	}
	return append(out, filepath.Join(config, "git/ignore"), filepath.Join(config, "git/attributes"))
}

// gitConfig returns a file of the user's git configuration and the files that it names: includes, and lists of ignored
// files and attributes.
func gitConfig(path, home string, seen map[string]bool) []string {
	const limit = 64
	if seen[path] || len(seen) == limit || !regular(path) {
		return nil
	}
	seen[path] = true
	out := []string{path}
	for _, s := range gitconfig.Read(path) {
		if file := s.Included(path, home); file != "" {
			out = append(out, gitConfig(file, home, seen)...)
		}
		if p := s.Key.Pattern(); p != "core.excludesfile" && p != "core.attributesfile" {
			continue
		}
		file := gitconfig.ExpandHome(s.Value, home)
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		if regular(file) {
			out = append(out, file)
		}
	}
	return out
}

// regular reports whether a path leads to a regular file.
func regular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// resolvedPaths returns the paths that exist, with links resolved, without duplicates.
func resolvedPaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			out = append(out, real)
		}
	}
	return sandbox.Outermost(out)
}

// value returns the value of a variable.
func (s Surroundings) value(name string) string {
	for _, kv := range s.Env {
		if n, v, _ := strings.Cut(kv, "="); n == name {
			return v
		}
	}
	return ""
}
