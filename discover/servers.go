// Package discover adds external tools to a [tool.Registry]: tools that a project's own command lists and runs, and
// tools of MCP servers.
//
// # Commands
//
//	found, err := discover.Command{Discover: "./tools.sh list", Call: "./tools.sh call", Dir: dir}.Tools(ctx)
//	if err != nil {
//		return err
//	}
//	registry.Set(discover.CommandOrigin, found.Tools)
//
// The discovery command prints a JSON array of function declarations. The call command gets the name of a tool as its
// last word and the arguments as JSON on stdin.
//
// # MCP servers
//
//	servers := discover.Open(map[string]discover.Server{"github": {Command: "github-mcp", Args: []string{"stdio"}}},
//		discover.Options{Registry: registry, Dir: dir, State: state})
//	defer servers.Close()
//	err := servers.Wait(ctx) // until all have started, or failed
//
// A [Server] is a command, a URL, or a connection that the program makes. With Options.State, the tools of a server are
// known from its last run, and it starts with the first call. Servers that exit are restarted. [Servers.List] returns
// their states, [Servers.Logs] their output, and [Servers.Prompts] and [Servers.Resources] the rest of what they offer.
//
// # Trust
//
// External input is data: names are made valid and unique, descriptions are bounded and invisible characters removed,
// schemas are read leniently, and no declaration of a command or a server grants permissions. Every external tool has
// an Origin, so the executor treats it as accessing anything.
//
// The package reads no settings and makes no trust decisions; callers decide what may run.
package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// Options configure how servers are run. The zero value works, stores nothing and asks nothing.
type Options struct {
	// receives the tools of each server under its Origin, and again when they change; may be nil
	Registry *tool.Registry
	Dir      string   // default working directory of servers that are commands
	State    string   // directory for manifests, logs and tokens; empty: nothing is stored
	Environ  []string // servers get only a small part of it: see serverEnv; nil is os.Environ()
	Name     string   // the client name that servers get; empty: adze
	Version  string   // client version; empty: dev

	Start time.Duration // default timeout of a start; 0 is 60 s
	Call  time.Duration // default timeout of a call without progress; 0 is 5 minutes

	// Sample has the session's model answer a server; it is called after approval. nil: servers can't use it.
	Sample func(context.Context, Sampling) (Sampled, error)
	// OpenURL opens an http or https URL in a browser, after approval.
	OpenURL func(address string) error
	// Login permits a login when a server requires one during a call. Without it the error says to log in.
	Login bool
	// Hurry is closed when Close should no longer wait for launchers that install a server; nil: it waits.
	Hurry <-chan struct{}
	// Traceparent returns what a server gets to continue the trace of a call; "" or nil: no traces.
	Traceparent func(tool.Call) string
	// Changed is called when the tools, prompts or resources of a server have changed. It must not block.
	Changed func(alias string)

	hold   time.Duration // how long a start keeps its slot; 0 is slotHold
	finish time.Duration // how long Close waits for an install; 0 is stdio.InstallGrace
}

func (o *Options) start() time.Duration { return orDuration(o.Start, time.Minute) }

func (o *Options) install() time.Duration { return orDuration(o.finish, stdio.InstallGrace) }

func (o *Options) call() time.Duration { return orDuration(o.Call, 5*time.Minute) }

func (o *Options) name() string { return cmp.Or(o.Name, "adze") }

func (o *Options) version() string { return cmp.Or(o.Version, "dev") }

