package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
)

// undoOptions is what the command line says about an undo.
type undoOptions struct {
	session      string
	call         string
	turn         int
	conversation bool
	force        bool
	stat         bool // of a diff
}

func undoFlags(o *options) []flag {
	const both = "undo redo"
	return []flag{
		{long: "session", value: "ID", noun: aSession, on: both + " diff",
			about: "session; 4 or more characters of its ID are enough (default: the newest of this directory)",
			to:    text(&o.undo.session)},
		{long: "call", value: "ID", on: "undo", about: "undo one call",
			to: text(&o.undo.call)},
		{long: "turn", value: "N", on: "undo", about: "undo all calls of a turn",
			to: func(v string) error {
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 {
					return fmt.Errorf("expected a number above 0, got %q", v)
				}
				o.undo.turn = n
				return nil
			}},
		{long: "conversation", on: "undo", about: "remove the turn and everything after it from the conversation too",
			to: yes(&o.undo.conversation)},
		{long: "force", on: both, about: "also restore files that changed since; their current content is saved first",
			to: yes(&o.undo.force)},
		{long: "stat", on: "diff", about: "only list the files, with how many lines were added and removed",
			to: yes(&o.undo.stat)},
	}
}

func runUndo(ctx context.Context, env Env, o *options, words []string) error {
	if err := onlyPaths(o, words); err != nil {
		return err
	}
	u := o.undo
	n := 0
	for _, given := range []bool{u.call != "", u.turn > 0, o.record.all} {
		if given {
			n++
		}
	}
	if n > 1 {
		return usagef("use only one of --call, --turn and --all")
	}
	return undoOrRedo(ctx, env, o, record.Selection{
		Call: u.call, Turn: u.turn, All: o.record.all, Conversation: u.conversation, Force: u.force,
	})
}

// onlyPaths returns a usage error for words that aren't paths after --.
func onlyPaths(o *options, words []string) error {
	if len(words) > len(o.paths) {
		return usagef("unexpected word %q\nPaths come after --, as in 'adze undo -- src/a.go'.", words[0])
	}
	return nil
}

func runRedo(ctx context.Context, env Env, o *options, words []string) error {
	if err := onlyPaths(o, words); err != nil {
		return err
	}
	return undoOrRedo(ctx, env, o, record.Selection{Redo: true, Force: o.undo.force})
}

// undoOrRedo lists what an undo or a redo changes, asks, and does it.
func undoOrRedo(ctx context.Context, env Env, o *options, sel record.Selection) (err error) {
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	sel.Paths = pathsOf(directory, o)
	id, err := undoSession(directory, o)
	if err != nil {
		return err
	}
	u, err := record.Of(directory).OpenUndo(id, sel, env.Environ)
	if err != nil {
		return undoError(id, err)
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	verb := "Undo"
	if sel.Redo {
		verb = "Redo"
	}
	fmt.Fprint(env.Stdout, slash.UndoList(u, directory.Path))
	if o.dryRun {
		return leftAlone(u.Left)
	}
	todo := len(u.Todo())
	if todo == 0 && slices.ContainsFunc(u.Left, func(l undo.Left) bool { return !l.Lost }) {
		return leftAlone(u.Left)
	}
	if todo > 0 && !o.yes {
		if err := confirm(ctx, env, fmt.Sprintf("%s %s?", verb, humanize.Count(todo, "change")),
			strings.ToLower(verb)); err != nil {
			return err
		}
	}
	left, err := u.Apply(ctx)
	if err != nil {
		return err
	}
	for _, l := range left[len(u.Left):] { // the others are listed
		fmt.Fprint(env.Stdout, slash.LeftLine(l, directory.Path))
	}
	fmt.Fprintf(env.Stdout, "%s restored.\n", humanize.Count(todo-len(left)+len(u.Left), "path"))
	return leftAlone(left)
}

// undoSession is the session that the command is about.
func undoSession(directory project.Directory, o *options) (string, error) {
	if o.undo.session != "" {
		id, err := record.Of(directory).Find(o.undo.session)
		if err != nil {
			return "", record.SessionError(err)
		}
		return id, nil
	}
	all, err := record.Of(directory).Recorded(false)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", exitf(exitError, "no recorded session in %s\nSee 'adze session list --all', and use --session ID.",
			directory.Path)
	}
	return all[0].ID, nil
}

func undoError(id string, err error) error {
	var nothing *record.NothingError
	var used *journal.InUseError
	switch {
	case errors.As(err, &nothing):
		return exitf(exitError, "%v in session %s", err, id[:8])
	case errors.As(err, &used):
		return exitf(exitInput, "%v\nClose it there first.", err)
	case errors.Is(err, project.ErrSession):
		return err
	}
	return record.SessionError(err)
}

// leftAlone is the error for paths that were left alone or can't be restored.
func leftAlone(left []undo.Left) error {
	if len(left) == 0 {
		return nil
	}
	return exitf(exitDenied, "%s", slash.LeftText(left))
}

// confirm asks the user.
func confirm(ctx context.Context, env Env, question, what string) error {
	if !env.Terminal {
		return exitf(exitDenied, "%s needs a terminal\nUse --yes to continue without a prompt.", what)
	}
	answer, err := tty.Prompt(ctx, env.Stderr, tty.NewAnswers(env.Stdin), question+" [y/N] ")
	if err != nil || !approval.IsYes(answer) {
		return exitf(exitDenied, "not confirmed; nothing was changed")
	}
	return nil
}
