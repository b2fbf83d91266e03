package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/gitwork"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// opening is the access that a git command needs to paths that its workspace sandbox protects. The user is asked before
// it runs: a checkout that fails halfway leaves a mix of two versions.
type opening struct {
	paths    []string // protected paths that become writable for this command
	access   []tool.Access
	creates  []string // git directories that it creates
	warnings []string
	notes    []string // for the model
}

// opening determines what the git commands of a line need. It runs git, in a read-only sandbox.
func (s *Shell) opening(ctx context.Context, line, dir string) (opening, error) {
	if mode := s.sandboxes.mode; mode != sandbox.Workspace && mode != sandbox.WorkspaceNetwork ||
		!strings.Contains(line, "git") {
		return opening{}, nil
	}
	script, err := s.sandboxes.Lines.Read(line, bash.Options{Dir: dir, Home: s.sandboxes.Home})
	if err != nil {
		return opening{}, nil // it can't be checked, which policy reports
	}
	calls, others := gitCalls(script)
	if len(calls) == 0 {
		return opening{}, nil
	}
	o := &openingOf{shell: s, ctx: ctx, known: map[string]gitAnswer{}}
	changed := false
	for _, c := range calls {
		if c.Dir == "" {
			c.Dir = dir
		}
		others = others || c.Settings || gitwork.Runs(c.Args)
		o.add(c.Args, gitwork.Of(gitwork.Call{
			Dir: c.Dir, Args: c.Args, Literal: c.Literal, Later: changed, Global: s.sandboxes.globalGit(),
		}, o.git))
		changed = changed || gitwork.Known(c.Args[0])
	}
	if others && o.ofGit != "" {
		return opening{}, tool.BadParam("command", "%s, which the sandbox protects, so nothing else may run in the "+
			"same command. Run it in a separate call", o.ofGit)
	}
	if others && len(o.paths) > 0 {
		o.warnings = append(o.warnings, "every program of this command can change them")
	}
	return o.opening, ctx.Err()
}

// openingOf determines an opening.
type openingOf struct {
	opening
	shell   *Shell
	ctx     context.Context
	roots   []string
	protect []string
	ofGit   string // what a command changes in a git directory
	known   map[string]gitAnswer
}

// gitAnswer is the output of git.
type gitAnswer struct {
	text string
	err  error
}

// git runs git in a read-only sandbox and returns its output. Equal questions are asked once.
func (o *openingOf) git(dir string, args ...string) (string, error) {
	line := "exec git -c diff.autoRefreshIndex=true" // otherwise every file of a copied repository counts as changed
	for _, a := range args {
		line += " " + shellwords.Quote(a)
	}
	key := dir + "\x00" + line
	a, ok := o.known[key]
	if !ok {
		a.text, a.err = o.run(dir, line)
		o.known[key] = a
	}
	return a.text, a.err
}

func (o *openingOf) run(dir, line string) (string, error) {
	var out bytes.Buffer
	c := proc.Command{
		Line: line + " 2>/dev/null", Dir: dir, Env: o.shell.sandboxes.unapproved().short,
		Sandbox: o.shell.sandboxes.spec(sandbox.ReadOnly), Timeout: 30 * time.Second, Spill: &out,
	}
	p, err := o.shell.runner.Start(o.ctx, c)
	if err != nil {
		return "", err
	}
	if r := p.Wait(); r.Ended != proc.Exited || r.Exit != 0 || r.Output.SpillErr != nil {
		return "", errors.New("git failed")
	}
	return out.String(), nil
}

