// Package external has the external tools of a run: those of MCP servers and of a project's discovery command.
//
//	t := external.New(external.Options{…})
//	t.Connect()        // doesn't wait
//	t.Settle(ctx)      // waits, and reports failures once
//	defer t.Close()
package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/tool"
)

// serversWait is how long to wait for all MCP servers together. One may take longer to start; its tools appear when it
// answers, and only a call for this server waits for it.
const serversWait = 10 * time.Second

// Untrusted is the error of a server that only an untrusted project configures.
const Untrusted = "this project isn't trusted; run adze trust"

// Problem is an invalid configuration of external tools.
type Problem struct {
	Server string // the MCP server; empty: none in particular
	Text   string
}

func (p Problem) String() string {
	if p.Server == "" {
		return p.Text
	}
	return "MCP server " + p.Server + ": " + p.Text
}

// Options are what external tools need of a session.
type Options struct {
	Env       project.Env
	Directory project.Directory
	Settings  *settings.Settings
	Plugins   []*plugin.Plugin
	// Executor gets the tools, and a policy that trusts servers that the user trusts.
	Executor *tool.Executor
	Window   func(model string) int                                             // the context window of a model
	Sample   func(context.Context, discover.Sampling) (discover.Sampled, error) // nil: servers can't use a model
	// Traceparent is that of [discover.Options].
	Traceparent func(tool.Call) string
}

// Tools is the external tools of a session. It has none until it is connected.
type Tools struct {
	o Options

	settling  sync.Mutex // calls may wait concurrently
	connected bool
	servers   *discover.Servers // nil: there are none
	problems  []Problem         // of invalid configurations
	command   *discovery        // nil without one
	until     time.Time
	told      bool
	one       string // the only MCP server to use; empty: all
	more      map[string]discover.Server
	only      bool // no others than these
}

// New returns the external tools of a session, and starts nothing.
func New(o Options) *Tools { return &Tools{o: o} }

// Add adds MCP servers for this session, which replace configured ones of the same name. It must be called before
// Connect. mcp.allowed and mcp.excluded apply to them too.
func (t *Tools) Add(servers map[string]discover.Server) error {
	t.settling.Lock()
	defer t.settling.Unlock()
	if t.connected {
		return errors.New("MCP servers can't be added after the first message")
	}
	if t.more == nil {
		t.more = map[string]discover.Server{}
	}
	maps.Copy(t.more, servers)
	return nil
}

// Use is Add. only omits the servers of plugins and settings.
func (t *Tools) Use(servers map[string]discover.Server, only bool) error {
	t.settling.Lock()
	t.only = only
	t.settling.Unlock()
	return t.Add(servers)
}

// configured returns the servers of plugins and settings, and the added ones.
func (t *Tools) configured() (servers map[string]discover.Server, problems []Problem) {
	plugins, set := t.o.Plugins, t.o.Settings.MCP
	if t.only {
		plugins, set.Servers, set.ServerCommand = nil, nil, ""
	}
	return configured(t.o.Env, plugins, set, t.more)
}

// Connect starts connecting to the configured external tools, and doesn't wait. A second call does nothing.
func (t *Tools) Connect() {
	t.settling.Lock()
	defer t.settling.Unlock()
	t.connect()
}

func (t *Tools) connect() {
	if t.connected {
		return
	}
	servers, problems := t.configured()
	switch {
	case t.o.Settings.Tools.DiscoveryCommand == "":
	case t.nested():
		problems = append(problems, Problem{Text: "the tool discovery command is skipped: " + startedByAdze})
	default:
		t.command = t.discover()
	}
	t.begin(servers, problems)
}

// startedByAdze is why a nested Adze uses no external tools.
const startedByAdze = "another Adze started this one (" + discover.Nested + " is set)"

// nested reports whether another Adze started this one for external tools. Then this one uses none: its settings may
// start it again.
func (t *Tools) nested() bool { return t.o.Env.Getenv(discover.Nested) != "" }

// ConnectServers is Connect for MCP servers only.
func (t *Tools) ConnectServers() {
	t.settling.Lock()
	defer t.settling.Unlock()
	if !t.connected {
		t.begin(t.configured())
	}
}

// ConnectOne is Connect for one MCP server only, in a session that isn't connected. The error says why it isn't
// available.
func (t *Tools) ConnectOne(alias string) error {
	all, problems := t.configured()
	one := maps.Clone(all)
	maps.DeleteFunc(one, func(other string, _ discover.Server) bool { return other != alias })
	t.one = alias
	t.begin(one, slices.DeleteFunc(problems, func(p Problem) bool { return p.Server != alias }))
	if t.servers != nil {
		return nil
	}
	if len(t.problems) > 0 {
		return errors.New(t.problems[0].String())
	}
	return t.Find(alias)
}

