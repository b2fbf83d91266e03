// Package ignore answers whether a path is hidden by git's ignore rules or denied by an AI ignore file.
//
//	rules := ignore.New(ignore.Options{Roots: []string{"/home/me/app"}})
//	v := rules.Check("/home/me/app/build/x.o", ignore.File)
//	if v.State == ignore.Refused { return v } // a Verdict is an error that names file, line and pattern
//
// Two kinds of files are read, with one syntax (that of gitignore(5)):
//
//   - .gitignore, .git/info/exclude and core.excludesFile only hide a path from listings and searches. The answers equal
//     those of `git check-ignore --no-index`, by a test against the real git: the index is not read, so a tracked file that a
//     pattern matches is hidden too. .gitignore files count from the top of the repository (the nearest directory at or above a
//     root that holds .git) down; outside a repository they count from the root down; elsewhere there are no git rules. A
//     directory inside that has a .git of its own is a repository of its own, as a submodule is to git.
//   - .adzeignore, .qwenignore, .agentignore, .aiignore and files of further names in Options.Custom refuse: nothing they match may be read, shown or changed, also
//     when it is named. They count in every directory above the path, up to the top of the file system. Each name is a
//     family of its own and a path is refused when any family matches, so a negation in one does not undo another. A file of
//     these that exists but cannot be read refuses its whole directory, since what it meant to protect is not known.
//
// Git is never run. Paths are taken as they are written: a caller that follows links asks for the path and for its target.
//
// A Rules value may be used by several goroutines at once and notices changes on disk. It is not a walker: package search
// walks, with Start, Dir.Enter and Dir.Match.
package ignore

import "fmt"

// State says what the rules make of a path.
type State int

const (
	Clear   State = iota // nothing applies, or a negation has the last word
	Hidden               // git ignores it: left out of listings and searches
	Refused              // an AI ignore file matches: no tool may touch it
)

// Kind says whether a path is a directory: a pattern such as "build/" matches directories only. A link to a directory is a File.
type Kind bool

const (
	File   Kind = false
	Folder Kind = true
)

// Verdict is the answer for one path. File, Line and Pattern name the rule that had the last word; they are empty when
// no rule matched, and tell of a negation when State is Clear.
type Verdict struct {
	State   State
	File    string // absolute path of the ignore file
	Line    int    // 1-based; 0 when the file could not be read
	Pattern string // as written, without trailing blanks
	Cause   error  // why the ignore file could not be read, when it could not
}

// Error tells who ignores the path; the caller puts the path in front.
func (v Verdict) Error() string {
	switch {
	case v.Cause != nil:
		return fmt.Sprintf("denied because the ignore file %s can't be read: %v. Make it readable or remove it", v.File, v.Cause)
	case v.State == Refused:
		return fmt.Sprintf("denied by %s line %d (%s)", v.File, v.Line, v.Pattern)
	case v.State == Hidden:
		return fmt.Sprintf("git-ignored by %s line %d (%s)", v.File, v.Line, v.Pattern)
	case v.File != "":
		return fmt.Sprintf("not ignored because of %s line %d (%s)", v.File, v.Line, v.Pattern)
	}
	return "not ignored"
}

// Unwrap gives the cause of an unreadable ignore file.
func (v Verdict) Unwrap() error { return v.Cause }

// Marks tells which names that matter here a directory holds.
type Marks uint16

const (
	markRepo Marks = 1 << iota
	markGit
	markAI // the first of the AI families; the others follow, then the custom ones
)

// MaxCustom is how many further names AI ignore files can have.
const MaxCustom = 8

// families are the AI ignore files, in the order in which they are asked.
var families = [...]string{".adzeignore", ".qwenignore", ".agentignore", ".aiignore"}

// Mark tells what the presence of an entry of that name means for its directory; most names give zero.
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
