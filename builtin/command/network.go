package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/broker"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/web"
	"github.com/adze-dev/adze/tool"
)

// Network is how commands that have a network namespace of their own reach hosts: through a proxy of Adze, if the
// policy allows an access of the verb [tool.Reaches] to host:port.
type Network struct {
	// On reports whether commands may reach anything now. nil: they may.
	On func() bool
	// Rule returns the rule that decides about an address; ok is false if no rule names it. Addresses that aren't
	// public require one that allows it. nil: there are none.
	Rule func(netip.AddrPort) (v tool.Verdict, by tool.Rule, ok bool)
	// Proxy returns the user's own proxy for a request, such as [http.ProxyFromEnvironment]; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver finds the addresses of hosts; nil: that of this machine.
	Resolver web.Resolver
	// Credentials are added to requests; nil: there are none.
	Credentials *broker.Credentials
}

// network is the network of one command.
type network struct {
	Network
	live    *tool.Live
	command string
	broker  atomic.Pointer[broker.Broker]

	asking sync.Mutex // one question at a time
	ctx    context.Context
	stop   context.CancelFunc
}

// openNetwork gives the command a network, if it has its own namespace for it.
func (c *shellCall) openNetwork() {
	c.network, c.command.Proxy, c.command.Held = nil, nil, nil
	o, s := c.shell.sandboxes.Network, c.command.Sandbox
	if o == nil || s == nil || s.Mode != sandbox.Trial && s.Mode != sandbox.Workspace || c.live.Ask == nil ||
		o.On != nil && !o.On() {
		return
	}
	n := &network{Network: *o, live: c.live, command: c.request.Command}
	n.ctx, n.stop = context.WithCancel(context.Background())
	c.network, c.command.Proxy, c.command.Held = n, n.serve, n.held
	c.command.Env = n.Credentials.Environ(c.command.Env)
}

// reads returns what a tried command may read, with the authorities that it has to trust.
func (n *Network) reads(granted []tool.Access) []tool.Access {
	if n == nil || n.Credentials.Bundle() == "" {
		return granted
	}
	return append(slices.Clip(granted), tool.Access{Verb: tool.Reads, Target: n.Credentials.Bundle()})
}

// serve serves the command's connections.
func (n *network) serve(l net.Listener) {
	client, err := web.New(web.Options{Proxy: n.Proxy, Resolver: n.Resolver})
	if err != nil {
		l.Close()
		return
	}
	if old := n.broker.Swap(broker.Serve(l, broker.Options{Client: client, Decide: n.decide,
		Check: n.check, Credentials: n.Credentials})); old != nil {
		old.Close() // of an attempt that failed
	}
}

func (n *network) held() time.Duration {
	if b := n.broker.Load(); b != nil {
		return b.Held()
	}
	return 0
}

// close closes all connections. It is called when the command has ended.
func (n *network) close() {
	if n == nil {
		return
	}
	n.stopAsking()
	if b := n.broker.Load(); b != nil {
		b.Close()
	}
}

// stopAsking is called when the call ends although the command continues: there is no more call to ask for.
func (n *network) stopAsking() {
	if n == nil {
		return
	}
	n.stop()
	n.asking.Lock() // until the last question is withdrawn
	defer n.asking.Unlock()
}

// decide decides about a host: by rules, or the user.
func (n *network) decide(ctx context.Context, t broker.Target) error {
	if t.Addr.IsValid() {
		if err := n.check(ctx, t, t.Addr, web.Private(t.Addr)); err != nil {
			return err
		}
	}
	return n.ask(ctx, t.Host, t)
}

