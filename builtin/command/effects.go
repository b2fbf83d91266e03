package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// effects returns the content of the permission prompt.
func (r *triedCall) effects() tool.Effects {
	o := r.outcome
	out := tool.Effects{
		Command: tool.Command{
			Line: r.request.Command, Shell: r.shell.OtherShell(), Directory: r.command.Dir, Purpose: r.request.Purpose,
		},
		Ending: r.ending(), Took: o.Duration, Output: cmp.Or(o.Output.Tail, o.Output.Head), Network: o.Network,
		Hosts: r.network.hosts(), Temp: r.found.NotKept,
		Blocked: o.Suspect != "" || o.Limit != "" || o.Ended != proc.Exited || len(o.Hidden) > 0,
	}
	folded := map[string]int{}
	diffs := r.trial.Diffs()
	for _, c := range r.found.Changes {
		if c.TimeOnly { // rewritten with the same content
			continue
		}
		if dir, ignored := r.fold(c); dir != "" {
			i, ok := folded[dir]
			if !ok {
				i = len(out.Changes)
				folded[dir] = i
				out.Changes = append(out.Changes, tool.Effect{
					Path: r.short(dir) + "/", Abs: dir, Kind: tool.EffectChanged, Ignored: ignored,
				})
			}
			f := &out.Changes[i]
			f.Files += max(1, c.Files)
			if c.Path == dir {
				f.Kind = kindOf(c)
			}
			if ignored {
				f.Inside = append(f.Inside, r.inside(c, diffs)...)
			}
			continue
		}
		out.Changes = append(out.Changes, r.effect(c, diffs))
	}
	for dir, i := range folded {
		if filepath.Base(dir) == ".git" {
			out.Changes[i].Note = r.gitNote(dir)
		}
	}
	sort.SliceStable(out.Changes, func(i, j int) bool { return out.Changes[i].Path < out.Changes[j].Path })
	r.warn(&out)
	return out
}

// fold returns the directory that represents a change in the prompt: a git directory, or one that git ignores. "": the
// change itself is shown.
func (r *triedCall) fold(c trial.Change) (dir string, ignored bool) {
	root := r.rootOf(c.Path)
	if root == "" {
		return "", false
	}
	rel, _ := names.Rel(c.Path, root)
	at := root
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i, name := range parts {
		at = filepath.Join(at, name)
		if i == len(parts)-1 && !c.IsDir() {
			break
		}
		if name == ".git" {
			return at, false
		}
		if r.shell.ignore.Check(at, ignore.Directory).State == ignore.Hidden {
			return at, true
		}
	}
	return "", false
}

// rootOf returns the workspace root that contains a path; "": none.
func (r *triedCall) rootOf(path string) string {
	root, _ := names.Within(path, r.shell.ws.Roots())
	return root
}

// short returns a path for users: relative to the project, if it is in the project.
func (r *triedCall) short(path string) string { return names.Short(path, r.shell.ws.Project()) }

func kindOf(c trial.Change) tool.EffectKind {
	switch c.Kind {
	case trial.Created:
		return tool.EffectNew
	case trial.Deleted:
		return tool.EffectDeleted
	}
	return tool.EffectChanged
}

// effect returns one change, with its diff if there is room.
func (r *triedCall) effect(c trial.Change, diffs *trial.Diffs) tool.Effect {
	e := tool.Effect{Path: r.short(c.Path), Abs: c.Path, Kind: kindOf(c), Files: 1, Attributes: c.Attributes}
	if c.IsDir() {
		e.Path += "/"
		e.Files, e.Inside = c.Files, r.inside(c, diffs)
		return e
	}
	made := c.Kind == trial.Created || c.Kind == trial.Replaced
	switch {
	case c.New.Target != "" && c.Kind != trial.ModeOnly:
		e.Attributes = "link to " + c.New.Target
	case made && c.New.Mode.IsRegular() && c.New.Mode&0o111 != 0:
		e.Attributes = fmt.Sprintf("mode %04o", c.New.Mode.Perm())
	}
	s := diffs.Of(c, e.Path)
	e.Diff, e.Counted, e.Added, e.Removed = s.Diff, s.Counted, s.Lines.AddedLines, s.Lines.RemovedLines
	e.Original, e.New = s.Before, s.After
	return e
}

// inside returns the files of a new directory, with their diffs as far as there is room.
func (r *triedCall) inside(c trial.Change, diffs *trial.Diffs) []tool.Effect {
	var out []tool.Effect
	for _, f := range c.Inside {
		out = append(out, r.effect(f, diffs))
	}
	return out
}

// maxWarnings is the maximum number of warnings about single paths.
const maxWarnings = 20

// warn adds warnings for the user.
func (r *triedCall) warn(out *tool.Effects) {
	for i, s := range r.found.Special {
		j := slices.IndexFunc(out.Changes, func(e tool.Effect) bool { return e.Abs == s.Path })
		switch dir, ok := r.holder(out.Changes, s.Path); {
		case j >= 0:
			out.Changes[j].Warning = special(s.What)
		case ok && filepath.Base(out.Changes[dir].Abs) == ".git":
			out.Changes[dir].Warning = "is git's own directory"
		case i < maxWarnings:
			out.Warnings = append(out.Warnings, r.short(s.Path)+" "+special(s.What))
		}
	}
	o := r.outcome
	if n := len(o.Hidden); n > 0 && len(out.Changes) > 0 {
		var hidden []string
		for _, path := range o.Hidden[:min(n, 5)] {
			hidden = append(hidden, r.short(path))
		}
		out.Warnings = append(out.Warnings, "it opened files that may be secret, which looked empty to it: "+
			strings.Join(hidden, ", "))
	}
	if len(r.late) > 0 {
		out.Warnings = append(out.Warnings, lateNote(r.late, r.shell.ws.Project()))
	}
	if o.Limit != "" {
		out.Warnings = append(out.Warnings, "it was stopped: "+o.Limit)
	}
	if why := r.blocked(); len(out.Changes) == 0 && why != "" {
		out.Warnings = append(out.Warnings, "it can't run in a trial: "+why)
	}
	out.Warnings = append(out.Warnings, hiddenIn(r.request)...)
}

// holder returns the change of the directory that contains a path.
func (r *triedCall) holder(changes []tool.Effect, path string) (int, bool) {
	i := slices.IndexFunc(changes, func(e tool.Effect) bool {
		return names.Below(path, e.Abs) && strings.HasSuffix(e.Path, "/")
	})
	return i, i >= 0
}

// specials returns a line for the model about changes that only the user can approve, or "".
func (r *triedCall) specials() string {
	const limit = 3
	var out []string
	for _, s := range r.found.Special {
		out = append(out, r.short(s.Path)+" "+special(s.What))
	}
	if len(out) == 0 {
		return ""
	}
	return "Requires the user's approval: " + tool.Visible(humanize.List(out, limit)) + "."
}

// special describes what is special about a path.
func special(what string) string {
	switch what {
	case "protected":
		return "is a protected name"
	case "instructions":
		return "has instructions for agents"
	case "setuid", "setgid":
		return "has a " + what + " bit"
	case "too deep":
		return "contains directories that are too deep to check"
	}
	return "is a " + what
}
