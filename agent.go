package adze

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

var (
	// ErrMain is the error of New if Main wasn't called.
	ErrMain = errors.New("adze.Main wasn't called, so commands can't be sandboxed\n" +
		"Add this line first in main, and in TestMain of tests: adze.Main()")
	// ErrModel is in the chain of an error about a missing or unknown model.
	ErrModel = errors.New("no model")
	// ErrBusy is the error of a second Run while one is running, and of what has to wait for its end.
	ErrBusy = errors.New("the agent is running: wait for the end of Run, or use another agent")
	// ErrClosed is the error of a closed agent.
	ErrClosed = errors.New("the agent is closed")
	// ErrNothing is in the chain of Undo's error if there is nothing to undo.
	ErrNothing = errors.New("nothing to undo")
)

// An Agent is a conversation with a model that works in a directory. Its methods can be called concurrently; one Run is
// active at a time. A process can have any number of agents, in one directory too.
type Agent struct {
	c     config
	env   project.Env
	state string // a temporary directory that Close deletes; "": none
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	session *session.Session
	talk    *session.Conversation // nil: none yet
	running *run                  // what excludes other runs; nil: nothing
	closed  bool
}

// New opens an agent. Close it.
func New(options ...Option) (*Agent, error) {
	a := &Agent{}
	for _, option := range options {
		if option == nil {
			return nil, errors.New("adze.New: an option is nil")
		}
		if err := option(&a.c); err != nil {
			return nil, err
		}
	}
	h := helper.Load()
	if a.c.unsandboxed {
		h = &Helper{}
	}
	switch {
	case a.c.dir == "" && !a.c.remote():
		return nil, errors.New("adze.New: no directory\nAdd adze.Dir(path): the directory that the tools work in.")
	case h == nil && runtime.GOOS == "linux":
		return nil, fmt.Errorf("adze.New: %w", ErrMain)
	case h == nil: // other systems have no helper processes
		h = &Helper{}
	case a.c.settings && a.c.journal != "":
		return nil, errors.New("adze.Journal: with adze.Settings, journals are in the user's directory\n" +
			"Remove one of them.")
	}
	if err := a.place(*h); err != nil {
		return nil, err
	}
	a.life, a.end = context.WithCancel(context.Background())
	if err := a.open(&recording.Options{}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// place finds the directories of the agent.
func (a *Agent) place(h Helper) (err error) {
	home, _ := homedir.Dir() // without one, more calls require approval
	state := a.c.journal
	if state == "" && !a.c.settings {
		if a.state, err = os.MkdirTemp("", "adze-"); err != nil {
			return fmt.Errorf("adze.New: %w\nUse adze.Journal(dir) with a directory that can be written.", err)
		}
		state = a.state
	}
	if a.c.dir == "" { // everything happens elsewhere
		if a.c.dir = filepath.Join(state, "remote"); state == "" {
			return errors.New("adze.New: adze.Settings needs a directory\nAdd adze.Dir(path).")
		}
		if err := os.MkdirAll(a.c.dir, 0o700); err != nil {
			return err
		}
	}
	if info, err := os.Stat(a.c.dir); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("adze.Dir: not a directory: %s", a.c.dir), os.RemoveAll(a.state))
	}
	a.c.dir = project.Canonical(a.c.dir)
	if state != "" {
		state = project.Canonical(state)
	}
	a.env = a.c.env(state, home, h)
	return nil
}