// add adds what one git command needs.
func (o *openingOf) add(args []string, e gitwork.Effect) {
	if e.None() {
		return
	}
	if o.roots == nil {
		o.roots, o.protect = o.shell.sandboxes.base().Roots(), o.shell.sandboxes.spec(o.shell.sandboxes.mode).Protect
	}
	name := "git " + args[0]
	var files, ofGit []string
	changed := e.Files
	for _, c := range e.Config {
		changed = append(changed, c.File)
	}
	for _, p := range o.protect {
		switch {
		case inGit(p) && slices.ContainsFunc(e.Git, func(g string) bool { return g != "" && names.Below(p, g) }):
			ofGit = append(ofGit, p)
		case inGit(p) && keysOf(e, p) != nil,
			slices.ContainsFunc(e.Creates, func(c string) bool { return names.Below(p, c) }):
			ofGit = append(ofGit, p)
		case slices.ContainsFunc(changed, func(f string) bool {
			return names.Below(p, f) && !o.own(p, e) || names.Below(f, p) && !inGit(p)
		}):
			files = append(files, p)
		case e.Unseen && !inGit(p) && !exists(p) && filepath.Base(p) != ".git" && names.Below(p, e.Top):
			files = append(files, p)
		}
	}
	if e.Tracked {
		files = append(files, o.tracked(e.Top, files)...)
	}
	for _, m := range e.Moves {
		files = append(files, o.between(m, files)...)
	}
	if len(ofGit) > 0 || len(e.Creates) > 0 {
		o.inGit(name, ofGit, e)
	}
	if len(files) > 0 {
		o.open(files)
		may := "changes "
		if e.Tracked || e.Unseen {
			may = "may change "
		}
		o.warnings = append(o.warnings, name+" "+may+o.list(files)+", which the sandbox protects")
		if e.Unseen && args[0] == "pull" {
			o.notes = append(o.notes, "What git pull changes isn't known before it runs. Run git fetch and then git "+
				"merge FETCH_HEAD: they need approval only if they change protected files.")
		}
	}
}

// inGit adds what a command changes in git directories.
func (o *openingOf) inGit(name string, paths []string, e gitwork.Effect) {
	var changes, runs []string
	for _, c := range e.Creates {
		if slices.ContainsFunc(o.roots, func(r string) bool { return names.Below(c, r) }) {
			changes = append(changes, "creates "+names.Short(c, o.roots...))
			if len(e.Copies) > 0 {
				changes = append(changes, "copies "+strings.Join(e.Copies, " and "))
			}
			o.access = append(o.access, tool.Access{Verb: tool.Writes, Target: c + "/"})
			o.creates = append(o.creates, c)
		}
	}
	for _, p := range paths {
		switch {
		case keysOf(e, p) != nil:
			keys := keysOf(e, p)
			changes = append(changes, "changes "+names.Short(p, o.roots...)+" ("+strings.Join(keys, ", ")+")")
			runs = append(runs, slices.DeleteFunc(slices.Clone(keys),
				func(k string) bool { return !gitwork.RunsPrograms(k) })...)
		case !slices.ContainsFunc(e.Creates, func(c string) bool { return names.Below(p, c) }):
			if dir := "changes " + names.Short(filepath.Dir(p), o.roots...); !slices.Contains(changes, dir) {
				changes = append(changes, dir)
			}
		}
	}
	if len(changes) == 0 {
		return
	}
	o.open(paths)
	if o.ofGit == "" && len(paths) > 0 {
		o.ofGit = name + " " + strings.Join(changes, " and ")
	}
	o.warnings = append(o.warnings, name+" "+strings.Join(changes, " and "))
	if len(runs) > 0 {
		o.warnings = append(o.warnings, strings.Join(runs, ", ")+" can make git run programs")
	}
}

// keysOf returns the settings that a command changes in a file.
func keysOf(e gitwork.Effect, file string) []string {
	for _, c := range e.Config {
		if c.File == file {
			return c.Keys
		}
	}
	return nil
}

// open adds protected paths, and their access.
func (o *openingOf) open(paths []string) {
	for _, p := range paths {
		if slices.Contains(o.paths, p) {
			continue
		}
		o.paths = append(o.paths, p)
		a := tool.Access{Verb: tool.Writes, Target: p}
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			a.Target += "/"
		}
		if !slices.ContainsFunc(o.access, func(b tool.Access) bool {
			return b == a ||
				names.Below(p, strings.TrimSuffix(b.Target, "/"))
		}) {
			o.access = append(o.access, a)
		}
	}
}

// own reports whether a path is in the git directory of the worktree that a command runs in.
func (o *openingOf) own(path string, e gitwork.Effect) bool {
	return inGit(path) && e.Top != "" && names.Below(path, filepath.Join(e.Top, ".git"))
}

