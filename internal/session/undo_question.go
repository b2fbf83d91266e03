package session

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/undo"
	"github.com/adze-dev/adze/tool"
)

// maxQuoted is how much of a command a question quotes.
const maxQuoted = 40

// ask returns the choice to undo or to redo.
func (s *Session) askUndo(u *Undo) *Choice {
	verb, mark := "undo", "↶ "
	if u.redo > 0 {
		verb, mark = "redo", "↷ "
	}
	list := u.List(s.Folder.Path)
	return &Choice{Title: mark + u.Summary(s.Folder.Path), View: list, Options: []Option{{Key: "y", Text: verb, Run: func(ctx context.Context) (Expansion, error) {
		left, err := u.Apply(ctx)
		if err != nil {
			return Expansion{}, err
		}
		return Expansion{Print: u.done(s.Folder.Path, left)}, nil
	}}}}
}

// Summary is what the undo does, in a line: restores docs/: 42 files that "rm -r docs" removed.
func (u *Undo) Summary(dir string) string {
	todo := files(u.Todo())
	var made, gone int // by the undo
	for _, s := range todo {
		switch s.Verb() {
		case "create":
			made++
		case "delete":
			gone++
		}
	}
	verb, past := "restores", "changed"
	switch {
	case made == len(todo):
		past = "removed"
	case gone == len(todo):
		verb, past = "deletes", "created"
	}
	by := u.quoted(dir)
	if u.redo > 0 {
		return fmt.Sprintf("%s %s: %s again", verb, some(todo, dir), by) + u.stays()
	}
	joint := "that"
	if len(todo) == 1 {
		joint = "which"
	}
	sep := " "
	if len(todo) == 1 {
		sep = ", "
	}
	return fmt.Sprintf("%s %s%s%s %s %s", verb, some(todo, dir), sep, joint, by, past) + u.stays()
}

// files are the steps about files, or all if there are none.
func files(steps []undo.Step) []undo.Step {
	var out []undo.Step
	for _, s := range steps {
		if !s.Now.IsDir() && !s.To.IsDir() {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return steps
	}
	return out
}

// some names the paths of steps: one by its path, several by their directory and number.
func some(steps []undo.Step, dir string) string {
	if len(steps) == 1 {
		return shortPath(steps[0].Path, dir)
	}
	common := filepath.Dir(steps[0].Path)
	for _, s := range steps {
		for common != filepath.Dir(common) && !strings.HasPrefix(s.Path, common+string(filepath.Separator)) {
			common = filepath.Dir(common)
		}
	}
	n := counted(len(steps), "file")
	if rel := shortPath(common, dir); rel != "." {
		return rel + "/: " + n
	}
	return n
}

// quoted names the calls.
func (u *Undo) quoted(dir string) string {
	if len(u.Calls) != 1 {
		return counted(len(u.Calls), "call")
	}
	name := u.Calls[0].Title
	if target := u.Calls[0].Target; target != "" {
		name = target
		if filepath.IsAbs(target) {
			name = u.Calls[0].Name + " " + shortPath(target, dir)
		}
	}
	return `"` + clip(tool.Visible(name), maxQuoted) + `"`
}

// stays says how many paths are left alone.
func (u *Undo) stays() string {
	if len(u.Left) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s changed since and left alone", counted(len(u.Left), "path"))
}

// done says what was restored.
func (u *Undo) done(dir string, left []undo.Left) string {
	verb := "Undone"
	if u.redo > 0 {
		verb = "Redone"
	}
	text := fmt.Sprintf("%s: %s restored.", verb, counted(len(u.Todo())-len(left)+len(u.Left), "path"))
	for _, l := range left {
		text += "\n" + strings.TrimRight(LeftLine(l, dir), "\n")
	}
	return text
}
