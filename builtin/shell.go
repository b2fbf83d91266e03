package builtin

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

// Helper is a helper process of this program that runs commands and stops all their child processes. See [Main].
type Helper = proc.Helper

// Main is adze.Main for programs that import only this package.
func Main() Helper { return proc.Main() }

// shell is the shared state of the shell tools in a session.
type shell struct {
	files     *files
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

func newShell(o Options, f *files) (*shell, error) {
	base := o.Environ
	state := ""
	var unclean []string
	if o.State != "" {
		state = filepath.Join(o.State, "proc")
		if _, err := proc.Reap(state); err != nil { // commands can run anyway
			unclean = []string{"Processes of an earlier run could not be stopped: " + err.Error() + "."}
		}
	}
	b, err := newSandboxes(o, f, base, f.values.Mask())
	if err != nil {
		return nil, err
	}
	r := proc.Open(proc.Options{Helper: o.Helper, State: state, Avoid: f.ws.Roots(), Mask: f.values.Mask})
	b.limiter = newLimiter(o, f, r, b.short)
	s := &shell{
		files: f, runner: r, sandboxes: b, trials: newTrials(o), output: o.Output,
		unclean: unclean, foreground: map[*running]bool{}, told: map[string]int64{}, sandboxed: map[string]*shellCall{},
		held: map[string]*held{}, noted: map[string]bool{},
	}
	s.jobs = proc.NewJobs(r, func(j proc.Job) {
		s.heldBack(j.ID).done(j.Outcome.Leftover == 0)
		if o.JobEnded != nil {
			o.JobEnded()
		}
	})
	return s, nil
}

func (s *shell) close() error {
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

// moveAll moves every foreground command to the background and returns their job IDs. Commands that are being started
// follow; their results have the IDs.
func (s *shell) moveAll() []string {
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
func (s *shell) adopt(r *running) (id string, ok bool) {
	id, err := s.jobs.Adopt(r.process, r.label)
	if err != nil {
		return "", false
	}
	r.moved <- id
	delete(s.foreground, r)
	return id, true
}

// started records that a command runs.
func (s *shell) started(r *running, p *proc.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.process = p; r.move {
		s.adopt(r)
	}
}

func (s *shell) enter(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreground[r] = true
}

func (s *shell) leave(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.foreground, r)
}

// untold returns the notes that were not sent in this session yet.
func (s *shell) untold(notes []string) []string {
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

// news returns the jobs that have ended since the last call.
func (s *shell) news() []string {
	var out []string
	jobs := s.jobs.News()
	if len(jobs) > 0 {
		out = s.aside()
	}
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("Background job %s (%s) has ended: %s.%s", j.ID, label(j.Label), s.ending(j),
			s.files.offer.hint("shell_output", " Read what it printed with shell_output.")))
	}
	return out
}

// label returns a command as one short line.
func label(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(line); len(r) > 80 {
		line, more = string(r[:80]), true
	}
	if more {
		line += " …"
	}
	return tool.Visible(line)
}
