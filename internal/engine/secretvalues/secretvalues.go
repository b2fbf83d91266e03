// Package secretvalues knows the secret values of a session, so that they can be masked wherever they would reach a
// model. Tokens with a checkable form are masked too, wherever they come from: see package redact.
//
//	list := secretvalues.New(secretvalues.Options{Environ: os.Environ(), Home: home, Roots: roots})
//	text = list.Mask().String(text)
//	for _, c := range list.Configs(nil) { … show a command c.Clean in place of c.Path … }
//
// The values come from the environment, git's configuration (the user's, and that of the repositories of the workspace)
// and well-known files of credentials. Files are read again if they have changed. A value that was found once stays on
// the list.
package secretvalues

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/redact"
)

// Options configure a List.
type Options struct {
	Environ []string // variables whose values are judged
	Home    string   // the user's home directory; "": none
	State   string   // Adze's own directory; "": none
	Roots   []string // directories of the workspace, with links resolved
	// Except are exceptions of the user: kinds of tokens, and patterns for paths of files whose tokens aren't secret.
	Except []string
}

// List is the secret values of a session. It reads nothing before its first use, and is safe for concurrent use.
type List struct {
	o     Options
	table *redact.Table
	paths []string // patterns of exceptions

	mu      sync.Mutex
	began   bool
	stamps  map[string]stamp // of everything that was read or looked for
	nested  []string         // configurations of repositories in the workspace, besides those of its roots
	known   []redact.Secret
	mask    *redact.Mask
	configs []Config
}

// Config is a file of git's configuration that contains credentials.
type Config struct {
	Path  string // with links resolved
	Text  []byte // as it is
	Clean []byte // with a mask in place of each credential
}

// Merge returns the file with the changes that turn its clean copy into changed.
func (c Config) Merge(changed []byte) ([]byte, error) {
	return gitconfig.Merge(c.Text, c.Clean, changed, redact.Masked)
}

// New returns a list that reads its sources at its first use.
func New(o Options) *List {
	l := &List{o: o}
	var kinds []string
	for _, e := range o.Except {
		if redact.IsKind(e) {
			kinds = append(kinds, e)
		} else {
			l.paths = append(l.paths, e)
		}
	}
	l.table = redact.NewTable(kinds)
	return l
}

// Table returns the placeholders of the session.
func (l *List) Table() *redact.Table { return l.table }

// Opens is called with the path of a file before its content is shown: if it is an exception, its tokens aren't masked.
func (l *List) Opens(path string) {
	if len(l.paths) == 0 || !slices.ContainsFunc(l.paths, func(p string) bool { return l.matches(p, path) }) {
		return
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		l.table.Except(text)
	}
}

// matches reports whether a pattern matches a path: an absolute one, one below the home directory, or one below a
// directory of the workspace.
func (l *List) matches(pattern, path string) bool {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		pattern = filepath.Join(l.o.Home, rest)
	}
	if filepath.IsAbs(pattern) {
		return ignore.Glob(pattern, filepath.ToSlash(path), false)
	}
	return slices.ContainsFunc(l.o.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && ignore.Glob(pattern, filepath.ToSlash(rel), false)
	})
}

// Mask returns a mask for the current values.
func (l *List) Mask() *redact.Mask {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	return l.mask
}

// Known returns a mask for the values that were found when Mask was last called. It doesn't look at the disk, so it is
// for texts that went through a mask when they came in.
func (l *List) Known() *redact.Mask {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mask == nil {
		l.refresh()
	}
	return l.mask
}

// Configs returns the files of git's configuration that contain credentials. nested are the configurations of
// repositories in the workspace that a search has found; the caller need not repeat them.
func (l *List) Configs(nested []string) []Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range nested {
		if _, known := l.stamps[path]; !known && !slices.Contains(l.nested, path) {
			l.nested = append(l.nested, path)
			l.began = false
		}
	}
	l.refresh()
	return l.configs
}

// GitConfig reports whether a path is that of git's configuration in a repository, by its name and its neighbors.
func GitConfig(path string) bool {
	base := filepath.Base(path)
	if base != "config" && base != "config.worktree" {
		return false
	}
	dir := filepath.Dir(path)
	return filepath.Base(dir) == ".git" || exists(filepath.Join(dir, "HEAD"))
}

// stamp tells whether a file has changed. The zero value means that it doesn't exist.
type stamp struct {
	size int64
	time time.Time
	info os.FileInfo
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), info}
}

func (s stamp) equal(t stamp) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil
	}
	return s.size == t.size && s.time.Equal(t.time) && os.SameFile(s.info, t.info)
}

