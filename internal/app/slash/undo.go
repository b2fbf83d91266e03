package slash

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// UndoList shows every path and its change. Paths in dir are relative.
func UndoList(u *record.Undo, dir string) string {
	verb := "Undo"
	if u.Redo > 0 {
		verb = "Redo"
	}
	var b strings.Builder
	for _, c := range u.Calls {
		fmt.Fprintf(&b, "%s %s of session %s: %s\n", verb, tool.Visible(c.ID), u.ID[:8],
			humanize.Line(tool.Visible(c.Title), 80))
	}
	done := 0
	for _, s := range u.Steps {
		if s.Now == s.To {
			done++
			continue
		}
		note := ""
		switch {
		case s.Forced:
			note = " (changed since; its content is saved)"
		case s.Merged:
			note = " (changed since; those lines stay)"
		}
		fmt.Fprintf(&b, "  %-8s %s%s\n", s.Verb(), shortPath(s.Path, dir), note)
	}
	if done > 0 {
		fmt.Fprintf(&b, "  already restored: %d\n", done)
	}
	for _, l := range u.Left {
		b.WriteString(LeftLine(l, dir))
	}
	return b.String()
}

// LeftLine returns the line for a skipped path.
func LeftLine(l undo.Left, dir string) string {
	if l.Lost {
		return fmt.Sprintf("  lost     %s: %s\n", shortPath(l.Path, dir), tool.Visible(l.Why))
	}
	return fmt.Sprintf("  leave    %s: %s\n", shortPath(l.Path, dir), tool.Visible(l.Why))
}

// LeftText returns how many paths were skipped, and what helps.
func LeftText(left []undo.Left) string {
	var lost, changed int
	for _, l := range left {
		if l.Lost {
			lost++
		} else if l.Changed {
			changed++
		}
	}
	var parts []string
	if lost > 0 {
		parts = append(parts, humanize.Count(lost, "path")+" can't be restored")
	}
	if n := len(left) - lost; n > 0 {
		parts = append(parts, humanize.Count(n, "path")+" left alone")
	}
	text := strings.Join(parts, ", ")
	if changed > 0 {
		text += "\nUse --force to restore what changed since; the current content is saved first"
	}
	return text
}

// shortPath returns a path relative to a directory, if it is inside.
func shortPath(path, dir string) string {
	// so that a name can't look like another line
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(tool.Visible(names.Short(path, dir)))
}

// undoWords are the arguments of /undo.
const undoWords = "[--call ID|--turn N|--all] [--force] [--yes] [-- PATH…]"

func slashUndo(ctx context.Context, s *session.Session, words string) (Expansion, error) {
	return undoOrRedo(ctx, s, "undo", words, record.Selection{})
}

func slashRedo(ctx context.Context, s *session.Session, words string) (Expansion, error) {
	return undoOrRedo(ctx, s, "redo", words, record.Selection{Redo: true})
}

// undoOrRedo lists what an undo or a redo would do, and does it with --yes.
func undoOrRedo(ctx context.Context, s *session.Session, name, words string, sel record.Selection) (Expansion, error) {
	yes, err := readUndo(&sel, splitQuoted(words))
	if err != nil {
		return Expansion{}, err
	}
	for i, path := range sel.Paths {
		sel.Paths[i] = s.Directory.Journaled(path)
	}
	u, err := s.Effects.Undo(sel)
	if err != nil {
		return Expansion{}, errorf("%v", err)
	}
	list := UndoList(u, s.Directory.Path)
	if !yes && len(u.Todo()) > 0 {
		again := strings.TrimSpace("/"+name+" "+words) + " --yes"
		if sel.Paths != nil {
			again = "/" + name + " --yes " + words
		}
		return Expansion{Choice: askUndo(u, s.Directory.Path), Print: list + "Type '" + again + "' to continue."}, nil
	}
	left, err := u.Apply(ctx)
	if err != nil {
		return Expansion{}, err
	}
	for _, l := range left[len(u.Left):] { // the others are listed already
		list += LeftLine(l, s.Directory.Path)
	}
	if len(left) > 0 {
		return Expansion{Print: list + LeftText(left) + "."}, nil
	}
	return Expansion{Print: list + "All restored."}, nil
}

