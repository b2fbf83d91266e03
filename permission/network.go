package permission

import (
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// This file is rules about the network of commands: Network(registry.example.com), Network(*.example.com:443),
// Network(10.0.0.0/8), Network(registries).

//go:embed registries.txt
var registriesText string

// registries returns the hosts that Network(registries) stands for.
var registries = sync.OnceValue(func() []endpoint {
	lines, err := table.Lines(registriesText, 1)
	var out []endpoint
	for _, line := range table.Must(lines, err) {
		out = append(out, table.Must(parseEndpoint(line.Text)))
	}
	return out
})

// endpoint is what a rule on the network names.
type endpoint struct {
	host   string       // a name in lower case; "" if it is an address or a network
	below  bool         // the names below it, and not itself
	prefix netip.Prefix // an address is a network of one
	port   string       // "": for allow rules 443 and 80, for others every port
}

// parseEndpoints reads the specifier of a rule.
func parseEndpoints(spec string) ([]endpoint, error) {
	if spec == "registries" {
		return registries(), nil
	}
	e, err := parseEndpoint(spec)
	return []endpoint{e}, err
}

func parseEndpoint(spec string) (e endpoint, err error) {
	host, bad := strings.ToLower(spec), fmt.Errorf("%q is not a valid host, address or network", spec)
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") { // an address or network with colons
		host = host[1 : len(host)-1]
	} else if host[:min(1, len(host))] == "[" || strings.Count(host, ":") == 1 {
		if host, e.port, err = net.SplitHostPort(host); err != nil || e.port == "" {
			return e, bad
		}
	}
	if n, err := strconv.ParseUint(e.port, 10, 16); e.port != "" && (err != nil || n == 0) {
		return e, fmt.Errorf("%q: the port is not between 1 and 65535", spec)
	}
	if strings.Contains(host, "/") {
		p, err := netip.ParsePrefix(host)
		if err != nil {
			return e, bad
		}
		e.prefix = p.Masked()
		return e, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		e.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return e, nil
	}
	e.host, e.below = strings.CutPrefix(strings.TrimSuffix(host, "."), "*.")
	if e.host == "" || strings.Trim(e.host, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" || e.host[0] == '.' ||
		strings.Contains(e.host, "..") || isAddress(e.host) {
		return e, bad
	}
	return e, nil
}

// String returns the endpoint as written in rules.
func (e endpoint) String() string {
	host := e.host
	switch {
	case e.below:
		host = "*." + host
	case e.prefix.IsSingleIP():
		host = e.prefix.Addr().String()
	case host == "":
		host = e.prefix.String()
	}
	if e.port == "" {
		return host
	}
	return net.JoinHostPort(host, e.port)
}

// usual reports whether a port is that of HTTPS or HTTP.
func usual(port string) bool { return port == "443" || port == "80" }

// matches reports whether a rule matches a target that a command connects to: host:port, or an address. Without a port,
// a rule that allows is for the usual ports, and another one for every port.
func (r *rule) matches(to endpoint, allow bool) bool {
	if r.whole {
		return !allow || usual(to.port)
	}
	for _, e := range r.ends {
		switch {
		case e.port != "" && e.port != to.port && to.port != "", e.port == "" && allow && !usual(to.port):
		case to.host == "" && e.host == "" && e.prefix.Contains(to.prefix.Addr()):
			return true
		case to.host != "" && !e.below && e.host == to.host,
			to.host != "" && e.below && strings.HasSuffix(to.host, "."+e.host):
			return true
		}
	}
	return false
}

// meansNetwork returns whether a deny or ask rule on the network matches an access to a host.
func meansNetwork(u *rule, a tool.Access) match.Match {
	if a.Verb != tool.Reaches {
		return match.No
	}
	to, err := parseEndpoint(a.Target)
	switch {
	case err != nil: // it may be any
		return match.Maybe
	case u.matches(to, false):
		return match.Yes
	}
	return match.No
}

// coversNetwork reports whether an allow rule on the network covers an access of a command.
func coversNetwork(u *rule, r *tool.Request, a tool.Access) bool {
	if !connects(r, a) {
		return false
	}
	to, err := parseEndpoint(a.Target)
	return err == nil && u.matches(to, true)
}

// connects reports whether an access is a connection of a command.
func connects(r *tool.Request, a tool.Access) bool {
	return a.Verb == tool.Reaches && r.Declaration.Kind == tool.Execute && r.Declaration.Origin == ""
}

// networkRule returns the rule that allows a command to connect to a target.
func networkRule(target string) []string {
	to, err := parseEndpoint(target)
	if err != nil {
		return nil
	}
	if usual(to.port) {
		to.port = ""
	}
	return []string{"Network(" + to.String() + ")"}
}

// Address returns the rule that decides whether commands may connect to an address: a deny rule, else an ask rule, else
// an allow rule. Rules on host names are ignored. ok is false if no rule names the address or its network.
func (p *Policy) Address(addr netip.AddrPort) (v tool.Verdict, by tool.Rule, ok bool) {
	e := p.now()
	a := addr.Addr().Unmap()
	to := endpoint{prefix: netip.PrefixFrom(a, a.BitLen()), port: strconv.Itoa(int(addr.Port()))}
	allow := e.rules.allow
	for _, m := range e.remembered {
		allow = append(allow[:len(allow):len(allow)], m.rule)
	}
	for i, list := range [][]*rule{e.rules.deny, e.rules.ask, allow} {
		verdict := []tool.Verdict{tool.Deny, tool.Ask, tool.Allow}[i]
		for _, u := range list {
			if u.verb == networking && !u.whole && u.matches(to, verdict == tool.Allow) {
				return verdict, u.cite(false), true
			}
		}
	}
	return tool.Deny, tool.Rule{}, false
}

// IsNetwork reports whether a rule is about the network of commands.
func IsNetwork(rule string) bool {
	r, _ := parseRule(rule, true)
	return r.verb == networking
}
