package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// trialRun runs a command in a trial, shows its effects and asks whether to keep them.
func trialRun(ctx context.Context, env Env, o *options, directory project.Directory, c proc.Command,
	write []string) (err error) {
	layers, roots, err := directory.Trials(write, c.Env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()
	if ok, why := layers.Supported(); !ok {
		return exitf(exitError, "run a trial: %s\nUse another --mode, such as workspace.", why)
	}
	limits := sandbox.Surroundings{Roots: roots, System: permission.SystemDirectories(), Env: c.Env}.Limits()
	own := []string{project.Canonical(directory.Home)}
	if _, inside := names.Within(roots[0], own); inside {
		own = nil
	}
	finder := secretfiles.New(secretfiles.Options{Roots: roots, Omit: own})
	hide, ok := finder.List(10 * time.Second)
	finder.Close()
	if !ok {
		return exitf(exitError, "run a trial: find secret files: %s", finder.Problem())
	}
	t, err := layers.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Drop()) }()
	c.Sandbox = t.Spec(limits, append(sandbox.Closed.Cover(own...), sandbox.Empty.Cover(hide...)...)...)
	out, err := proc.Here(context.WithoutCancel(ctx), env.Helper, c, env.tell)
	if errors.Is(err, exec.ErrNotFound) {
		return exitf(127, "%v", err)
	}
	if err != nil {
		return err
	}
	e, err := t.Effects(ctx)
	if err != nil {
		return err
	}
	r := tried{env: env, t: t, out: out, effects: e, root: directory.Path}
	if err := r.judge(ctx, o.yes); err != nil {
		return err
	}
	if out.Signal != 0 {
		return exitf(128+int(out.Signal), "")
	}
	return exitf(out.Exit, "")
}

// tried is a trial that has ended.
type tried struct {
	env     Env
	t       *trial.Trial
	out     proc.Outcome
	effects trial.Effects
	root    string
}

func (r *tried) say(format string, args ...any) {
	fmt.Fprintln(r.env.Stderr, tool.Visible(fmt.Sprintf(format, args...)))
}

// judge shows the effects and keeps them if the user approves.
func (r *tried) judge(ctx context.Context, yes bool) error {
	r.show()
	switch {
	case r.effects.None():
		return nil
	case len(r.effects.Conflicts) > 0:
		return exitf(exitDenied, "nothing was kept: %s changed since the trial started\nRun the command again.",
			r.name(r.effects.Conflicts[0]))
	case yes && r.out.Limit == "" && len(r.effects.Special) == 0 && len(r.out.Hidden) == 0:
		return r.keep(ctx, nil)
	case !r.env.Terminal && yes:
		return exitf(exitDenied, "nothing was kept: the warnings above require a prompt\nRun the command in "+
			"a terminal.")
	case !r.env.Terminal:
		return exitf(exitDenied, "nothing was kept: requires approval, and this session is non-interactive\nUse "+
			"--yes to keep the changes without a prompt.")
	}
	in := newAnswers(r.env.Stdin)
	for {
		answer, err := prompt(ctx, r.env.Stderr, in, "Keep? y keep, f choose files, d discard, v diff: ")
		if err != nil {
			return exitf(exitDenied, "nothing was kept")
		}
		switch {
		case approval.IsYes(answer):
			return r.keep(ctx, nil)
		case answer == "v":
			r.diffs()
		case answer == "f":
			chosen, err := r.choose(ctx, in)
			if err != nil {
				return err
			}
			return r.keep(ctx, chosen)
		case answer == "d" || answer == "n":
			return exitf(exitDenied, "nothing was kept: discarded %s", humanize.Count(len(r.effects.Changes), "change"))
		}
	}
}

// keep keeps changes: all of them if chosen is nil.
func (r *tried) keep(ctx context.Context, chosen map[string]bool) error {
	var only func(string) bool
	if chosen != nil {
		only = func(path string) bool { return chosen[path] }
	}
	kept, err := r.t.Keep(ctx, only)
	if errors.Is(err, trial.ErrConflict) {
		return exitf(exitDenied, "nothing was kept: %v\nRun the command again.", err)
	}
	if err != nil {
		return err
	}
	r.say("Kept %s.", humanize.Count(len(kept.Changes), "change"))
	return nil
}

// choose asks about each change.
func (r *tried) choose(ctx context.Context, in answers) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, c := range r.effects.Changes {
		answer, err := prompt(ctx, r.env.Stderr, in,
			tool.Visible(fmt.Sprintf("Keep %s %s? [y/N] ", c.Kind, r.name(c.Path))))
		if err != nil {
			return nil, exitf(exitDenied, "nothing was kept")
		}
		chosen[c.Path] = approval.IsYes(answer)
	}
	return chosen, nil
}

