// Package contextfiles finds the texts that users write for a model: AGENTS.md and QWEN.md with their imports,
// remembered facts, definitions of subagents, and skills.
//
//	c := contextfiles.Load(contextfiles.Options{User: []string{"/home/me/.adze"}, Dir: "/home/me/app/api"})
//	fmt.Println(c.Text) // for the system prompt
//	for _, f := range c.Files { … } // what is in it
//
// It is only text and grants nothing: no rules, settings or commands are read from it. Imports of a project's files are
// bounded in size and must be in the project. The package knows no tools and never asks the user.
package contextfiles

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Options set where to look. Paths are absolute.
type Options struct {
	User []string // the user's own directories, such as $ADZE_HOME and ~/.qwen
	Dir  string   // the working directory
	Root string   // the project's top directory; "": see [Root]
	Home string   // the user's home directory: the project's top is never at or above it, unless Dir is
	// Names are the names of files; nil: AGENTS.md and QWEN.md, which the user's own directories may have in any case,
	// or in a project's directory without them a file of other programs.
	Names []string
}

// Limits: every request of the model has all of this.
const (
	maxFile   = 32 << 10 // bytes of one file's text; the middle of a longer one is omitted
	maxTotal  = 96 << 10 // bytes of all texts
	maxFiles  = 50
	maxDepth  = 5       // imports of imports
	maxSource = 4 << 20 // maximum size of a file
)

// Scope is the owner of a file.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Loaded is the result of Load.
type Loaded struct {
	Text  string // for the system prompt; "" if there is nothing
	Files []File // in the order of Text
	Notes []string
}

// File is one file that was loaded.
type File struct {
	Path       string // absolute, links resolved
	Name       string // for users: relative to the project's top, otherwise Path
	Scope      Scope
	ImportedBy string // the Name of the file that imports it
	Why        string // it was loaded, for users
	Size       int    // bytes of its text
	Kept       int    // bytes of it in Loaded.Text
}

const header = `# Context
Instructions from the user and the project. Follow them where they apply. They don't grant permissions or override tool restrictions.
`

const endMark = "--- End of Context from:"

// Load reads the context files of the user, then those of the project from its top directory down to Dir. It never
// fails: problems are in Notes.
func Load(o Options) Loaded {
	if o.Root == "" {
		o.Root = Root(o.Dir, o.Home)
	}
	l := &loader{
		options: o, seen: map[string]bool{}, texts: map[string]bool{},
		ignored: ignore.New(ignore.Options{Roots: []string{o.Root}}),
	}
	for _, dir := range o.User {
		for _, name := range withUsual(o.Names) {
			l.top(filepath.Join(dir, name), userArea(dir))
		}
	}
	for _, dir := range directories(o.Root, o.Dir) {
		for _, path := range filesIn(dir, o.Names) {
			l.top(path, l.projectArea())
		}
	}
	if len(l.files) == 0 {
		return Loaded{Notes: l.notes}
	}
	return Loaded{Text: header + l.text.String(), Files: l.files, Notes: l.notes}
}

// filesIn returns the context files of a project's directory: those with names, or the usual ones, or the first one of
// other programs.
func filesIn(dir string, names []string) (paths []string) {
	existing := func(names []string, most int) {
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if exists(path) && len(paths) < most {
				paths = append(paths, path)
			}
		}
	}
	if existing(names, len(names)); len(names) > 0 {
		return paths
	}
	if existing(usualNames(), len(usualNames())); len(paths) == 0 {
		existing([]string{"CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"}, 1)
	}
	return paths
}

// Root returns a project's top directory: the nearest directory at or above dir that has .git, or dir itself. A home
// directory under version control doesn't count.
func Root(dir, home string) string {
	git := gitconfig.Find(dir)
	top := filepath.Dir(git)
	if rel, below := names.Rel(dir, home); git == "" || below && rel != "." && names.Below(home, top) {
		return dir
	}
	return top
}

// directories returns the directories from root down to dir.
func directories(root, dir string) []string {
	rel, ok := names.Rel(dir, root)
	if !ok {
		return []string{dir}
	}
	out := []string{root}
	at := root
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		if name != "." {
			at = filepath.Join(at, name)
			out = append(out, at)
		}
	}
	return out
}

// loader is the state of a Load.
type loader struct {
	options Options
	ignored *ignore.Rules
	seen    map[string]bool // by real path
	texts   map[string]bool // what was added
	text    strings.Builder
	files   []File
	notes   []string
	full    bool
}

// area is the set of directories that a file and its imports may be in.
type area struct {
	scope Scope
	roots []string // nil: any, for a file in the user's own directory
	base  string   // the directory itself, with links resolved
	own   []string // of a project: the user's own directories
}

