package web

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Target is a URL in canonical form. A [Client] decides whether it may be fetched.
type Target struct {
	url  url.URL // scheme http or https; no user, no fragment; host canonical; no default port
	host host
	port string // never empty
}

// URLError explains why a URL can't be fetched.
type URLError struct {
	URL    string // shortened, and without a password
	Reason string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return e.Reason
	}
	return fmt.Sprintf("the URL %s: %s", e.URL, e.Reason)
}

const maxURL = 8 << 10

// Parse reads a URL.
func Parse(raw string) (Target, error) {
	t, reason := parse(strings.TrimSpace(raw))
	if reason != "" {
		return Target{}, &URLError{shown(raw), reason}
	}
	return t, nil
}

func parse(raw string) (Target, string) {
	if reason := oddCharacters(raw); reason != "" {
		return Target{}, reason
	}
	u, err := url.Parse(raw)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return Target{}, fmt.Sprintf("it can't be parsed (%v)", err)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme == "":
		return Target{}, "it has no scheme. Add https://"
	case u.Scheme != "http" && u.Scheme != "https":
		return Target{}, "only http and https can be fetched"
	case u.User != nil:
		return Target{}, "it contains a user name or password. Remove it, because it would be logged and sent"
	case u.Opaque != "" || u.Host == "":
		return Target{}, "it has no host"
	}
	h, err := parseHost(hostOf(u))
	if err != nil {
		return Target{}, "its host is not valid: " + err.Error()
	}
	t := Target{host: h, port: defaultPort(u.Scheme)}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Target{}, "its port is not between 1 and 65535"
		}
		t.port = strconv.FormatUint(n, 10)
	}
	t.url = url.URL{Scheme: u.Scheme, Path: u.Path, RawPath: u.RawPath, RawQuery: escapedQuery(u.RawQuery)}
	t.url.Host = t.hostPort()
	if t.url.Path == "" {
		t.url.Path = "/"
	}
	return t, ""
}

// escapedQuery returns a query as it is sent. Package url doesn't escape other scripts in it, which many servers
// reject.
func escapedQuery(q string) string {
	var b strings.Builder
	for _, c := range []byte(q) {
		if c >= 0x80 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hostOf returns the host of a URL with the brackets of an IPv6 address, which Hostname removes.
func hostOf(u *url.URL) string {
	if strings.HasPrefix(u.Host, "[") {
		return "[" + u.Hostname() + "]"
	}
	return u.Hostname()
}

func oddCharacters(raw string) string {
	switch {
	case raw == "":
		return "it is empty"
	case len(raw) > maxURL:
		return fmt.Sprintf("it has %d characters (maximum: %d)", len(raw), maxURL)
	case !utf8.ValidString(raw):
		return "it contains bytes that are not UTF-8"
	}
	for _, r := range raw {
		if r <= ' ' || r == 0x7f || r >= 0x80 && r <= 0xa0 || r == '\\' || r == '<' || r == '>' || r == '"' ||
			r == '`' {
			return fmt.Sprintf("it contains the character %q. Escape it", r)
		}
	}
	return ""
}

// shown returns a URL for a message: limited, printable, without a password.
func shown(raw string) string {
	raw = strings.TrimSpace(raw)
	if scheme, rest, ok := strings.Cut(raw, "//"); ok {
		end := strings.IndexAny(rest, `/?#\`)
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
			raw = scheme + "//…@" + rest[at+1:]
		}
	}
	quoted := strconv.QuoteToGraphic(humanize.Cut(raw, 120))
	return quoted[1 : len(quoted)-1]
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// String returns the URL.
func (t Target) String() string { return t.url.String() }

// URL returns a copy of the URL.
func (t Target) URL() *url.URL { u := t.url; return &u }

// Host returns the host as in the URL, with its port if that isn't the default: what a policy judges.
func (t Target) Host() string { return t.url.Host }

// Path returns the path of the URL.
func (t Target) Path() string { return t.url.Path }

func (t Target) hostPort() string {
	if t.port == defaultPort(t.scheme()) {
		return t.host.String()
	}
	return t.host.String() + ":" + t.port
}

func (t Target) scheme() string { return t.url.Scheme }

// withScheme returns the target with the other scheme, at its default port.
func (t Target) withScheme(scheme string) Target {
	t.url.Scheme = scheme
	t.port = defaultPort(scheme)
	t.url.Host = t.host.String()
	return t
}

// usualPort reports whether the URL has the default port.
func (t Target) usualPort() bool { return t.port == defaultPort(t.scheme()) }

// Raw returns the URL of the raw file for a GitHub page of a file; other targets are returned unchanged.
func (t Target) Raw() Target {
	if t.host.name != "github.com" || !t.usualPort() {
		return t
	}
	parts := strings.SplitN(strings.TrimPrefix(t.url.EscapedPath(), "/"), "/", 4)
	if len(parts) != 4 || parts[2] != "blob" || parts[0] == "" || parts[1] == "" || !strings.Contains(parts[3], "/") {
		return t
	}
	raw, err := Parse("https://raw.githubusercontent.com/" + parts[0] + "/" + parts[1] + "/" + parts[3])
	if err != nil {
		return t
	}
	return raw
}

// follow resolves a Location header.
func (t Target) follow(location string) (Target, error) {
	ref, err := url.Parse(location)
	if err != nil {
		return Target{}, &URLError{shown(location), "it can't be parsed"}
	}
	return Parse(t.url.ResolveReference(ref).String())
}

// HostPort returns the host, always with its port: an entry of [Options].AllowPrivate for exactly this target.
func (t Target) HostPort() string { return t.host.String() + ":" + t.port }
