package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// discoveryWait is how long a command waits for tools from outside: a little longer than any of them may take, so that
// what is said in the end is why it failed.
const discoveryWait = 10*time.Second + 300*time.Millisecond

// notYet is said of a server that is still being waited for.
const notYet = "it has not answered within 10 s; adze mcp logs shows what it said"

// outside is the tools of a session that come from elsewhere. Its zero value has none.
type outside struct {
	servers  *discover.Servers
	problems []string        // of configurations that cannot be read
	found    <-chan struct{} // closed when the discovery command has ended; nil: there is none
	said     []string        // by then
	until    time.Time
	stop     context.CancelFunc
	told     bool
}

// connect makes the tools from outside known, if any are configured, and waits for none. only, if not empty, is the one
// server that is wanted.
func (s *session) connect(env Env, only string) {
	if s.outside != nil {
		return
	}
	o := &outside{until: time.Now().Add(discoveryWait)}
	s.outside = o
	servers, problems := configured(env, s.settings)
	o.problems = problems
	if only != "" {
		maps.DeleteFunc(servers, func(alias string, _ discover.Server) bool { return alias != only })
		o.problems = slices.DeleteFunc(problems, func(p string) bool { return !strings.HasPrefix(p, "MCP server "+only+": ") })
	} else if s.settings.Tools.DiscoveryCommand != "" {
		s.discoverTools(env, o)
	}
	if len(servers) == 0 {
		return
	}
	o.servers = discover.Open(servers, discover.Options{
		Registry: s.exec.Registry, Dir: s.dir, State: mcpState(s.home), Environ: env.Environ, Version: env.Version,
		OpenURL: func(address string) error { return showAddress(env, address) }, Sample: s.sampling,
	})
	s.exec.Policy = trusting(s.exec.Policy, s.policy.Mode, o.servers.Trusted)
}

// mcpState is where manifests, logs and logins of servers are kept.
func mcpState(home string) string { return filepath.Join(home, "mcp") }

// discoverTools runs the discovery command beside everything else.
func (s *session) discoverTools(env Env, o *outside) {
	life, stop := context.WithCancel(context.Background())
	found := make(chan struct{})
	o.found, o.stop = found, stop
	c := discover.Command{
		Discover: s.settings.Tools.DiscoveryCommand, Call: s.settings.Tools.CallCommand, Dir: s.dir, Env: env.Environ,
	}
	go func() {
		defer close(found)
		tools, err := c.Tools(life)
		for _, warning := range tools.Warnings {
			o.said = append(o.said, "tools of "+c.Discover+": "+warning)
		}
		if err != nil {
			o.said = append(o.said, err.Error())
		}
		if err := s.exec.Registry.Set(discover.CommandOrigin, tools.Tools); err != nil {
			o.said = append(o.said, err.Error())
		}
	}()
}

// settle waits for the tools from outside that are still on their way, and tells once what failed. Nothing here stops
// the run: it goes on with the tools that are there.
func (s *session) settle(ctx context.Context, env Env) {
	s.settleWith(ctx, env, (*discover.Servers).Wait)
}

// settleSoon is settle for a person who waits for an answer: a server that kept them waiting in vain is not waited for
// again.
func (s *session) settleSoon(ctx context.Context, env Env) {
	s.settleWith(ctx, env, (*discover.Servers).WaitLikely)
}

func (s *session) settleWith(ctx context.Context, env Env, wait func(*discover.Servers, context.Context) error) {
	s.settling.Lock()
	defer s.settling.Unlock()
	s.connect(env, "")
	problems := s.outside.waitWith(ctx, wait)
	if s.outside.told || ctx.Err() != nil {
		return
	}
	s.outside.told = true
	for _, p := range problems {
		fmt.Fprintf(env.Stderr, "adze: %s\n", tool.Visible(p))
	}
}

