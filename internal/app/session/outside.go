package session

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
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/tool"
)

// serversWait is how long to wait for all MCP servers together. One may take longer to start; its tools appear when it
// answers, and only a call for this server waits for it.
const serversWait = 10 * time.Second

// untrusted is the error of a server that only an untrusted project configures.
const untrusted = "this project isn't trusted; run adze trust"

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

// Outside is the external tools of a session. It has none until it is connected.
type Outside struct {
	env       project.Env
	directory project.Directory
	settings  *settings.Settings
	plugins   []*plugin.Plugin
	executor  *tool.Executor
	models    *models.Models
	sample    func(context.Context, discover.Sampling) (discover.Sampled, error) // nil: servers can't use a model

	settling  sync.Mutex // calls may wait concurrently
	connected bool
	servers   *discover.Servers // nil: there are none
	problems  []Problem         // of invalid configurations
	command   *discovery        // nil: there is none
	until     time.Time
	told      bool
	one       string // the only MCP server to use; empty: all
	more      map[string]discover.Server
}

// Add adds MCP servers for this session, which replace configured ones of the same name. It must be called before
// Connect. mcp.allowed and mcp.excluded apply to them too.
func (o *Outside) Add(servers map[string]discover.Server) error {
	o.settling.Lock()
	defer o.settling.Unlock()
	if o.connected {
		return errors.New("MCP servers can't be added after the first message")
	}
	if o.more == nil {
		o.more = map[string]discover.Server{}
	}
	maps.Copy(o.more, servers)
	return nil
}

// configured returns the servers of plugins and settings, and the added ones.
func (o *Outside) configured() (servers map[string]discover.Server, problems []Problem) {
	return configured(o.env, o.plugins, o.settings.MCP, o.more)
}

// Connect starts connecting to the configured external tools, and doesn't wait. A second call does nothing.
func (o *Outside) Connect() {
	o.settling.Lock()
	defer o.settling.Unlock()
	o.connect()
}

func (o *Outside) connect() {
	if o.connected {
		return
	}
	servers, problems := o.configured()
	switch {
	case o.settings.Tools.DiscoveryCommand == "":
	case o.nested():
		problems = append(problems, Problem{Text: "the tool discovery command is skipped: " + startedByAdze})
	default:
		o.command = o.discover()
	}
	o.begin(servers, problems)
}

// startedByAdze is why a nested Adze uses no external tools.
const startedByAdze = "another Adze started this one (" + discover.Nested + " is set)"

// nested reports whether another Adze started this one for external tools. Then this one uses none: its settings may
// start it again.
func (o *Outside) nested() bool { return o.env.Getenv(discover.Nested) != "" }

// ConnectServers is Connect for MCP servers only.
func (o *Outside) ConnectServers() {
	o.settling.Lock()
	defer o.settling.Unlock()
	if !o.connected {
		o.begin(o.configured())
	}
}

// ConnectOne is Connect for one MCP server only, in a session that isn't connected. The error says why it isn't
// available.
func (o *Outside) ConnectOne(alias string) error {
	all, problems := o.configured()
	one := maps.Clone(all)
	maps.DeleteFunc(one, func(other string, _ discover.Server) bool { return other != alias })
	o.one = alias
	o.begin(one, slices.DeleteFunc(problems, func(p Problem) bool { return p.Server != alias }))
	if o.servers != nil {
		return nil
	}
	if len(o.problems) > 0 {
		return errors.New(o.problems[0].String())
	}
	return o.Find(alias)
}

// Find returns an error if there is no such MCP server, with the reason; nil: there is one, which may not be started.
func (o *Outside) Find(alias string) error {
	all, problems := o.configured()
	if _, ok := all[alias]; ok || slices.ContainsFunc(problems, func(p Problem) bool { return p.Server == alias }) {
		return nil
	}
	for _, item := range project.WithheldServers(o.settings) {
		if item.What == alias {
			return fmt.Errorf("MCP server %s: %s", alias, untrusted)
		}
	}
	if _, ok := o.settings.MCP.Servers[alias]; ok {
		return fmt.Errorf("MCP server %s: excluded by mcp.allowed or mcp.excluded", alias)
	}
	known := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	if known == "" {
		known = "none"
	}
	return fmt.Errorf("unknown MCP server %q (configured: %s)", alias, known)
}

// Configured returns the names of the MCP servers, and the problems of invalid ones.
func (o *Outside) Configured() (aliases []string, problems []Problem) {
	all, problems := o.configured()
	return slices.Sorted(maps.Keys(all)), problems
}

// begin opens the servers, if there are any.
func (o *Outside) begin(servers map[string]discover.Server, problems []Problem) {
	o.connected, o.until, o.problems = true, time.Now().Add(serversWait), problems
	if len(servers) == 0 {
		return
	}
	if o.nested() {
		for _, alias := range slices.Sorted(maps.Keys(servers)) {
			o.problems = append(o.problems, Problem{alias, "skipped: " + startedByAdze})
		}
		return
	}
	o.servers = discover.Open(servers, discover.Options{
		Registry: o.executor.Registry, Dir: o.directory.Path, State: o.directory.MCPState(), Environ: o.env.Environ,
		Version: o.env.Version,
		OpenURL: o.env.Show, Sample: o.sample, Hurry: o.env.Hurry,
	})
	o.executor.Policy = trusting(o.executor.Policy, o.servers.Trusted)
}

