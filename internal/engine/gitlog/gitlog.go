// Package gitlog says what happened in a git repository, by the lines that git added to its reflogs. It runs nothing.
//
//	before := gitlog.Read(dir)
//	…
//	notes := before.Since() // "1 commit: Fix the flag"
package gitlog

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// The refs whose logs are read, which are below logs.
const (
	Head  = "HEAD"
	Stash = "refs/stash" // the newest one
)

// Dropped is the note about a log of stashes that became shorter.
const Dropped = "stash dropped"

// Notes describes the lines that were added to the log of a ref: commits with the subject of the last one, then other
// lines as git wrote them.
func Notes(ref, added string) []string {
	var notes []string
	commits, subject := 0, ""
	for line := range strings.Lines(added) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), "\t")
		action, text, _ := strings.Cut(what, ": ")
		kind, _, _ := strings.Cut(action, " ")
		switch from, to, _ := strings.Cut(strings.TrimPrefix(text, "moving from "), " to "); {
		case what == "" || kind == "reset" && strings.HasSuffix(text, " "+Head): // it moves nothing, as in a stash
		case ref == Stash:
			notes = append(notes, "stash: "+what)
		case action == "commit (amend)":
			notes = append(notes, "amended commit: "+text)
		case kind == "commit" || kind == "cherry-pick" || kind == "revert":
			commits, subject = commits+1, text
		case kind == "checkout" && from != to:
			notes = append(notes, "switched from "+from+" to "+to)
		default:
			notes = append(notes, what)
		}
	}
	if commits > 0 {
		notes = append([]string{humanize.Count(commits, "commit") + ": " + subject}, notes...)
	}
	return notes
}

// State is how long the logs of a repository were.
type State []log

type log struct {
	ref, path string
	size      int64
}

// Read finds the logs of the repository that a directory is in; none without a repository.
func Read(dir string) State {
	git := gitconfig.Find(dir)
	if git == "" {
		return nil
	}
	own, common := gitconfig.Dirs(git)
	s := State{{ref: Head, path: filepath.Join(own, "logs", Head)},
		{ref: Stash, path: filepath.Join(common, "logs", filepath.FromSlash(Stash))}}
	for i := range s {
		s[i].size = size(s[i].path)
	}
	return s
}

func size(path string) int64 {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return st.Size()
}

// Since describes what happened after the state was read.
func (s State) Since() []string {
	var notes []string
	for _, l := range s {
		switch n := size(l.path); {
		case n > l.size:
			notes = append(notes, Notes(l.ref, l.added())...)
		case n < l.size && l.ref == Stash:
			notes = append(notes, Dropped)
		}
	}
	return notes
}

// added is what was appended to a log, or the start of it.
func (l log) added() string {
	const limit = 64 << 10
	f, err := os.Open(l.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.NewSectionReader(f, l.size, limit)) // what can't be read isn't described
	return string(text)
}