// refresh reads everything again if something has changed.
func (l *List) refresh() {
	if l.began && !l.changed() {
		return
	}
	if l.stamps == nil {
		l.add(inEnviron(l.o.Environ))
	}
	l.began, l.stamps, l.configs = true, map[string]stamp{}, nil
	before := len(l.known)
	for _, path := range l.credentialFiles() {
		if text := l.read(path); text != nil {
			l.add(inFile(path, string(text)))
		}
	}
	r := &reader{list: l}
	for _, path := range l.userConfigs() {
		r.config(path, 0)
	}
	for _, root := range l.o.Roots {
		r.around(root)
		// It belongs to the working tree: commands see it as it is.
		l.add(sure(gitconfig.Credentials(l.read(filepath.Join(root, ".gitmodules")))))
	}
	for _, path := range l.nested {
		r.config(path, 0)
	}
	if l.mask == nil || len(l.known) > before {
		l.mask = redact.NewMask(l.known, l.table)
	}
}

func (l *List) changed() bool {
	for path, was := range l.stamps {
		if !was.equal(stampOf(path)) {
			return true
		}
	}
	return false
}

func (l *List) add(secrets []redact.Secret) {
	for _, s := range secrets {
		if s.Value != "" && !slices.Contains(l.known, s) {
			l.known = append(l.known, s)
		}
	}
}

// maxFile is the maximum size of a file that is read.
const maxFile = 1 << 20

// read reads a file and records its stamp; nil: it doesn't exist, was read before, or is no ordinary file.
func (l *List) read(path string) []byte {
	if _, seen := l.stamps[path]; seen {
		return nil
	}
	s := stampOf(path)
	l.stamps[path] = s
	if s.info == nil || !s.info.Mode().IsRegular() || s.size > maxFile {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return text
}

// reader reads git's configuration.
type reader struct{ list *List }

const (
	maxIncludes = 10 // git has the same limit
	maxModules  = 2000
)

// config reads a file and its includes, whether their conditions are true or not.
func (r *reader) config(path string, depth int) {
	text := r.list.read(path)
	if text == nil {
		return
	}
	if found := gitconfig.Credentials(text); len(found) > 0 {
		r.list.add(sure(found))
		clean, _ := gitconfig.Clean(text, redact.Masked)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			r.list.configs = append(r.list.configs, Config{real, text, clean})
		}
	}
	if depth == maxIncludes || !bytes.Contains(bytes.ToLower(text), []byte("include")) {
		return
	}
	settings, _ := gitconfig.Parse(text)
	for _, s := range settings {
		if file := s.Included(path, r.list.o.Home); file != "" {
			r.config(file, depth+1)
		}
	}
}

// around reads the repository that contains a directory.
func (r *reader) around(dir string) {
	for at := dir; ; at = filepath.Dir(at) {
		name := filepath.Join(at, ".git")
		switch info, err := os.Stat(name); {
		case err == nil && info.IsDir():
			r.repository(name)
			return
		case err == nil:
			r.list.stamps[name] = stampOf(name)
			if target, ok := gitconfig.Pointer(name, "gitdir: "); ok {
				r.repository(target)
			}
			return
		}
		if exists(filepath.Join(at, "HEAD")) && exists(filepath.Join(at, "objects")) {
			r.repository(at)
			return
		}
		if at == dir {
			r.list.stamps[name] = stamp{} // git init
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

// repository reads the configuration of a repository, its working trees and its submodules.
func (r *reader) repository(gitDir string) {
	_, common := gitconfig.Dirs(gitDir)
	r.config(filepath.Join(common, "config"), 0)
	r.config(filepath.Join(gitDir, "config.worktree"), 0)
	r.config(filepath.Join(common, "config.worktree"), 0)
	trees := filepath.Join(common, "worktrees")
	for _, e := range r.directory(trees) {
		r.config(filepath.Join(trees, e.Name(), "config.worktree"), 0)
	}
	left := maxModules
	r.modules(filepath.Join(common, "modules"), &left)
}

// modules reads the repositories of submodules, whose names may contain slashes.
func (r *reader) modules(dir string, left *int) {
	for _, e := range r.directory(dir) {
		if *left--; *left < 0 || !e.IsDir() {
			continue
		}
		at := filepath.Join(dir, e.Name())
		if exists(filepath.Join(at, "HEAD")) {
			r.config(filepath.Join(at, "config"), 0)
			r.config(filepath.Join(at, "config.worktree"), 0)
			r.modules(filepath.Join(at, "modules"), left)
		} else {
			r.modules(at, left)
		}
	}
}

// directory lists a directory and records its stamp.
func (r *reader) directory(dir string) []os.DirEntry {
	if r.list.stamps[dir] = stampOf(dir); r.list.stamps[dir].info == nil {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	return entries
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