// show lists the effects.
func (r *tried) show() {
	if r.out.Limit != "" {
		r.say("The command was stopped: %s.", r.out.Limit)
	}
	for _, row := range (tool.Effects{Network: r.out.Network}).Rows() {
		r.say("Denied %s", strings.Join(row.Cells, ", "))
	}
	for _, path := range r.out.Hidden {
		r.say("Hidden file opened, it looked empty: %s", r.name(path))
	}
	if n := len(r.effects.NotKept); n > 0 {
		more := ""
		if r.effects.MoreNotKept > 0 {
			more = fmt.Sprintf(" and %d more", r.effects.MoreNotKept)
		}
		r.say("Not kept: %s%s", strings.Join(r.effects.NotKept, ", "), more)
	}
	if n := r.effects.TooLong; n > 0 {
		r.say("Not kept: directories that are too deep (%d with paths of over 4,095 characters)", n)
	}
	if r.effects.None() {
		r.say("Nothing changed.")
		return
	}
	r.say("Nothing is kept yet:")
	const limit = 50
	for i, c := range r.effects.Changes {
		if i == limit {
			r.say("  … %d more", len(r.effects.Changes)-limit)
			break
		}
		r.say("  %-9s %s", c.Kind, r.line(c))
	}
	for _, s := range r.effects.Special {
		r.say("Warning: %s: %s", r.name(s.Path), s.What)
	}
}

// line is a change in words.
func (r *tried) line(c trial.Change) string {
	text := r.name(c.Path)
	switch {
	case c.IsDir():
		text += fmt.Sprintf("/ (%s)", humanize.Count(c.Files, "file"))
	case c.Kind == trial.Created || c.Kind == trial.Changed:
		if old, now, ok := r.texts(c); ok {
			s := edit.Compare(old, now).Stat()
			text += fmt.Sprintf("  +%d −%d", s.AddedLines, s.RemovedLines)
		}
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}

// texts is a file before and after, if it is text.
func (r *tried) texts(c trial.Change) (old, now string, ok bool) {
	const largest = 1 << 20
	if c.IsDir() || c.Old.Size > largest || c.New.Size > largest {
		return "", "", false
	}
	if c.Kind != trial.Created {
		b, err := r.t.Before(c.Path)
		if err != nil {
			return "", "", false
		}
		old = string(b)
	}
	if c.Kind != trial.Deleted {
		b, err := r.t.After(c.Path)
		if err != nil {
			return "", "", false
		}
		now = string(b)
	}
	return old, now, utf8.ValidString(old+now) && !strings.ContainsRune(old+now, 0)
}

// diffs shows what changed in text files.
func (r *tried) diffs() {
	for _, c := range r.effects.Changes {
		if old, now, ok := r.texts(c); ok {
			r.say("%s", strings.TrimRight(edit.Compare(old, now).Unified("a/"+r.name(c.Path), "b/"+r.name(c.Path)),
				"\n"))
		}
	}
}

// name is a path as the user writes it.
func (r *tried) name(path string) string { return names.Short(path, r.root) }

// sandboxRun runs a command in a sandbox with the user's settings and terminal.
func sandboxRun(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze sandbox run [--mode MODE] [--backend NAME] -- COMMAND [ARGUMENTS]")
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return err
	}
	set, _, err := directory.Settings(settingFlags(o)...)
	if err != nil {
		return err
	}
	mode := sandbox.Workspace
	environ := os.Environ()
	switch o.tryMode {
	case "":
	case string(sandbox.Trial):
		return trialRun(ctx, env, o, directory, proc.Command{Argv: words, Dir: directory.Path, Env: environ},
			directory.SandboxWrite(set.Tools))
	default:
		if mode, err = sandbox.ParseMode(o.tryMode); err != nil {
			return usagef("--mode: %v", err)
		}
	}
	base, _ := directory.SandboxBase(directory.SandboxWrite(set.Tools), environ)
	spec := base.Spec(mode)
	base.Settle()
	spec.UnixSockets, spec.Bubblewrap = set.Tools.SandboxUnixSockets, set.Tools.SandboxBackend == session.Bubblewrap
	// What is typed is for the command to answer, and does not end it here.
	out, err := proc.Here(context.WithoutCancel(ctx), env.Helper, proc.Command{
		Argv: words, Dir: directory.Path, Env: environ, Sandbox: spec,
	}, env.tell)
	if mode == sandbox.Workspace || mode == sandbox.WorkspaceNetwork {
		for _, note := range base.Aside(filepath.Join(directory.Home, "aside")) {
			env.tell(tool.Visible(note))
		}
	}
	if errors.Is(err, exec.ErrNotFound) {
		return exitf(127, "%v", err) // as shells have it
	}
	if err != nil {
		return err
	}
	if out.Signal != 0 {
		return exitf(128+int(out.Signal), "")
	}
	return exitf(out.Exit, "")
}