// tracked returns the protected paths in a worktree that have tracked files and aren't in known.
func (o *openingOf) tracked(top string, known []string) (out []string) {
	args := []string{"ls-files", "-z", "--full-name", "--"}
	var asked []string
	for _, p := range o.protect {
		rel, inside := names.Rel(p, top)
		if inside && !inGit(p) && exists(p) && !slices.Contains(known, p) && filepath.Base(p) != ".git" {
			asked = append(asked, p)
			args = append(args, ":(literal)"+rel)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	text, err := o.git(top, args...)
	for _, p := range asked {
		is := err != nil // ask if it is unknown
		for name := range strings.SplitSeq(text, "\x00") {
			is = is || name != "" && names.Below(filepath.Join(top, name), p)
		}
		if is {
			out = append(out, p)
		}
	}
	return out
}

// between returns the protected paths that block a rename: every directory above one is a mount point, and the kernel
// doesn't rename across mount points.
func (o *openingOf) between(move [2]string, known []string) (out []string) {
	above := func(path string) (dirs []string) {
		for _, p := range o.protect {
			if !slices.ContainsFunc(o.roots, func(r string) bool { return names.Below(p, r) }) {
				continue
			}
			for dir := filepath.Dir(p); dir != filepath.Dir(dir) &&
				!slices.Contains(o.roots, dir); dir = filepath.Dir(dir) {
				if path != dir && names.Below(path, dir) && !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
		slices.Sort(dirs)
		return dirs
	}
	from, to := above(move[0]), above(move[1])
	if slices.Equal(from, to) {
		return nil
	}
	for _, p := range o.protect {
		in := func(dir string) bool { return names.Below(p, dir) }
		if !inGit(p) && !slices.Contains(known, p) && (slices.ContainsFunc(from, in) || slices.ContainsFunc(to, in)) {
			out = append(out, p)
		}
	}
	return out
}

// list formats paths for a prompt.
func (o *openingOf) list(paths []string) string {
	const limit = 6
	var shown []string
	for _, p := range paths {
		shown = append(shown, names.Short(p, o.roots...))
	}
	if n := len(shown) - limit; n > 0 {
		shown = append(shown[:limit], fmt.Sprintf("%d more", n))
	}
	if n := len(shown); n > 1 {
		return strings.Join(shown[:n-1], ", ") + " and " + shown[n-1]
	}
	return shown[0]
}

// inGit reports whether a path is in a git directory. A git directory that isn't called .git belongs to a linked
// worktree.
func inGit(path string) bool {
	if strings.Contains(path, "/.git/") {
		return true
	}
	switch filepath.Base(path) {
	case "config", "config.worktree", "hooks", "commondir", "gitdir", "attributes", "alternates":
		_, err := os.Lstat(filepath.Join(filepath.Dir(path), "objects"))
		return err == nil
	}
	return false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// widen makes the approved paths writable for one command. It fails if the command needs other paths by now.
func (s *Shell) widen(ctx context.Context, c *proc.Command, approved opening) error {
	if len(approved.paths) == 0 && len(approved.access) == 0 || c.Sandbox == nil || c.Sandbox.Mode == sandbox.ReadOnly {
		return nil
	}
	now, err := s.opening(ctx, c.Line, c.Dir)
	if err != nil {
		return err
	}
	for _, p := range now.paths {
		if !slices.Contains(approved.paths, p) {
			return fmt.Errorf("it now changes %s too, which the user did not approve. Run it again", p)
		}
	}
	c.Sandbox.Protect = slices.DeleteFunc(c.Sandbox.Protect,
		func(p string) bool { return slices.Contains(now.paths, p) })
	return nil
}

// variable returns the value of an environment variable of commands.
func (b *sandboxes) variable(name string) string {
	for _, kv := range slices.Backward(b.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// globalGit returns the user's global git configuration.
func (b *sandboxes) globalGit() string {
	if path := b.variable("GIT_CONFIG_GLOBAL"); path != "" {
		return path
	}
	return filepath.Join(b.variable("HOME"), ".gitconfig")
}