// Settle waits for the external tools that are still starting, and reports failures once. The run continues with the
// available tools.
func (o *Outside) Settle(ctx context.Context) { o.settleWith(ctx, (*discover.Servers).Wait) }

// WaitLikely is Settle for a user who waits for an answer: it doesn't wait for a server that timed out before.
func (o *Outside) WaitLikely(ctx context.Context) { o.settleWith(ctx, (*discover.Servers).WaitLikely) }

func (o *Outside) settleWith(ctx context.Context, wait func(*discover.Servers, context.Context) error) {
	o.settling.Lock()
	defer o.settling.Unlock()
	o.connect()
	problems := o.waitWith(ctx, wait)
	if o.told || ctx.Err() != nil {
		return
	}
	o.told = true
	for _, p := range problems {
		o.env.Notice(tool.Visible(p))
	}
}

// SettleFor waits for external tools until the one of this name is available, without waiting for other servers.
func (o *Outside) SettleFor(ctx context.Context, name string) {
	if o.declares(name) {
		return
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	if o.waitForOwner(waiting, name) {
		return
	}
	go func() {
		for {
			changed := o.executor.Registry.Changed() // before declares, so that no change is missed
			if o.declares(name) {
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
	o.Settle(waiting)
}

// waitForOwner waits for the MCP server in the name of a tool, until its start timeout, and reports whether it has the
// tool.
func (o *Outside) waitForOwner(ctx context.Context, name string) bool {
	o.settling.Lock()
	o.connect()
	servers := o.servers
	o.settling.Unlock()
	if servers == nil {
		return false
	}
	if alias := servers.Owner(name); alias != "" {
		servers.WaitFor(ctx, alias) // Settle reports the error
	}
	return o.declares(name)
}

// declares reports whether a tool is declared by this exact name. If a name is only accepted, such as the bare name of
// a server's tool, another tool may still take it; not so for a built-in tool.
func (o *Outside) declares(name string) bool {
	t, err := o.executor.Registry.Lookup(name)
	return err == nil && (t.Declaration().Origin == "" || t.Declaration().Name == name)
}

// Wait waits for tools that are starting and returns failures, without reporting them to the user.
func (o *Outside) Wait(ctx context.Context) []string {
	return o.waitWith(ctx, (*discover.Servers).Wait)
}

func (o *Outside) waitWith(ctx context.Context, wait func(*discover.Servers, context.Context) error) []string {
	var problems []string
	for _, p := range o.problems {
		problems = append(problems, p.String())
	}
	if o.one != "" && o.servers != nil {
		if err := o.servers.WaitFor(ctx, o.one); err != nil {
			problems = append(problems, fmt.Sprintf("MCP server %s: %v", o.one, err))
		}
		return problems
	}
	if o.command != nil { // it has a time limit of its own
		problems = append(problems, o.command.wait(ctx)...)
	}
	if o.servers != nil {
		ctx, cancel := context.WithDeadline(ctx, o.until)
		defer cancel()
		for _, err := range joined(wait(o.servers, ctx)) {
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
func (o *Outside) Servers() *discover.Servers { return o.servers }

// Resources returns the resources that MCP servers listed so far, without templates.
func (o *Outside) Resources() []discover.Resource {
	if o.servers == nil {
		return nil
	}
	return slices.DeleteFunc(o.servers.Resources(), func(r discover.Resource) bool { return r.Template })
}

// List returns the status of the MCP servers.
func (o *Outside) List() []discover.Status {
	if o.servers == nil {
		return nil
	}
	return o.servers.List()
}

// Connected counts the MCP servers and the usable ones, and reports whether some are starting.
func (o *Outside) Connected() (servers, usable int, starting bool) {
	for _, st := range o.List() {
		switch st.State {
		case discover.Skipped:
			continue
		case discover.Ready, discover.Cached:
			usable++
		case discover.Starting:
			starting = true
		}
		servers++
	}
	return servers, usable, starting
}

// Problems returns the invalid configurations of external tools.
func (o *Outside) Problems() []Problem { return o.problems }

// close stops everything that was started.
func (o *Outside) close() {
	if o.command != nil {
		o.command.close()
	}
	if o.servers != nil {
		if names := o.servers.Installing(); len(names) > 0 {
			o.env.Notice("waiting up to 10 s for MCP servers that are still being installed: " +
				tool.Visible(strings.Join(names, ", ")) + "\nPress Ctrl-C to stop them.")
		}
		o.servers.Close()
	}
}

// discovery is a run of the command that lists a project's own tools.
type discovery struct {
	ended <-chan struct{}
	said  []string // by then
	stop  context.CancelFunc
}

// discover runs the discovery command in the background.
func (o *Outside) discover() *discovery {
	c := discover.Command{
		Discover: o.settings.Tools.DiscoveryCommand, Call: o.settings.Tools.CallCommand, Dir: o.directory.Path,
		Env:     o.env.Environ,
		Timeout: time.Duration(o.settings.Tools.CallTimeout) * time.Millisecond,
	}
	life, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	d := &discovery{ended: ended, stop: stop}
	go func() {
		defer close(ended)
		d.run(life, c, o.executor.Registry)
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
func (o *Outside) Discovered() (ended bool, said []string, ok bool) {
	if o.command == nil {
		return false, nil, false
	}
	select {
	case <-o.command.ended:
		return true, o.command.said, true
	default:
		return false, nil, true
	}
}