// ask asks whether the command may connect to a target, unless rules answer that.
func (n *network) ask(ctx context.Context, host string, t broker.Target) error {
	n.asking.Lock()
	defer n.asking.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	shown := host
	if !t.Usual() {
		shown = net.JoinHostPort(host, t.Port)
	}
	if n.ctx.Err() != nil {
		return fmt.Errorf("%s: the call has ended, so no user can be asked. %s", shown, allowing(shown))
	}
	d, err := n.live.Ask(ctx, tool.Invocation{
		Description: programOf(n.command, host) + " wants " + shown,
		Access:      []tool.Access{{Verb: tool.Reaches, Target: net.JoinHostPort(host, t.Port)}},
		Confirm:     tool.Literal(Label(n.command) + "\nIt may send anything to that host, which can't be undone."),
	})
	denied := (*tool.DenialError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &denied) && d.Cause.Kind == tool.ByUser:
		return errors.New("denied by the user")
	case errors.As(err, &denied) && d.Cause.Kind == tool.ByRule:
		return fmt.Errorf("denied by the rule %s", d.Cause.Rules[0].Text)
	case errors.As(err, &denied):
		return fmt.Errorf("it requires approval. %s", allowing(shown))
	}
	return err
}

func allowing(host string) string { return "The rule Network(" + host + ") would allow it" }

// check decides about an address of a host: one that isn't public requires a rule that names it.
func (n *network) check(ctx context.Context, t broker.Target, a netip.Addr, private string) error {
	port := netip.MustParseAddrPort("0.0.0.0:" + t.Port).Port()
	verdict, by, ok := tool.Deny, tool.Rule{}, false
	if n.Rule != nil {
		verdict, by, ok = n.Rule(netip.AddrPortFrom(a, port))
	}
	switch {
	case !ok && private == "", ok && verdict == tool.Allow:
		return nil
	case !ok:
		return fmt.Errorf("the address %s is %s, and no rule names it. %s", a, private, allowing(a.String()))
	case verdict == tool.Deny:
		return fmt.Errorf("denied by the rule %s", by.Text)
	case t.Addr.IsValid():
		return nil // it is asked anyway
	}
	return n.ask(ctx, a.String(), t)
}

// uses returns how the command used hosts.
func (n *network) uses() []broker.Use {
	if n == nil || n.broker.Load() == nil {
		return nil
	}
	return n.broker.Load().Uses()
}

// hosts returns the hosts that the command used.
func (n *network) hosts() (out []tool.Host) {
	for _, u := range n.uses() {
		out = append(out, tool.Host{Name: u.Host, Sent: u.Sent, Received: u.Received, Failure: u.Failure})
	}
	return out
}

// denied reports whether a connection of the command was denied or failed.
func (n *network) denied() bool {
	return slices.ContainsFunc(n.uses(), func(u broker.Use) bool { return u.Failure != "" })
}

// lines returns the hosts that the command used, for its result.
func (n *network) lines() []string {
	const limit = 20
	var used, lines []string
	for _, u := range n.uses() {
		if u.Sent+u.Received > 0 {
			used = append(used, fmt.Sprintf("%s (%s sent, %s received)", u.Host, humanize.Bytes(u.Sent),
				humanize.Bytes(u.Received)))
		}
		if u.Failure != "" && len(lines) < limit {
			lines = append(lines, tool.Visible("No connection to "+u.Host+": "+strings.TrimSuffix(u.Failure, ".")+"."))
		}
		if u.Note != "" && len(lines) < limit {
			lines = append(lines, tool.Visible(u.Host+": "+u.Note+"."))
		}
	}
	if len(used) > 0 {
		lines = append([]string{tool.Visible("Network: " + humanize.List(used, limit))}, lines...)
	}
	return lines
}

// programOf returns the name of the program that wants a host: the one that has it in its arguments, or the only one.
func programOf(command, host string) string {
	const several = "the command"
	f, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return several
	}
	name, names := "", false // names: it has the host in its arguments
	syntax.Walk(f, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || names || len(call.Args) == 0 {
			return !names
		}
		around := []string{".", "cd", "exec", "export", "set", "echo", "true"}
		word := path.Base(call.Args[0].Lit())
		if slices.Contains(around, word) {
			return true
		}
		names = strings.Contains(command[call.Pos().Offset():call.End().Offset()], host)
		if names || name == "" {
			name = tool.Visible(word)
		} else if name != word {
			name = several
		}
		return true
	})
	return cmp.Or(name, several)
}