// settleFor waits for tools from outside until the one of this name is there: what is known is not held up by servers
// that have nothing to do with it.
func (s *session) settleFor(ctx context.Context, env Env, name string) {
	if s.declares(name) {
		return
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	go func() {
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for !s.declares(name) {
			select {
			case <-look.C:
			case <-waiting.Done():
				return
			}
		}
		enough()
	}()
	s.settle(waiting, env)
}

// declares reports whether a tool is known by its own name. One that is only accepted under it, such as the bare name of
// a server's tool, may still have to make way for another; for a built-in tool nothing has.
func (s *session) declares(name string) bool {
	t, err := s.exec.Registry.Lookup(name)
	return err == nil && (t.Declaration().Origin == "" || t.Declaration().Name == name)
}

// wait waits for what is on its way and gives what went wrong.
func (o *outside) wait(ctx context.Context) []string {
	return o.waitWith(ctx, (*discover.Servers).Wait)
}

func (o *outside) waitWith(ctx context.Context, wait func(*discover.Servers, context.Context) error) []string {
	ctx, cancel := context.WithDeadline(ctx, o.until)
	defer cancel()
	problems := slices.Clone(o.problems)
	if o.found != nil {
		select {
		case <-o.found:
			problems = append(problems, o.said...)
		case <-ctx.Done():
			problems = append(problems, "discover tools: the command has not ended yet; going on without its tools")
		}
	}
	if o.servers != nil {
		if err := wait(o.servers, ctx); err != nil {
			text := strings.ReplaceAll(err.Error(), ": "+context.DeadlineExceeded.Error(), ": "+notYet)
			problems = append(problems, strings.Split(text, "\n")...)
		}
	}
	return problems
}

// close ends all that was started.
func (o *outside) close() {
	if o == nil {
		return
	}
	if o.stop != nil {
		o.stop()
		<-o.found
	}
	if o.servers != nil {
		o.servers.Close()
	}
}

// configured are the servers that settings name, with the values of variables filled in, and what is wrong with others.
func configured(env Env, set *settings.Settings) (servers map[string]discover.Server, problems []string) {
	servers = map[string]discover.Server{}
	for _, alias := range slices.Sorted(maps.Keys(set.MCP.Servers)) {
		written := set.MCP.Servers[alias]
		var server discover.Server
		if err := json.Unmarshal(written.JSON, &server); err != nil {
			problems = append(problems, fmt.Sprintf("MCP server %s: %s: %s", alias, written.From, misread(err)))
			continue
		}
		servers[alias] = server.Expand(env.variable)
	}
	if line := set.MCP.ServerCommand; line != "" {
		words, err := discover.Words(line)
		_, taken := servers["mcp"]
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("MCP server mcp: %v", err))
		case taken:
			problems = append(problems, "mcp.mcpServerCommand is ignored: mcpServers has a server named mcp")
		case len(words) > 0:
			servers["mcp"] = discover.Server{Command: words[0], Args: words[1:]}.Expand(env.variable)
		}
	}
	var allowed []string
	if set.MCP.Allowed != nil {
		allowed = append([]string{}, texts(set.MCP.Allowed)...)
	}
	return discover.Select(servers, allowed, texts(set.MCP.Excluded)), problems
}

// misread says what is wrong with a configuration in the words of JSON.
func misread(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Slice: "a list of strings",
	}[wrong.Type.Kind()]
	if want == "" {
		want = "an object"
	}
	return fmt.Sprintf("%s must be %s, got a JSON %s", wrong.Field, want, wrong.Value)
}

// variable looks a variable of the environment up.
func (env Env) variable(name string) (string, bool) {
	if v := env.Getenv(name); v != "" {
		return v, true
	}
	_, set := os.LookupEnv(name)
	return "", set
}

// trusting is a policy that does not ask about tools of servers which the person trusts, where nothing but the table of
// modes would have it ask: rules count as ever, and plan mode stays closed.
func trusting(judge tool.Policy, mode func() permission.Mode, trusted func(origin string) bool) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		m := mode()
		if d.Verdict != tool.Ask || r.MustAsk || m != permission.Default && m != permission.AutoEdit {
			return d
		}
		if !strings.HasSuffix(d.Reason, ", in "+m.String()+" mode") || !trusted(r.Declaration.Origin) {
			return d
		}
		return tool.Decision{Verdict: tool.Allow, Reason: "the server is configured with trust"}
	}
}

// showAddress gives an address to the person: printed, and in a browser where one can be opened.
func showAddress(env Env, address string) error {
	_, err := io.WriteString(env.Stderr, "Open this address in a browser:\n  "+tool.Visible(address)+"\n")
	if env.Terminal {
		openBrowser(address)
	}
	return err
}
