package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
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
	limits := places.Surroundings{Roots: roots, System: permission.SystemDirectories(), Env: c.Env}.Limits()
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
	out, err := proc.Here(context.WithoutCancel(ctx), proc.Helper(env.Helper), c, env.tell)
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
	r := tried{env: env, t: t, out: out, found: e, root: directory.Path}
	if err := r.judge(ctx, strings.Join(c.Argv, " "), o.yes); err != nil {
		return err
	}
	if out.Signal != 0 {
		return exitf(128+int(out.Signal), "")
	}
	return exitf(out.Exit, "")
}

// tried is a trial that has ended.
type tried struct {
	env   Env
	t     *trial.Trial
	out   proc.Outcome
	found trial.Effects
	root  string
}

// judge shows what the command did, and keeps it if the user approves.
func (r *tried) judge(ctx context.Context, command string, yes bool) error {
	f := r.effects(command)
	q := approval.Rules{}.Question(tool.Request{
		Declaration: tool.Declaration{Name: "Trial"}, Invocation: tool.Invocation{Description: command, Confirm: f},
	}, tool.Decision{})
	q.Choices = slices.DeleteFunc(q.Choices, func(c approval.Choice) bool { return c.Act == approval.Rerun })
	asks := len(f.Changes) > 0 && len(r.found.Conflicts) == 0 && r.env.Terminal && (!yes || len(f.AllWarnings()) > 0)
	if !asks {
		fmt.Fprint(r.env.Stderr, console.EffectLines(f)+console.Warnings(f.AllWarnings()))
	}
	switch {
	case len(f.Changes) == 0:
		fmt.Fprintln(r.env.Stderr, "Nothing changed.")
		return nil
	case len(r.found.Conflicts) > 0:
		return exitf(exitDenied, "nothing was kept: %s changed since the trial started\nRun the command again.",
			r.name(r.found.Conflicts[0]))
	case yes && len(f.AllWarnings()) == 0:
		return r.keep(ctx, nil)
	case !r.env.Terminal && yes:
		return exitf(exitDenied, "nothing was kept: the warnings above require a prompt\nRun the command in "+
			"a terminal.")
	case !r.env.Terminal:
		return exitf(exitDenied, "nothing was kept: requires approval, and this session is non-interactive\nUse "+
			"--yes to keep the changes without a prompt.")
	}
	d, err := r.env.asker()(ctx, q)
	switch {
	case err != nil:
		return exitf(exitDenied, "nothing was kept")
	case d.Verdict != tool.Allow:
		return exitf(exitDenied, "nothing was kept: discarded %s", humanize.Count(len(f.Changes), "change"))
	}
	var only func(string) bool // nil: all
	if d.Answer != nil {
		var chosen struct{ Keep []string }
		if err := json.Unmarshal(d.Answer, &chosen); err != nil {
			return err
		}
		only = func(path string) bool {
			return slices.ContainsFunc(f.Changes, func(e tool.Effect) bool {
				return e.Abs == path && slices.Contains(chosen.Keep, e.Path)
			})
		}
	}
	return r.keep(ctx, only)
}

// keep keeps changes.
func (r *tried) keep(ctx context.Context, only func(path string) bool) error {
	kept, err := r.t.Keep(ctx, only)
	if errors.Is(err, trial.ErrConflict) {
		return exitf(exitDenied, "nothing was kept: %v\nRun the command again.", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(r.env.Stderr, "Kept %s.\n", humanize.Count(len(kept.Changes), "change"))
	return nil
}

// effects are the content of the permission prompt.
func (r *tried) effects(command string) tool.Effects {
	f := tool.Effects{
		Command: tool.Command{Line: command}, Ending: fmt.Sprintf("exit %d", r.out.Exit), Took: r.out.Duration,
		Network: r.out.Network, Temp: r.found.NotKept,
	}
	if r.out.Signal != 0 {
		f.Ending = r.out.Signal.String()
	}
	warn := func(format string, args ...any) { f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...)) }
	if r.out.Limit != "" {
		warn("it was stopped: %s", r.out.Limit)
	}
	for _, path := range r.out.Hidden {
		warn("it opened a file that may be secret, which looked empty to it: %s", r.name(path))
	}
	for _, s := range r.found.Special {
		warn("%s: %s", r.name(s.Path), s.What)
	}
	if n := r.found.MoreNotKept; n > 0 {
		f.Temp = append(f.Temp, fmt.Sprintf("%d more", n))
	}
	if n := r.found.TooLong; n > 0 {
		f.Temp = append(f.Temp, fmt.Sprintf("%d with paths of over 4,095 characters", n))
	}
	diffs := r.t.Diffs()
	for _, c := range r.found.Changes {
		e := tool.Effect{
			Path: r.name(c.Path), Abs: c.Path, Kind: tool.EffectChanged, Files: 1, Attributes: c.Attributes,
		}
		switch c.Kind {
		case trial.Created:
			e.Kind = tool.EffectNew
		case trial.Deleted:
			e.Kind = tool.EffectDeleted
		}
		if c.IsDir() {
			e.Path, e.Files = e.Path+"/", c.Files
		} else {
			s := diffs.Of(c, e.Path)
			e.Diff, e.Counted, e.Added, e.Removed = s.Diff, s.Counted, s.Lines.AddedLines, s.Lines.RemovedLines
		}
		f.Changes = append(f.Changes, e)
	}
	return f
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
	spec.UnixSockets, spec.Bubblewrap = set.Tools.SandboxUnixSockets, set.Tools.SandboxBackend == project.Bubblewrap
	// What is typed is for the command to answer, and does not end it here.
	out, err := proc.Here(context.WithoutCancel(ctx), proc.Helper(env.Helper), proc.Command{
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