// Find returns an error if there is no such MCP server, with the reason; nil: there is one, which may not be started.
func (t *Tools) Find(alias string) error {
	all, problems := t.configured()
	if _, ok := all[alias]; ok || slices.ContainsFunc(problems, func(p Problem) bool { return p.Server == alias }) {
		return nil
	}
	for _, item := range project.WithheldServers(t.o.Settings) {
		if item.What == alias {
			return fmt.Errorf("MCP server %s: %s", alias, Untrusted)
		}
	}
	if _, ok := t.o.Settings.MCP.Servers[alias]; ok {
		return fmt.Errorf("MCP server %s: excluded by mcp.allowed or mcp.excluded", alias)
	}
	known := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	if known == "" {
		known = "none"
	}
	return fmt.Errorf("unknown MCP server %q (configured: %s)", alias, known)
}

// Configured returns the names of the MCP servers, and the problems of invalid ones.
func (t *Tools) Configured() (aliases []string, problems []Problem) {
	all, problems := t.configured()
	return slices.Sorted(maps.Keys(all)), problems
}

// begin opens the servers, if there are any.
func (t *Tools) begin(servers map[string]discover.Server, problems []Problem) {
	t.connected, t.until, t.problems = true, time.Now().Add(serversWait), problems
	if len(servers) == 0 {
		return
	}
	if t.nested() {
		for _, alias := range slices.Sorted(maps.Keys(servers)) {
			t.problems = append(t.problems, Problem{alias, "skipped: " + startedByAdze})
		}
		return
	}
	t.servers = discover.Open(servers, discover.Options{
		Registry: t.o.Executor.Registry, Dir: t.o.Directory.Path, State: t.o.Directory.MCPState(),
		Environ: t.o.Env.Environ, Version: t.o.Env.Version,
		OpenURL: t.o.Env.Show, Sample: t.o.Sample, Hurry: t.o.Env.Hurry, Traceparent: t.o.Traceparent,
	})
	t.o.Executor.Policy = trusting(t.o.Executor.Policy, t.servers.Trusted)
}

// trusting returns a policy that approves tools of trusted servers if only the approval mode would ask: rules still
// apply, and plan mode still denies.
func trusting(judge tool.Policy, trusted func(origin string) bool) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		if d.Verdict != tool.Ask || d.Cause.Kind != tool.ByMode || r.MustAsk || !trusted(r.Declaration.Origin) {
			return d
		}
		return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByTrust}}
	}
}

// Settle waits for the external tools that are still starting, and reports failures once. The run continues with the
// available tools.
func (t *Tools) Settle(ctx context.Context) { t.settleWith(ctx, (*discover.Servers).Wait) }

// WaitLikely is Settle for a user who waits for an answer: it doesn't wait for a server that timed out before.
func (t *Tools) WaitLikely(ctx context.Context) { t.settleWith(ctx, (*discover.Servers).WaitLikely) }

func (t *Tools) settleWith(ctx context.Context, wait func(*discover.Servers, context.Context) error) {
	t.settling.Lock()
	defer t.settling.Unlock()
	t.connect()
	problems := t.waitWith(ctx, wait)
	if t.told || ctx.Err() != nil {
		return
	}
	t.told = true
	for _, p := range problems {
		t.o.Env.Notice(tool.Visible(p))
	}
}