// open opens a session. The agent keeps it if that fails.
func (a *Agent) open(o *recording.Options) error {
	o.Off = a.c.noJournal
	s, err := session.Open(a.env, session.Options{
		Dir: a.c.dir, Flags: a.c.flags, Record: o, AppendSystemPrompt: a.c.instructions, Tools: a.c.tools,
		Exclude: a.c.excludes(), NoModel: !a.c.hasModel(),
	})
	if err != nil {
		return fmt.Errorf("adze: %w", err)
	}
	if err := a.c.check(s); err != nil {
		return errors.Join(err, s.Close())
	}
	if a.c.ask != nil {
		s.Executor.Ask, s.Executor.AskInTurn = s.AskingWith(a.c.ask), true
	}
	if len(a.c.hooks) > 0 {
		s.AddHooks(a.c.hooks...)
	}
	if err := s.Outside.Add(a.c.servers); err != nil {
		return errors.Join(err, s.Close())
	}
	if a.c.settings || len(a.c.servers) > 0 {
		s.Outside.Connect()
	}
	if problems := s.Outside.Problems(); len(problems) > 0 && s.Outside.Servers() == nil {
		return errors.Join(fmt.Errorf("adze.MCP: %v", problems[0]), s.Close())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session, a.talk = s, nil
	return nil
}

// ID returns the ID of the session, for [Agent.Resume].
func (a *Agent) ID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session.ID
}

// Resume continues a recorded session of the directory in place of the agent's. Four or more characters of its ID are
// enough. If the session was interrupted, Run without a prompt continues it.
func (a *Agent) Resume(id string) error {
	r, err := a.begin(a.life)
	if err != nil {
		return fmt.Errorf("adze.Resume: %w", err)
	}
	defer a.release(r)
	defer close(r.ended)
	all := record.Of(a.session.Directory)
	full, err := all.Find(id)
	if err != nil {
		return fmt.Errorf("adze.Resume: %w", record.SessionError(err))
	}
	here, err := all.Recorded(false)
	if !slices.ContainsFunc(here, func(s journal.Info) bool { return s.ID == full }) {
		return errors.Join(fmt.Errorf("adze.Resume: session %s isn't of %s\nUse adze.Dir with its directory.",
			full, a.session.Directory.Path), err)
	}
	old := a.session
	if err := a.open(&recording.Options{Resume: full}); err != nil {
		return err
	}
	return old.Close()
}

// Sessions returns the recorded sessions of the agent's directory, the newest first.
func (a *Agent) Sessions() ([]journal.Info, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return record.Of(a.session.Directory).Recorded(false)
}

// Undone is what Undo did.
type Undone struct {
	Restored []string          // paths
	Left     map[string]string // paths that weren't restored, and why
}

// Undo restores the files that the last call changed, or the one before if that is undone already. It changes no file
// that changed since. The error is ErrNothing if there is nothing to undo.
func (a *Agent) Undo(ctx context.Context) (Undone, error) {
	r, err := a.begin(ctx)
	if err != nil {
		return Undone{}, fmt.Errorf("adze.Undo: %w", err)
	}
	defer a.release(r)
	defer close(r.ended)
	u, err := a.session.Effects.Undo(record.Selection{})
	var nothing *record.NothingError
	if errors.As(err, &nothing) {
		return Undone{}, fmt.Errorf("adze.Undo: %w", ErrNothing)
	}
	if err != nil {
		return Undone{}, fmt.Errorf("adze.Undo: %w", err)
	}
	todo := u.Todo()
	left, err := u.Apply(ctx)
	out := Undone{Left: map[string]string{}}
	for _, l := range left {
		out.Left[l.Path] = l.Why
	}
	for _, step := range slices.DeleteFunc(todo, func(s undo.Step) bool { return out.Left[s.Path] != "" }) {
		out.Restored = append(out.Restored, step.Path)
	}
	return out, errors.Join(err, u.Close())
}

// Executor returns what runs calls, with the agent's tools and rules, for the loop of another library. It waits for MCP
// servers that are starting.
func (a *Agent) Executor(ctx context.Context) *tool.Executor {
	a.mu.Lock()
	s := a.session
	a.mu.Unlock()
	if s.Outside.Servers() != nil {
		s.Outside.Settle(ctx)
	}
	return s.Executor
}

// Call runs a single call, without a model. An empty ID is replaced by a unique one.
func (a *Agent) Call(ctx context.Context, c tool.Call) tool.Outcome {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	return a.Executor(ctx).Run(ctx, c)
}

