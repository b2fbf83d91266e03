package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission/environ"
	shellread "github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// Sandbox selects the sandbox that commands run in.
type Sandbox struct {
	// Mode is one of
	//
	//	auto, or empty     auto-approved read-only commands run in a read-only sandbox, so that the kernel
	//	                   enforces it; other commands run without one
	//	off                no sandbox
	//	read-only          every command runs in a sandbox without writes and network
	//	workspace          every command that isn't read-only may write to the workspace, temp and caches
	//	workspace+network  the same, and reach the network
	Mode string
	// Write are further files and directories that the workspace modes may write to: caches, a device.
	Write []string
	// UnixSockets lets commands reach Unix sockets of other programs, such as Docker's.
	UnixSockets bool
	// Bubblewrap uses the program bwrap for sandboxes.
	Bubblewrap bool
	// Limits limits what auto-approved commands read. nil: they read everything, and only the verdict protects files.
	Limits *ReadLimits
	// Trial runs commands in a trial first, if the policy allows that. It needs Options.State and Limits.
	Trial bool
	// ReadOnlyTrial makes trials run in a read-only place even where overlays work: a command that writes is stopped,
	// and requires approval.
	ReadOnlyTrial bool
	// Denied returns the deny rules on paths, which the kernel enforces for every command unless Mode is off, and a
	// number that changes with them. nil: there are none.
	Denied func() ([]DeniedPath, uint64)
	// Lines reads command lines with Home as the value of ~, for the policy too. nil: lines are read apart from it.
	Lines *shellread.Lines
	Home  string
	// Network lets commands with a network namespace of their own reach hosts that the policy allows. nil: they reach
	// nothing.
	Network *Network
}

// sandboxes makes the sandboxes of a session.
type sandboxes struct {
	Sandbox
	auto  bool
	mode  sandbox.Mode
	roots []string
	state string
	env   []string // of approved commands
	// unapproved is determined when the first command needs it: it reads the directories of PATH.
	unapproved func() environs

	protected func(path string) bool // by its name

	limiter *limiter // nil: reads are not limited
	denials *denials

	// base is determined when the first command needs it, and then fixed.
	base func() *places.Base
}

// environs are the environments of commands that run without approval.
type environs struct {
	short []string // of commands that only read
	// the same, without version managers in PATH: where nothing else keeps them from running code of the project
	reading  []string
	tried    []string // of tried commands
	withheld []string // the names of variables that tried commands don't get
}

func newSandboxes(o Options, base []string) (*sandboxes, error) {
	b := &sandboxes{
		Sandbox: o.Sandbox, roots: o.Workspace.Roots(), state: o.State,
		env: proc.Environ(environ.With(base, o.Env), o.PassEnv),
	}
	if b.Lines == nil {
		b.Lines, b.Home = &shellread.Lines{}, b.variable("HOME")
	}
	b.unapproved = sync.OnceValue(func() environs { return newEnvirons(b.roots, base, o.Env, o.Values.Mask()) })
	b.denials = &denials{
		rules: o.Sandbox.Denied, roots: b.roots, keep: append(places.TempDirs(b.env), b.variable("HOME")),
	}
	b.denials.movable = append(slices.Clone(b.roots), b.variable("HOME"))
	if o.Sandbox.Limits != nil {
		b.denials.keep = append(b.denials.keep, o.Sandbox.Limits.System...)
	}
	home := b.variable("HOME")
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	named := names.ProtectedIn(b.roots, home)
	b.protected = func(path string) bool {
		_, ok := named(path)
		return ok
	}
	b.base = sync.OnceValue(func() *places.Base {
		return places.NewBase(b.roots, b.Write, b.env, b.protected)
	})
	if b.auto = b.Mode == "" || b.Mode == "auto"; b.auto {
		return b, nil
	}
	mode, err := sandbox.ParseMode(b.Mode)
	if err != nil {
		return nil, fmt.Errorf("%w, and auto", err)
	}
	b.mode = mode
	return b, nil
}