// readUndo reads the arguments of /undo and /redo.
func readUndo(sel *record.Selection, words []string) (yes bool, err error) {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "--":
			sel.Paths, words = words, nil
		case word == "--yes":
			yes = true
		case word == "--force":
			sel.Force = true
		case word == "--all" && !sel.Redo:
			sel.All = true
		case word == "--call" && !sel.Redo && len(words) > 0:
			sel.Call, words = words[0], words[1:]
		case word == "--turn" && !sel.Redo && len(words) > 0:
			if sel.Turn, err = strconv.Atoi(words[0]); err != nil || sel.Turn < 1 {
				return false, errorf("--turn: expected a number above 0, got %q", words[0])
			}
			words = words[1:]
		default:
			return false, errorf("unknown word %q\nUsage: /undo %s, /redo [--force] [--yes] [-- PATH…]", word,
				undoWords)
		}
	}
	return yes, nil
}

// maxQuoted is the maximum length of a command that a question quotes.
const maxQuoted = 40

// askUndo returns the choice to undo or to redo.
func askUndo(u *record.Undo, dir string) *Choice {
	verb, mark := "undo", "↶ "
	if u.Redo > 0 {
		verb, mark = "redo", "↷ "
	}
	return &Choice{Title: mark + undoSummary(u, dir), View: UndoList(u, dir),
		Options: []Option{{Key: "y", Text: verb, Run: func(ctx context.Context) (Expansion, error) {
			left, err := u.Apply(ctx)
			if err != nil {
				return Expansion{}, err
			}
			return Expansion{Print: done(u, dir, left)}, nil
		}}}}
}

// undoSummary describes the undo in a line: restores docs/: 42 files that "rm -r docs" removed.
func undoSummary(u *record.Undo, dir string) string {
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
	by := quoted(u, dir)
	if u.Redo > 0 {
		return fmt.Sprintf("%s %s: %s again", verb, some(todo, dir), by) + stays(u)
	}
	joint := "that"
	if len(todo) == 1 {
		joint = "which"
	}
	sep := " "
	if len(todo) == 1 {
		sep = ", "
	}
	return fmt.Sprintf("%s %s%s%s %s %s", verb, some(todo, dir), sep, joint, by, past) + stays(u)
}

// files returns the steps about files, or all if there are none.
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

// some names the paths of steps: a single one by its path, several by their directory and number.
func some(steps []undo.Step, dir string) string {
	if len(steps) == 1 {
		return shortPath(steps[0].Path, dir)
	}
	common := filepath.Dir(steps[0].Path)
	for _, s := range steps {
		for common != filepath.Dir(common) && !names.Below(filepath.Dir(s.Path), common) {
			common = filepath.Dir(common)
		}
	}
	n := humanize.Count(len(steps), "file")
	if rel := shortPath(common, dir); rel != "." {
		return rel + "/: " + n
	}
	return n
}

// quoted names the calls.
func quoted(u *record.Undo, dir string) string {
	if len(u.Calls) != 1 {
		return humanize.Count(len(u.Calls), "call")
	}
	name := u.Calls[0].Title
	if target := u.Calls[0].Target; target != "" {
		name = target
		if filepath.IsAbs(target) {
			name = u.Calls[0].Name + " " + shortPath(target, dir)
		}
	}
	return `"` + humanize.Line(tool.Visible(name), maxQuoted) + `"`
}

// stays describes how many paths are skipped.
func stays(u *record.Undo) string {
	if len(u.Left) == 0 {
		return ""
	}
	return "; " + strings.SplitN(LeftText(u.Left), "\n", 2)[0]
}

// done describes what was restored.
func done(u *record.Undo, dir string, left []undo.Left) string {
	verb := "Undone"
	if u.Redo > 0 {
		verb = "Redone"
	}
	return fmt.Sprintf("%s: %s restored.", verb, humanize.Count(restored(u, left), "file")) + leftLines(left, dir)
}

// restored returns how many files an undo restored, if these were skipped.
func restored(u *record.Undo, left []undo.Left) int {
	skipped := map[string]bool{}
	for _, l := range left {
		skipped[l.Path] = true
	}
	n := 0
	for _, step := range files(u.Todo()) {
		if !skipped[step.Path] {
			n++
		}
	}
	return n
}

// leftLines lists skipped paths, each after a newline.
func leftLines(left []undo.Left, dir string) string {
	text := ""
	for _, l := range left {
		text += "\n" + strings.TrimRight(LeftLine(l, dir), "\n")
	}
	return text
}