// Close stops everything that the agent has started, and waits for it. Further calls do nothing.
func (a *Agent) Close() error {
	a.mu.Lock()
	running, closed := a.running, a.closed
	a.closed = true
	a.mu.Unlock()
	if closed {
		return nil
	}
	if running != nil {
		running.stop()
	}
	if a.end != nil {
		a.end()
	}
	var err error
	if a.session != nil {
		err = a.session.Close()
	}
	if a.state != "" {
		err = errors.Join(err, os.RemoveAll(a.state))
	}
	return err
}

// converse returns the agent's conversation, which begins with the first prompt.
func (a *Agent) converse(ctx context.Context) (*session.Conversation, error) {
	s := a.session
	if a.talk != nil {
		return a.talk, nil
	}
	if servers := s.Outside.Servers(); servers != nil {
		s.Outside.Settle(ctx)
		if a.c.remote() {
			if err := servers.WaitFor(ctx, remoteName); err != nil {
				return nil, fmt.Errorf("adze.Remote: %w", err)
			}
		}
	}
	m, err := a.opened(ctx)
	if err != nil {
		return nil, err
	}
	a.talk = s.Converse(a.life, session.ConversationOptions{
		Model: m, Limits: a.c.limits, Unattended: a.c.ask == nil, Observe: a.observe,
	})
	return a.talk, nil
}

// opened returns the agent's model.
func (a *Agent) opened(ctx context.Context) (model.Model, error) {
	switch {
	case a.c.model != nil:
		return a.c.model, nil
	case !a.c.hasModel():
		return nil, fmt.Errorf("adze.Run: %w\nAdd adze.Model(name) or adze.UseModel(model).", ErrModel)
	}
	m, err := a.session.Models.Open(ctx)
	if errors.Is(err, project.ErrModel) {
		err = fmt.Errorf("adze.Model: %w: %w", ErrModel, err)
	}
	return m, err
}

// getenv returns the lookup of variables. The program decides about settings, so those of Adze and of telemetry are
// unset.
func (c *config) getenv(state string) func(string) string {
	return func(name string) string {
		prefix, _, _ := strings.Cut(name, "_")
		switch {
		case name == "ADZE_HOME" && state != "":
			return state
		case c.settings || name == discover.Nested || !slices.Contains([]string{"ADZE", "QWEN", "OTEL"}, prefix):
			return os.Getenv(name)
		}
		return ""
	}
}

// tell logs a notice.
func (c *config) tell(note string) {
	if c.logger == nil {
		return
	}
	level := slog.LevelInfo
	if text, ok := strings.CutPrefix(note, "warning: "); ok {
		level, note = slog.LevelWarn, text
	}
	c.logger.Log(context.Background(), level, note)
}

// hasModel reports whether an option may name a model. Without one, an agent only runs calls.
func (c *config) hasModel() bool { return c.model != nil || c.named || c.settings }

// remote reports whether files and commands are those of another machine.
func (c *config) remote() bool {
	_, ok := c.servers[remoteName]
	return ok
}

// excludes returns which built-in tools are removed; nil: none.
func (c *config) excludes() func(tool.Declaration) bool {
	if c.builtIn == nil && !c.remote() {
		return nil
	}
	return func(d tool.Declaration) bool {
		switch d.Kind {
		case tool.Read, tool.Search, tool.Edit, tool.Execute:
			if c.remote() {
				return true
			}
		}
		return c.builtIn != nil && !slices.ContainsFunc(c.builtIn, d.Named)
	}
}

// check returns an error about names that no tool has: a mistyped deny rule protects nothing.
func (c *config) check(s *session.Session) error {
	const help = "'adze tool list' has the names."
	all := tool.NewRegistry(slices.Concat(s.Tools.All(), c.tools)...).All()
	for _, name := range c.builtIn {
		if !slices.ContainsFunc(all, func(d tool.Declaration) bool { return d.Named(name) }) {
			return fmt.Errorf("adze.BuiltIn: unknown tool %q\n%s", name, help)
		}
	}
	for _, of := range c.rules {
		for _, u := range of.rules.Unused(all) {
			if served := strings.Contains(u.Text, "__") && len(c.servers) > 0; !served && !c.settings {
				return fmt.Errorf("adze.%s: unknown tool in %q\n%s", of.option, u.Text, help)
			}
		}
	}
	return nil
}