// newEnvirons makes the environments of commands that run without approval. They get nothing that is masked in output.
func newEnvirons(roots, base, pass []string, mask *redact.Mask) (e environs) {
	secret := func(kv string) bool { return proc.SecretVariable(kv) || mask.String(kv) != kv }
	e.short, _ = environ.Unapproved{Roots: roots, Secret: secret}.Environ(proc.Environ(base, nil))
	e.short = append(e.short, "ADZE=1")
	e.reading = environ.WithoutManagers(e.short)
	e.tried, e.withheld = environ.Unapproved{Tried: true, Pass: pass, Secret: secret}.Environ(base)
	e.withheld = slices.DeleteFunc(e.withheld, proc.OfProvider)
	e.tried = append(proc.Environ(e.tried, nil), "GIT_OPTIONAL_LOCKS=0", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1",
		"npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	return e
}

// readsOnly reports whether a policy granted the call only reads. The executor orders calls by that, so it must hold in
// every mode.
func readsOnly(d tool.Decision) bool {
	return len(d.Grant) > 0 && d.Grant[0] == tool.Access{Verb: tool.Reads, Target: "*"}
}

// assign puts a command into the sandbox that its decision requires. Its output is held back by the result; nil: it
// isn't.
func (b *sandboxes) assign(c *proc.Command, d tool.Decision) (*held, error) {
	mode := b.mode
	reads := readsOnly(d) && (b.auto || mode != sandbox.Off)
	if reads {
		mode = sandbox.ReadOnly
	}
	c.Sandbox, c.Env = nil, b.env
	if readsOnly(d) || mode == sandbox.ReadOnly {
		c.Env = b.unapproved().reading // the verdict is only valid in this environment
	}
	if b.auto && !reads {
		c.Sandbox = b.denials.spec()
		return nil, nil
	}
	if mode == sandbox.Off {
		return nil, nil
	}
	if reads {
		limited, h, err := b.limiter.spec(d)
		if err != nil {
			return nil, err
		}
		if limited != nil {
			b.denials.add(limited)
			c.Sandbox, c.Env = limited, b.limiter.environ(b.unapproved().reading, h.cache)
			return h, nil
		}
	}
	c.Sandbox = b.spec(mode)
	b.denials.add(c.Sandbox)
	c.Sandbox.BestEffort = b.auto // the verdict doesn't depend on the sandbox
	return nil, nil
}

func (b *sandboxes) spec(mode sandbox.Mode) *sandbox.Spec {
	if mode == sandbox.ReadOnly {
		return &sandbox.Spec{Mode: mode, UnixSockets: b.UnixSockets, Bubblewrap: b.Bubblewrap}
	}
	s := b.base().Spec(mode)
	s.UnixSockets, s.Bubblewrap = b.UnixSockets, b.Bubblewrap
	if b.state != "" {
		s.Protect = append(s.Protect, b.state)
	}
	return s
}

// settle is called before a command starts: repositories in the workspace are the user's, unless another sandboxed
// command can create some. The user approved those in created.
func (s *Shell) settle(c *proc.Command, created []string) {
	if c.Sandbox == nil || c.Sandbox.Mode != sandbox.Workspace && c.Sandbox.Mode != sandbox.WorkspaceNetwork {
		return
	}
	s.mu.Lock()
	s.wrote = true
	s.created = append(s.created, created...)
	s.mu.Unlock()
	if s.runner.Live(sandbox.Workspace, sandbox.WorkspaceNetwork) == 0 {
		s.sandboxes.base().Settle()
	}
}

// aside moves git repositories away that sandboxed commands created without approval, and returns what it did. It is
// called before each result of such a command, because a name can't be denied without a race.
func (s *Shell) aside() []string {
	s.mu.Lock()
	wrote, approved := s.wrote, slices.Clone(s.created)
	s.wrote = wrote && s.runner.Live(sandbox.Workspace, sandbox.WorkspaceNetwork) > 0
	s.mu.Unlock()
	if !wrote {
		return nil
	}
	state := s.sandboxes.state
	if state == "" {
		state = filepath.Join(s.ws.Project(), ".adze")
	}
	notes := s.sandboxes.base().Aside(filepath.Join(state, "aside"), approved...)
	for i, n := range notes {
		notes[i] = tool.Visible(n)
	}
	return notes
}

// approve is called when changes were kept that may contain repositories.
func (s *Shell) approve(kept []KeptPath) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wrote {
		return // the next command finds them
	}
	for _, k := range kept {
		s.created = append(s.created, k.Path)
	}
}

// name returns the name of the sandbox that an approved command runs in, or "off".
func (b *sandboxes) name() string {
	if b.auto {
		return "off"
	}
	return string(b.mode)
}