// SettleFor waits for external tools until the one of this name is available, without waiting for other servers.
func (t *Tools) SettleFor(ctx context.Context, name string) {
	if t.declares(name) {
		return
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	if t.waitForOwner(waiting, name) {
		return
	}
	go func() {
		for {
			changed := t.o.Executor.Registry.Changed() // before declares, so that no change is missed
			if t.declares(name) {
				enough()
				return
			}
			select {
			case <-changed:
			case <-waiting.Done():
				return
			}
		}
	}()
	t.Settle(waiting)
}

// waitForOwner waits for the MCP server in the name of a tool, until its start timeout, and reports whether it has the
// tool.
func (t *Tools) waitForOwner(ctx context.Context, name string) bool {
	t.settling.Lock()
	t.connect()
	servers := t.servers
	t.settling.Unlock()
	if servers == nil {
		return false
	}
	if alias := servers.Owner(name); alias != "" {
		servers.WaitFor(ctx, alias) // Settle reports the error
	}
	return t.declares(name)
}

// declares reports whether a tool is declared by this exact name. If a name is only accepted, such as the bare name of
// a server's tool, another tool may still take it; not so for a built-in tool.
func (t *Tools) declares(name string) bool {
	found, err := t.o.Executor.Registry.Lookup(name)
	return err == nil && (found.Declaration().Origin == "" || found.Declaration().Name == name)
}

// Wait waits for tools that are starting and returns failures, without reporting them to the user.
func (t *Tools) Wait(ctx context.Context) []string {
	return t.waitWith(ctx, (*discover.Servers).Wait)
}

func (t *Tools) waitWith(ctx context.Context, wait func(*discover.Servers, context.Context) error) []string {
	var problems []string
	for _, p := range t.problems {
		problems = append(problems, p.String())
	}
	if t.one != "" && t.servers != nil {
		if err := t.servers.WaitFor(ctx, t.one); err != nil {
			problems = append(problems, fmt.Sprintf("MCP server %s: %v", t.one, err))
		}
		return problems
	}
	if t.command != nil { // it has its own time limit
		problems = append(problems, t.command.wait(ctx)...)
	}
	if t.servers != nil {
		ctx, cancel := context.WithDeadline(ctx, t.until)
		defer cancel()
		for _, err := range joined(wait(t.servers, ctx)) {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// joined returns the errors in an errors.Join.
func joined(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return nil
}

// Servers returns the MCP servers; nil: none.
func (t *Tools) Servers() *discover.Servers { return t.servers }

// Resources returns the resources that MCP servers listed so far, without templates.
func (t *Tools) Resources() []discover.Resource {
	if t.servers == nil {
		return nil
	}
	return slices.DeleteFunc(t.servers.Resources(), func(r discover.Resource) bool { return r.Template })
}

// List returns the status of the MCP servers.
func (t *Tools) List() []discover.Status {
	if t.servers == nil {
		return nil
	}
	return t.servers.List()
}

// Connected counts the MCP servers and the usable ones, and reports whether some are starting.
func (t *Tools) Connected() (servers, usable int, starting bool) {
	if t.servers == nil {
		return 0, 0, false
	}
	return t.servers.Connected()
}

// Problems returns the invalid configurations of external tools.
func (t *Tools) Problems() []Problem { return t.problems }

// Close stops everything that was started.
func (t *Tools) Close() {
	if t.command != nil {
		t.command.close()
	}
	if t.servers != nil {
		if names := t.servers.Installing(); len(names) > 0 {
			t.o.Env.Notice("waiting up to 10 s for MCP servers that are still being installed: " +
				tool.Visible(strings.Join(names, ", ")) + "\nPress Ctrl-C to stop them.")
		}
		t.servers.Close()
	}
}

// discovery is a run of the command that lists a project's own tools.
type discovery struct {
	ended <-chan struct{}
	said  []string // by then
	stop  context.CancelFunc
}

// discover runs the discovery command in the background.
func (t *Tools) discover() *discovery {
	c := discover.Command{
		Discover: t.o.Settings.Tools.DiscoveryCommand, Call: t.o.Settings.Tools.CallCommand, Dir: t.o.Directory.Path,
		Env:     t.o.Env.Environ,
		Timeout: time.Duration(t.o.Settings.Tools.CallTimeout) * time.Millisecond,
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	d := &discovery{ended: ended, stop: stop}
	go func() {
		defer close(ended)
		d.run(life, c, t.o.Executor.Registry)
	}()
	return d
}

func (d *discovery) run(ctx context.Context, c discover.Command, registry *tool.Registry) {
	tools, err := c.Tools(ctx)
	for _, warning := range tools.Warnings {
		d.said = append(d.said, "tools of "+c.Discover+": "+warning)
	}
	if err != nil {
		d.said = append(d.said, err.Error())
	}
	if err := registry.Set(discover.CommandOrigin, tools.Tools); err != nil {
		d.said = append(d.said, strings.Split(err.Error(), "\n")...)
	}
}

// wait waits until the command has ended, and returns failures: none if the context ends before.
func (d *discovery) wait(ctx context.Context) []string {
	select {
	case <-d.ended:
		return d.said
	case <-ctx.Done():
		return nil
	}
}

func (d *discovery) close() {
	d.stop()
	<-d.ended
}

// Discovered returns whether the discovery command has ended, and its messages. ok is false if none was run.
func (t *Tools) Discovered() (ended bool, said []string, ok bool) {
	if t.command == nil {
		return false, nil, false
	}
	select {
	case <-t.command.ended:
		return true, t.command.said, true
	default:
		return false, nil, true
	}
}