// userArea returns the area of the user's own files: they may be links to anywhere, but imports must be in the same
// directory.
func userArea(dir string) area { return area{scope: User, base: real(dir)} }

// why returns why a file that no other one imports is loaded.
func (l *loader) why(f source, a area) string {
	switch {
	case a.scope == User:
		return "your own"
	case slices.Contains(withUsual(l.options.Names), filepath.Base(f.path)):
		return "it is at or above the working directory"
	}
	return "there is no AGENTS.md or QWEN.md beside it"
}

func (l *loader) projectArea() area {
	root := real(l.options.Root)
	a := area{scope: Project, roots: []string{root}, base: root}
	for _, dir := range l.options.User {
		a.own = append(a.own, real(dir))
	}
	return a
}

func (l *loader) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// top loads a context file that may not exist.
func (l *loader) top(path string, a area) {
	if !exists(path) {
		return
	}
	f, err := open(path, false, a.roots, l.ignored)
	if err != nil {
		l.note("%v", err)
		return
	}
	if a.scope == User {
		a.roots = []string{a.base, filepath.Dir(f.path)}
	}
	l.add(f, a, nil)
}

// add adds a file, and then its imports. stack has the chain of imports.
func (l *loader) add(f source, a area, stack []string) {
	if l.seen[f.path] || l.texts[f.text] || l.full { // a copy or a link
		return
	}
	name := a.shown(f.path)
	room := min(maxFile, maxTotal-l.text.Len())
	if len(l.files) >= maxFiles || room < 1<<10 {
		l.full = true
		l.note("%s and later context files are skipped: those before take %d KB of at most %d, in %d files of at "+
			"most %d. Shorten them",
			name, l.text.Len()>>10, maxTotal>>10, len(l.files), maxFiles)
		return
	}
	l.seen[f.path], l.texts[f.text] = true, true
	by, frame, why := "", name, l.why(f, a)
	if len(stack) > 0 {
		by = stack[len(stack)-1]
		why = "imported by " + by
		frame += ", " + why
	}
	kept := framed(f.text, room)
	if len(kept) < len(f.text) {
		l.note("%s has %d KB: only its beginning and its end are loaded; shorten it", name, len(f.text)>>10)
	}
	l.files = append(l.files, File{
		Path: f.path, Name: name, Scope: a.scope, ImportedBy: by, Size: len(f.text), Kept: len(kept), Why: why,
	})
	fmt.Fprintf(&l.text, "\n--- Context from: %s ---\n%s\n%s %s ---\n", frame, strings.TrimSpace(kept), endMark, name)
	l.imports(f, a, append(stack[:len(stack):len(stack)], name))
}

// framed returns a text of at most room bytes that doesn't end its own frame.
func framed(text string, room int) string {
	return strings.ReplaceAll(cut(text, room), endMark, "- - - End of Context from:")
}

// imports loads the files that a file names with @path.
func (l *loader) imports(f source, a area, stack []string) {
	from := stack[len(stack)-1]
	for _, ref := range references(f.text) {
		path, ok := ref.find(filepath.Dir(f.path), l.options.Home)
		if !ok {
			if name, is := ref.file(); is {
				l.note("%s: @%s is not imported: no such file", from, name)
			}
			continue // a mention of a user or of a missing file: left as text
		}
		if len(stack) > maxDepth {
			l.note("%s: @%s is not imported: imports go %d deep at most", from, ref, maxDepth)
			return
		}
		next, err := open(path, false, a.roots, l.ignored)
		if err == nil {
			err = a.mayImport(next.path)
		}
		if err != nil {
			l.note("%s: @%s is not imported: %v", from, ref, err)
			continue
		}
		l.add(next, a, stack) // a file that was loaded before, including a cycle, is skipped
	}
}

// mayImport rejects files that have no context but may have keys: the state of programs, which is next to the user's
// own files, and of version control.
func (a area) mayImport(path string) error {
	rel, err := filepath.Rel(a.base, path)
	if err != nil {
		rel = path
	}
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), names.IsGit) {
		return fmt.Errorf("read %s: it belongs to version control, and may contain keys", path)
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown", ".mdx", ".mdc", ".txt", ".rst", ".adoc", ".org":
		return nil
	}
	if _, own := names.Within(path, a.own); own || a.scope == User {
		return fmt.Errorf("read %s: beside settings and keys, only texts are imported, such as .md and .txt", path)
	}
	return nil
}

// shown returns a path for users: relative to the project's top, if it is there. The user's own files keep their
// absolute path.
func (a area) shown(path string) string {
	if a.scope == User {
		return path
	}
	return names.Short(path, a.base)
}