// warnings returns what the sandbox can't enforce, for the permission prompt of a command.
func (b *sandboxes) warnings() []string {
	switch {
	case b.auto || b.mode == sandbox.Off || b.mode == sandbox.ReadOnly:
		return nil
	}
	p, err := (&sandbox.Spec{
		Mode: b.mode, Roots: b.roots, Protect: []string{os.DevNull}, UnixSockets: b.UnixSockets,
		Bubblewrap: b.Bubblewrap,
	}).Plan()
	if err != nil {
		return []string{err.Error()}
	}
	return p.Notes
}

// notes returns notes on the sandbox of a command that ran in it.
func (b *sandboxes) notes(s *sandbox.Spec) []string {
	if s == nil || s.Mode == sandbox.ReadOnly || s.Mode == sandbox.Trial {
		return nil
	}
	_, text := b.denials.found()
	if s.Mode == sandbox.DenyRules {
		return text
	}
	return append(b.base().Notes, text...)
}

// above returns notes for a tried command on repositories that begin above the workspace, where it can't read files.
func (b *sandboxes) above(line string) (notes []string) {
	for _, root := range b.base().Roots() {
		if top := places.RepositoryAbove(root); top != "" && strings.Contains(line, "git") {
			notes = append(notes, "The repository begins above the workspace, at "+tool.Visible(top)+". Commands "+
				"without approval can't read files there, so git reports those as changed or deleted. Add a path "+
				"to see only the workspace: git status .")
		}
	}
	return notes
}

// again asks the user to run a command again without the sandbox that it failed in. ok reports that it ran again;
// otherwise the result is that of the first run.
func (c *shellCall) again(ctx context.Context, live *tool.Live, o proc.Outcome) (ok bool, why string, err error) {
	why = fmt.Sprintf("Likely blocked by the %s sandbox (%s).", o.Boxed, o.Suspect)
	remedy := fmt.Sprintf(" To allow it, the user can %s.", o.Remedy)
	if live.Ask == nil {
		return false, why + remedy, nil
	}
	_, err = live.Ask(ctx, tool.Invocation{
		Description: "run " + Label(c.request.Command) + " again, without the sandbox", Access: c.access, MustAsk: true,
		Confirm: tool.Command{
			Line: c.request.Command, Shell: c.shell.OtherShell(), Directory: c.command.Dir, Purpose: c.request.Purpose,
			Warnings: append([]string{fmt.Sprintf("in its %s sandbox it failed: %s", o.Boxed, o.Suspect),
				"now it would run without a sandbox; instead you can " + o.Remedy}, hiddenIn(c.request)...),
		},
	})
	switch {
	case err == nil:
		return true, why, nil
	case errors.Is(err, tool.ErrDenied):
		return false, why + " It was not retried outside the sandbox." + remedy, nil
	}
	return false, why, err
}

// remember records a sandboxed command that runs in the background: if the sandbox makes it fail, the user is asked
// when its output is read.
func (c *shellCall) remember(id string) {
	if c.command.Sandbox == nil {
		return
	}
	c.shell.mu.Lock()
	defer c.shell.mu.Unlock()
	c.shell.sandboxed[id] = c
	c.shell.held[id] = c.held
}

// offer reports files that a background command created against deny rules. Otherwise it asks, once, whether a
// background command that its sandbox blocked may run again without one, and returns the result.
func (s *Shell) offer(ctx context.Context, live *tool.Live, job proc.Job) (text string, err error) {
	if job.Running {
		return "", nil
	}
	s.mu.Lock()
	c := s.sandboxed[job.ID]
	delete(s.sandboxed, job.ID)
	s.mu.Unlock()
	if c == nil {
		return "", nil
	}
	if text := s.sandboxes.denials.after(c.command.Sandbox); text != "" {
		return text, nil
	}
	if job.Outcome.Suspect == "" || job.Outcome.Exit == 0 || job.Outcome.Denied {
		return "", nil
	}
	yes, why, err := c.again(ctx, live, job.Outcome)
	if err != nil || !yes {
		return why, err
	}
	id, err := s.jobs.Start(proc.Command{
		Line: c.command.Line, Dir: c.command.Dir, Env: s.sandboxes.env, Sandbox: s.sandboxes.denials.spec(),
	}, c.request.Command)
	if err != nil {
		return "", tool.Errorf(Failure, "run %s in the background again: %w", Label(c.request.Command), err)
	}
	return why + " The user approved a retry outside the sandbox, in the background as " + id + ".", nil
}