func (o *Options) environ() []string {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Servers are the MCP servers of a session.
type Servers struct {
	opt   Options
	links map[string]*link
	names []string // sorted
	alone bool     // there is only one server: its tools can also be called by their bare names
	stop  context.CancelFunc
	work  sync.WaitGroup
	slots *slots

	processes sync.WaitGroup // commands that are still running

	mu sync.Mutex // one publication at a time
}

// Open registers the tools of servers. A server with a cached manifest is not started before its first call; the others
// are started concurrently, and Open doesn't wait for them: see Wait. A server that was only listed for a client
// without a model is started too, because it may offer more, but Wait doesn't wait for it.
func Open(servers map[string]Server, opt Options) *Servers {
	life, stop := context.WithCancel(context.Background())
	s := &Servers{
		opt: opt, links: map[string]*link{}, alone: len(servers) == 1, stop: stop,
		slots: newSlots(maxStarts, orDuration(opt.hold, slotHold)),
	}
	for alias, conf := range servers {
		log := ""
		if opt.State != "" {
			log = logPath(opt.State, alias)
		}
		l := &link{set: s, alias: alias, conf: conf, hash: conf.Hash(), opt: &s.opt, life: life, log: stdio.NewLog(log)}
		if l.kind, l.bad = conf.transport(); l.bad != nil {
			l.bad = fmt.Errorf("invalid configuration: %w", l.bad)
		} else if l.kind == launched && conf.isItself() {
			l.bad = ErrItself
		}
		s.links[alias] = l
		s.names = append(s.names, alias)
	}
	slices.Sort(s.names)
	for _, alias := range s.names {
		l := s.links[alias]
		if l.bad != nil {
			continue
		}
		var whole bool
		if l.manifest, whole = l.loadCached(); l.manifest != nil {
			l.cached = true
			s.publish(l)
		}
		if l.manifest != nil && whole {
			continue
		}
		l.mu.Lock()
		l.begin()
		l.mu.Unlock()
	}
	return s
}

// Wait waits for the servers that had no cached manifest and are being started. The error names those that failed.
func (s *Servers) Wait(ctx context.Context) error {
	return s.wait(ctx, func(*link) error { return nil })
}

// WaitFor waits for one server that is being started, until its start timeout. It returns an error for an unknown
// server.
func (s *Servers) WaitFor(ctx context.Context, alias string) error {
	l, err := s.link(alias)
	if err != nil {
		return err
	}
	l.mu.Lock()
	a, known, bad, failed := l.attempt, l.published, l.bad, l.err
	l.mu.Unlock()
	switch {
	case known || bad != nil:
		return bad
	case a == nil:
		return failed
	}
	_, err = l.await(ctx, a)
	return err
}

// Owner returns the server of a tool, by the tool's name alone: its lists may not be known yet. Empty: none.
func (s *Servers) Owner(name string) string {
	bare, _ := strings.CutPrefix(name, "mcp__")
	owner := ""
	for _, alias := range s.names {
		if strings.HasPrefix(bare, clean.Prefix(alias)) && len(alias) > len(owner) {
			owner = alias
		}
	}
	return owner
}

// wait waits for servers that are being started, unless skip returns a reason not to.
func (s *Servers) wait(ctx context.Context, skip func(*link) error) error {
	var errs []error
	for _, alias := range s.names {
		l := s.links[alias]
		l.mu.Lock()
		a, known, bad, failed := l.attempt, l.published, l.bad, l.err
		l.mu.Unlock()
		switch {
		case known:
			continue
		case bad != nil:
			failed = bad
		case a != nil:
			if failed = skip(l); failed != nil {
				break
			}
			if _, failed = l.await(ctx, a); errors.Is(failed, context.DeadlineExceeded) && ctx.Err() != nil {
				failed = l.progress(a)
				l.waitTimedOut(a)
			}
		}
		if failed != nil {
			errs = append(errs, fmt.Errorf("MCP server %s: %w", alias, failed))
		}
	}
	return errors.Join(errs...)
}

// publish sets the tools of a server in the registry.
func (s *Servers) publish(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(l)
	if s.opt.Changed != nil {
		s.opt.Changed(l.alias)
	}
}

// offered returns the server's tools that its configuration includes.
func (l *link) offered() []remote {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manifest == nil {
		return nil
	}
	var out []remote
	for _, t := range l.manifest.Tools {
		if l.conf.offers(t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// misnamed returns warnings about tools that the configuration includes or excludes and that the server doesn't have.
func (l *link) misnamed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manifest == nil {
		return nil
	}
	var warnings []string
	check := func(key string, names []string) {
		for _, name := range names {
			if bare, _, _ := strings.Cut(name, "("); bare != readResource && !slices.ContainsFunc(l.manifest.Tools,
				func(r remote) bool { return r.Name == bare }) {
				warnings = append(warnings, fmt.Sprintf("%s: the server has no tool %s", key,
					humanize.Shorten(name, 100)))
			}
		}
	}
	check("includeTools", l.conf.IncludeTools)
	check("excludeTools", l.conf.ExcludeTools)
	return warnings
}

func (s *Servers) set(l *link) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.published = true
	}()
	if s.opt.Registry == nil {
		return
	}
	var tools []tool.Tool
	for _, r := range l.offered() {
		tools = append(tools, l.tool(r))
	}
	if t := l.resourceTool(); t != nil {
		tools = append(tools, t)
	}
	warnings := l.misnamed()
	if err := s.opt.Registry.Set(Origin(l.alias), tools); err != nil {
		warnings = append(warnings, strings.Split(err.Error(), "\n")...)
	}
	l.mu.Lock()
	l.warnings = warnings
	l.mu.Unlock()
}

// Installing returns the servers whose launcher may still be installing them: Close gives them time to finish.
func (s *Servers) Installing() []string {
	var names []string
	for _, alias := range s.names {
		l := s.links[alias]
		l.mu.Lock()
		if a := l.attempt; a != nil && a.proc != nil && a.proc.Installing() {
			names = append(names, alias)
		}
		l.mu.Unlock()
	}
	return names
}

// Close stops all servers that were started, with all their child processes, and returns when they have exited. It
// gives a launcher that may be installing a server 10 s to finish, or until Options.Hurry is closed, before it sends
// SIGTERM.
func (s *Servers) Close() {
	s.stop()
	var wg sync.WaitGroup
	for _, l := range s.links {
		wg.Go(l.close)
	}
	wg.Wait()
	waitAtMost(&s.work, 2*time.Second)
	waitAtMost(&s.processes, s.opt.install()+stdio.StopTime+2*time.Second) // they are killed in the end
	for _, l := range s.links {
		l.log.Close()
	}
}

func waitAtMost(wg *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// link finds a server.
func (s *Servers) link(alias string) (*link, error) {
	if l := s.links[alias]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("unknown MCP server %q (configured: %s)", alias, cmp.Or(strings.Join(s.names, ", "), "none"))
}

const (
	maxStarts = 4               // commands that start at the same time
	slotHold  = 3 * time.Second // after which a start releases its slot
)

// slots limit how many servers start at the same time: a dozen runtimes that load at once on a small machine would all
// time out. A start releases its slot after a while even if it hasn't finished, so that servers that hang don't delay
// the others: most of the load is at the beginning.
type slots struct {
	free chan struct{}
	hold time.Duration
}

func newSlots(n int, hold time.Duration) *slots {
	return &slots{make(chan struct{}, n), hold}
}

// take waits for a slot. release may be called more than once.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s.free <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give := sync.OnceFunc(func() { <-s.free })
	late := time.AfterFunc(s.hold, give)
	return func() {
		late.Stop()
		give()
	}, nil
}

// longStart is the minimum duration of a failed start to be recorded as slow.
const longStart = 2 * time.Second

// slowStart is the record on disk that the last start of a server took long and failed. WaitLikely doesn't wait for
// such servers.
type slowStart struct {
	Hash  string `json:"hash"` // of the configuration
	Why   string `json:"why"`
	Times int    `json:"times"` // in a row
}

func slowStartPath(state, alias string) string {
	return filepath.Join(state, "late", fileName(alias)+".json")
}

// startedSlowly returns why the server failed after a long start the last time; empty if it didn't. A launcher gets a
// second chance: the first time it had to install the server.
func (l *link) startedSlowly() string {
	note := l.slowStartNote()
	if note.Times == 1 && l.kind == launched && l.conf.launcher() != "" {
		return ""
	}
	return note.Why
}

func (l *link) slowStartNote() slowStart {
	var note slowStart
	if l.state() == "" {
		return note
	}
	raw, err := os.ReadFile(slowStartPath(l.state(), l.alias))
	if err != nil || json.Unmarshal(raw, &note) != nil || note.Hash != l.hash {
		return slowStart{}
	}
	return note
}

// noteSlowStart records how a start ended. A canceled start is not recorded, unless waited is set.
func (l *link) noteSlowStart(a *attempt, took time.Duration) {
	if l.state() == "" {
		return
	}
	l.mu.Lock()
	waited := a.waited
	l.mu.Unlock()
	err := a.err
	if broken := l.life.Err() != nil || errors.Is(err, ErrClosed); broken && err != nil {
		if !waited {
			return
		}
		err = fmt.Errorf("no response within %s", humanize.Wait(took.Round(time.Second)))
	}
	path := slowStartPath(l.state(), l.alias)
	if err == nil || took < longStart && !waited {
		os.Remove(path) // usually it doesn't exist
		return
	}
	why, _, _ := strings.Cut(err.Error(), "\n") // the output is in its log
	raw, jerr := json.Marshal(slowStart{l.hash, humanize.Shorten(strings.TrimSuffix(why, "; stderr:"), 500),
		l.slowStartNote().Times + 1})
	if jerr == nil {
		jerr = writeFile(path, raw)
	}
	if jerr != nil {
		l.log.Printf("save the slow-start record: %v", jerr)
	}
}

// WaitLikely waits like Wait, but not for servers whose last start took long and failed. They are started anyway, and
// their tools are added when they answer.
func (s *Servers) WaitLikely(ctx context.Context) error {
	return s.wait(ctx, func(l *link) error {
		if why := l.startedSlowly(); why != "" {
			return fmt.Errorf("not waiting for it, because it failed last time: %s", why)
		}
		return nil
	})
}
