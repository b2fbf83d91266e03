// Package command runs commands for the tools of package builtin: in sandboxes and trials, in the background, with the
// network that a policy allows, and with their output held back while it may contain secrets. Programs that embed the
// tools use it through builtin's Options and Set.
package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// Options configure the commands of a session.
type Options struct {
	Workspace *workspace.Workspace
	Ignore    *ignore.Rules
	Values    *secretvalues.List // which output is masked with
	// Imagined means that the workspace need not exist: no command runs.
	Imagined bool
	// State is a directory of Adze's own, and Own the same with links resolved; may be empty.
	State, Own string
	Helper     proc.Helper
	// Environ is the environment of commands, and PassEnv and Env are those of builtin.Options.
	Environ, PassEnv, Env []string
	Sandbox               Sandbox
	// Caches creates the directory for caches of commands that only read.
	Caches func() (string, error)
	// Kept is called with what a tried command changed, before the result is made; may be nil.
	Kept func(tool.Call, []KeptPath)
	// Output opens a file for the full output of a command, if that is too long for the result; may be nil.
	Output func(tool.Call) (io.WriteCloser, string, error)
	// Ended is called when a background command has ended; may be nil.
	Ended func()
	// ContextNames are the names of context files.
	ContextNames []string
	// Hint returns a formatted text that suggests a tool; "" if the tool is not offered.
	Hint func(tool, format string, args ...any) string
}

// Shell runs the commands of a session.
type Shell struct {
	ws        *workspace.Workspace
	ignore    *ignore.Rules
	hint      func(tool, format string, args ...any) string
	runner    *proc.Runner
	jobs      *proc.Jobs
	sandboxes *sandboxes
	trials    *trials // nil: commands are not tried
	output    func(tool.Call) (io.WriteCloser, string, error)
	unclean   []string // messages about cleaning up after earlier runs
	warming   sync.WaitGroup

	mu         sync.Mutex
	foreground map[*running]bool
	told       map[string]int64      // how far each job's output was read
	sandboxed  map[string]*shellCall // sandboxed background commands by ID, until a retry is offered
	held       map[string]*held      // of these, whose output is held back
	noted      map[string]bool       // notes about this machine that were sent
	wrote      bool                  // a workspace sandbox may have created repositories since the last look
	created    []string              // repositories that the user let commands create
	closed     bool
}

// running is a foreground command that the user may move to the background.
type running struct {
	process *proc.Process // nil while it is being started
	label   string
	move    bool        // move it as soon as it has started
	moved   chan string // receives its job ID
}

// New prepares to run commands.
func New(o Options) (*Shell, error) {
	base := o.Environ
	state := ""
	var unclean []string
	if o.State != "" {
		state = filepath.Join(o.State, "proc")
		if _, err := proc.Reap(state); err != nil { // commands can run anyway
			unclean = []string{"Processes of an earlier run could not be stopped: " + err.Error() + "."}
		}
	}
	b, err := newSandboxes(o, base)
	if err != nil {
		return nil, err
	}
	r := proc.Open(proc.Options{Helper: o.Helper, State: state, Avoid: o.Workspace.Roots(), Mask: o.Values.Mask})
	b.limiter = newLimiter(o, r, b.unapproved)
	s := &Shell{
		ws: o.Workspace, ignore: o.Ignore, hint: o.Hint, runner: r, sandboxes: b, trials: newTrials(o),
		output: o.Output, unclean: unclean, foreground: map[*running]bool{}, told: map[string]int64{},
		sandboxed: map[string]*shellCall{}, held: map[string]*held{}, noted: map[string]bool{},
	}
	s.jobs = proc.NewJobs(r, func(j proc.Job) {
		s.heldBack(j.ID).done(j.Outcome.Leftover == 0)
		if o.Ended != nil {
			o.Ended()
		}
	})
	return s, nil
}

// Close stops all commands, and removes what they left.
func (s *Shell) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.trials != nil {
		s.trials.closing.Store(true)
	}
	s.jobs.Close()
	defer s.sandboxes.limiter.close()
	if l := s.sandboxes.limiter; l != nil {
		if l.watch != nil {
			l.watch.CloseBy(s.runner.CloseLast)
		}
		l.finder.Close() // warming may wait for it
	}
	err := s.runner.Close()
	s.warming.Wait()
	for _, note := range s.aside() { // of background commands
		err = errors.Join(err, errors.New(note))
	}
	return errors.Join(err, s.trials.close())
}

// Background moves every foreground command to the background and returns their job IDs. Commands that are being
// started follow; their results have the IDs.
func (s *Shell) Background() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for r := range s.foreground {
		if r.process == nil {
			r.move = true
		} else if id, ok := s.adopt(r); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// adopt moves a command to the background, unless it has ended. The caller holds the lock.
func (s *Shell) adopt(r *running) (id string, ok bool) {
	id, err := s.jobs.Adopt(r.process, r.label)
	if err != nil {
		return "", false
	}
	r.moved <- id
	delete(s.foreground, r)
	return id, true
}

// started records that a command runs.
func (s *Shell) started(r *running, p *proc.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.process = p; r.move {
		s.adopt(r)
	}
}

func (s *Shell) enter(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreground[r] = true
}

func (s *Shell) leave(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.foreground, r)
}

// untold returns the notes that were not sent in this session yet.
func (s *Shell) untold(notes []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for _, n := range append(slices.Clone(s.unclean), notes...) {
		if !s.noted[n] {
			s.noted[n] = true
			fresh = append(fresh, n)
		}
	}
	return fresh
}

// News returns the jobs that have ended since the last call.
func (s *Shell) News() []string {
	var out []string
	jobs := s.jobs.News()
	if len(jobs) > 0 {
		out = s.aside()
	}
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("Background job %s (%s) has ended: %s.%s", j.ID, Label(j.Label), s.ending(j),
			s.hint("shell_output", " Read what it printed with shell_output.")))
	}
	return out
}

// Label returns a command as one short line.
func Label(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(line); len(r) > 80 {
		line, more = string(r[:80]), true
	}
	if more {
		line += " …"
	}
	return tool.Visible(line)
}
