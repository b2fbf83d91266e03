package permission

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// find returns the deny or ask rule that matches an access best.
func find(rules []*rule, r *tool.Request, a tool.Access, f *finding) (*rule, match.Match) {
	var best *rule
	sure := match.No
	for _, u := range rules {
		if m := means(u, r, a, f); m > sure {
			best, sure = u, m
		}
	}
	return best, sure
}

// means returns whether a deny or ask rule matches an access of a tool. If that can't be decided, it may match.
func means(u *rule, r *tool.Request, a tool.Access, f *finding) match.Match {
	ofTool := u.ofTool(&r.Declaration, false)
	switch {
	case u.verb == networking && !ofTool:
		return meansNetwork(u, a)
	case ofTool && u.whole:
		return match.Yes
	case a.Verb == tool.Reads || a.Verb == tool.Writes:
		if ofTool || u.verb == reading && a.Verb == tool.Reads || u.verb == writing && a.Verb == tool.Writes {
			return meansPath(u, f)
		}
	case a.Verb == tool.Reaches && ofTool:
		return meansHost(u, a.Target)
	case ofTool && a.Verb != tool.Execs:
		return match.Yes // a specifier that doesn't apply to such an access
	}
	return match.No
}

// meansPath returns whether a rule matches a path. Built-in searches omit secrets themselves; commands don't.
func meansPath(u *rule, f *finding) match.Match {
	switch {
	case u.whole || !u.isPath:
		return match.Yes
	case f.path == "":
		return match.Maybe
	}
	switch u.path.reaches(f.parts) {
	case unresolved:
		return match.Maybe
	case exact, abovePath:
		return match.Yes
	case belowPath:
		if f.dir && (f.inCommand && !f.names || !(f.class == harmless && u.path.names(true))) {
			return match.Maybe
		}
	}
	return match.No
}

// covers reports whether an allow rule covers an access of a tool.
func covers(u *rule, r *tool.Request, a tool.Access, f *finding) bool {
	ofTool := u.ofTool(&r.Declaration, true)
	switch {
	case a.Verb == tool.Execs:
		return false // see command
	case u.verb == networking:
		return coversNetwork(u, r, a)
	case a.Verb == tool.Reads && (ofTool || u.verb == reading), a.Verb == tool.Writes && (ofTool || u.verb == writing):
		return coversPath(u, f)
	case a.Verb == tool.Reads && u.verb == writing && wrote(r, a.Target) && !f.exact:
		return coversPath(u, f) // changing a file shows its old content
	case a.Verb == tool.Reaches && ofTool && !u.whole:
		return coversHost(u, a.Target)
	}
	return ofTool && (u.whole || u.boundTo(&r.Declaration)) && !f.exact
}

func wrote(r *tool.Request, target string) bool {
	for _, a := range r.Access {
		if a.Verb == tool.Writes && a.Target == target {
			return true
		}
	}
	return false
}

// coversPath reports whether an allow rule covers a path. Secrets and protected names are only covered by a rule that
// names them.
func coversPath(u *rule, f *finding) bool {
	if u.whole {
		return !f.exact
	}
	if !u.isPath || f.path == "" || u.path.reaches(f.parts) != exact {
		return false
	}
	if !f.exact || u.path.literal() && !f.dir {
		return true
	}
	if f.dir { // everything below a directory: the rule must say exactly that
		comps, own := u.path.at, f.parts
		return len(comps) == len(own)+1 && comps[len(own)] == "**" &&
			!strings.ContainsAny(strings.Join(u.path.comps, "/"), "?[") &&
			strings.Count(strings.Join(u.path.comps, "/"), "*") == 2
	}
	return u.path.names(f.class == otherRead)
}

// domain is a host with its subdomains, and optionally a port: the specifier of a rule on hosts, or the target of an
// access.
type domain struct {
	host string // in lower case, without a final dot; an IPv6 address without brackets
	port string // "": none
}

// parseDomain reads example.com, example.com:8080, [::1]:8080 or ::1. A prefix "*." is accepted and has no effect.
func parseDomain(s string) (domain, error) {
	text := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "*.")
	d := domain{host: text}
	if inner, open := strings.CutPrefix(text, "["); open {
		var rest string
		var closed bool
		if d.host, rest, closed = strings.Cut(inner, "]"); !closed || rest != "" && rest[0] != ':' {
			return domain{}, fmt.Errorf("%q is not a valid host name", s)
		}
		d.port = strings.TrimPrefix(rest, ":")
	} else if strings.Count(text, ":") == 1 {
		d.host, d.port, _ = strings.Cut(text, ":")
	}
	d.host = strings.TrimSuffix(d.host, ".")
	if strings.Contains(d.host, ":") {
		addr, err := netip.ParseAddr(d.host)
		if err != nil || addr.Zone() != "" {
			return domain{}, fmt.Errorf("%q is not a valid host name", s)
		}
		d.host = addr.String()
	} else if d.host == "" || strings.Trim(d.host, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" ||
		d.host[0] == '.' || strings.Contains(d.host, "..") {
		return domain{}, fmt.Errorf("%q is not a valid host name", s)
	}
	if strings.Trim(d.port, "0123456789") != "" {
		return domain{}, fmt.Errorf("%q: the port is not a number", s)
	}
	return d, nil
}

// String returns the domain as written in rules.
func (d domain) String() string {
	host := d.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if d.port == "" {
		return host
	}
	return host + ":" + d.port
}

// holds reports whether a host is the domain or a subdomain. IP addresses have no subdomains.
func (d domain) holds(host string) bool {
	return host == d.host || strings.HasSuffix(host, "."+d.host) && !isAddress(d.host)
}

func isAddress(host string) bool {
	return strings.Contains(host, ":") || strings.Trim(host[strings.LastIndexByte(host, '.')+1:], "0123456789") == ""
}

// meansHost returns whether a deny or ask rule matches a host. A rule without a port matches every port; a target
// without a port has the default one.
func meansHost(u *rule, target string) match.Match {
	d := u.domain
	if d.host == "" {
		var err error
		if d, err = parseDomain(u.spec); err != nil {
			return match.Yes
		}
	}
	if target == "*" {
		return match.Maybe
	}
	t, err := parseDomain(target)
	switch {
	case err != nil:
		return match.Maybe // an invalid host may be any
	case !d.holds(t.host):
		return match.No
	case d.port == "" || d.port == t.port || t.port == "" && (d.port == "80" || d.port == "443"):
		return match.Yes
	}
	return match.No
}

// coversHost reports whether an allow rule covers a host: exactly the port it names, or without one the default ports,
// which targets omit.
func coversHost(u *rule, target string) bool {
	t, err := parseDomain(target)
	return err == nil && u.domain.host != "" && u.domain.holds(t.host) && u.domain.port == t.port
}

// hostRule returns the rule on a host.
func hostRule(subject, target string) []string {
	d, err := parseDomain(target)
	if err != nil || target == "*" {
		return nil
	}
	return []string{subject + "(domain:" + d.String() + ")"}
}
