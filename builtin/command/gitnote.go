package command

import (
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitlog"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// gitNote describes what a command did in a git directory, as far as its files say: "1 commit: Fix the flag", "new
// branch topic", "index". "": they don't.
func (r *triedCall) gitNote(dir string) string {
	var notes, refs []string
	first := false
	for _, ref := range []string{gitlog.Head, gitlog.Stash} {
		path := filepath.Join(dir, "logs", filepath.FromSlash(ref))
		before, _ := r.trial.Before(path) // it may be new
		after, err := r.trial.After(path)
		if err != nil { // unchanged or deleted
			continue
		}
		first = first || ref == gitlog.Head && len(before) == 0
		if added, ok := strings.CutPrefix(string(after), string(before)); ok {
			notes = append(notes, gitlog.Notes(ref, added)...)
		} else if ref == gitlog.Stash {
			notes = append(notes, gitlog.Dropped)
		}
	}
	staged := false
	for _, c := range r.found.Changes {
		rel, ok := names.Rel(c.Path, dir)
		if !ok || c.TimeOnly {
			continue
		}
		rel = filepath.ToSlash(rel)
		kind, name, _ := strings.Cut(strings.TrimPrefix(rel, "refs/"), "/")
		noun, isRef := map[string]string{"heads": "branch", "tags": "tag"}[kind]
		switch {
		case rel == "index":
			staged = true
		case rel == "config":
			refs = append(refs, rel)
		case rel == gitlog.Stash && c.Kind == trial.Deleted:
			refs = append(refs, gitlog.Dropped)
		case !isRef || rel == kind || name == "" || c.IsDir():
		case c.Kind == trial.Created && !first: // the first commit creates the branch
			refs = append(refs, "new "+noun+" "+name)
		case c.Kind == trial.Deleted:
			refs = append(refs, "deleted "+noun+" "+name)
		}
	}
	if notes = append(notes, refs...); len(notes) == 0 && staged {
		notes = []string{"index"}
	}
	const limit = 4
	return humanize.List(notes, limit)
}
