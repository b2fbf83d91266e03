// Package ignore decides whether a path is hidden by git's ignore rules or denied by an AI ignore file.
//
//	rules := ignore.New(ignore.Options{Roots: []string{"/home/me/app"}})
//	v := rules.Check("/home/me/app/build/x.o", ignore.File)
//	if v.State == ignore.Refused { return v } // a Verdict is an error that names file, line and pattern
//
// Two kinds of files are read, with the syntax of gitignore(5):
//
//   - .gitignore, .git/info/exclude and core.excludesFile only hide a path from listings and searches. The verdicts
//     equal those of `git check-ignore --no-index`: the index is not read, so a tracked file that a pattern matches is
//     hidden too. .gitignore files count from the top of the repository down (the nearest directory at or above a root
//     that has .git); outside a repository they count from the root down; elsewhere there are no git rules. A
//     directory with its own .git is a separate repository, like a submodule.
//   - .adzeignore, .qwenignore, .agentignore, .aiignore and the names in Options.Custom deny: nothing they match may
//     be read, shown or changed, even if it is named. They count in every directory above the path. Each name is a
//     its own family and a path is denied if any family matches, so a negation in one doesn't undo another. Such a
//     file that exists but can't be read denies its whole directory, because what it protects is unknown.
//
// Git is never run. Paths are not resolved: a caller that follows links checks the path and its target.
//
// A Rules value is safe for concurrent use and detects changes on disk. Package search walks directories with Start,
// Dir.Enter and Dir.Match.
package ignore

import "fmt"

// State is the state of a path.
type State int

const (
	Clear   State = iota // no rule applies, or a negation decides
	Hidden               // git ignores it: omitted from listings and searches
	Refused              // an AI ignore file matches: no tool may touch it
)

// Kind is whether a path is a directory: a pattern such as "build/" only matches directories. A link to a directory is
// a File.
type Kind bool

const (
	File      Kind = false
	Directory Kind = true
)

// Verdict is the verdict on one path. File, Line and Pattern name the rule that decided; they are empty if no rule
// matched, and name a negation if State is Clear.
type Verdict struct {
	State   State
	File    string // absolute path of the ignore file
	Line    int    // 1-based; 0 if the file couldn't be read
	Pattern string // as written, without trailing blanks
	Cause   error  // why the ignore file couldn't be read, or nil
}

// Error names the rule that ignores the path. The caller adds the path.
func (v Verdict) Error() string {
	switch {
	case v.Cause != nil:
		return fmt.Sprintf("denied because the ignore file %s can't be read: %v. Make it readable or remove it", v.File,
			v.Cause)
	case v.State == Refused:
		return fmt.Sprintf("denied by %s line %d (%s)", v.File, v.Line, v.Pattern)
	case v.State == Hidden:
		return fmt.Sprintf("git-ignored by %s line %d (%s)", v.File, v.Line, v.Pattern)
	case v.File != "":
		return fmt.Sprintf("not ignored because of %s line %d (%s)", v.File, v.Line, v.Pattern)
	}
	return "not ignored"
}

// Unwrap returns the cause of an unreadable ignore file.
func (v Verdict) Unwrap() error { return v.Cause }

// Marks is the set of relevant names in a directory.
type Marks uint16

const (
	markRepo Marks = 1 << iota
	markGit
	markAI // the first of the AI ignore files; the others follow, then the custom ones
)

// MaxCustom is the maximum number of further names for AI ignore files.
const MaxCustom = 8

// families are the names of AI ignore files, in the order in which they are consulted.
var families = [...]string{".adzeignore", ".qwenignore", ".agentignore", ".aiignore"}

// Mark returns the mark of an entry with that name; for most names it is zero.
func (r *Rules) Mark(name string) Marks {
	for i, custom := range r.custom {
		if name == custom {
			return markAI << (len(families) + i)
		}
	}
	if len(name) < 4 || name[0] != '.' {
		return 0
	}
	switch name {
	case ".git":
		if r.noGit {
			return 0
		}
		return markRepo
	case ".gitignore":
		if r.noGit {
			return 0
		}
		return markGit
	}
	for i, f := range families {
		if name == f {
			return markAI << i
		}
	}
	return 0
}
