package discover

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the configuration of one MCP server, under the names that settings files use.
type Server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`

	HTTPURL string `json:"httpUrl,omitempty"` // streamable HTTP
	URL     string `json:"url,omitempty"`     // SSE, unless Type says http
	// stdio, http (also streamable-http), sse; empty: derived from the fields that are set
	Type    string            `json:"type,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   *OAuth            `json:"oauth,omitempty"`

	Timeout      int64    `json:"timeout,omitempty"`      // for a call without progress, in milliseconds
	StartTimeout int64    `json:"startTimeout,omitempty"` // for a start, including its lists, in milliseconds
	Trust        bool     `json:"trust,omitempty"`        // its tools run without approval; only used by the policy
	Elsewhere    bool     `json:"-"`                      // it runs on another machine, whatever its command line says
	Description  string   `json:"description,omitempty"`
	IncludeTools []string `json:"includeTools,omitempty"` // only these, by the server's names; "name(…)" counts as name
	ExcludeTools []string `json:"excludeTools,omitempty"` // not these, even if included
	Roots        []string `json:"roots,omitempty"`        // directories that the server may know

	// Other spellings of StartTimeout, which wins: qwen-code's and codex's.
	DiscoveryTimeoutMs int64   `json:"discoveryTimeoutMs,omitempty"`
	StartupTimeoutSec  float64 `json:"startup_timeout_sec,omitempty"`

	// Dial, if not nil, opens a connection to a server that this program doesn't start or connect to itself. Its lists
	// aren't cached.
	Dial func() Messages `json:"-"`

	identity string // see Identity; set by Expand
	target   string // the command or URL as written, because values of variables may be secret; set by Expand
}

// OAuth configures the login to a server, if discovery is not enough.
type OAuth struct {
	Enabled      *bool    `json:"enabled,omitempty"`  // false: never log in; nil means true
	ClientID     string   `json:"clientId,omitempty"` // an https URL is a client metadata document
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`      // instead of those that the server requests
	RedirectURI  string   `json:"redirectUri,omitempty"` // on loopback; empty: any free port

	// URLs for servers that don't announce them. The first two go together.
	AuthorizationURL string `json:"authorizationUrl,omitempty"`
	TokenURL         string `json:"tokenUrl,omitempty"`
	RegistrationURL  string `json:"registrationUrl,omitempty"`
}

// transport is the kind of connection to a server.
type transport string

const (
	launched   transport = "stdio"
	streamable transport = "http"
	sse        transport = "sse"
	dialed     transport = "sdk"
)

// transport returns the kind of connection, or an error if the configuration is incomplete.
func (s Server) transport() (transport, error) {
	if s.Timeout < 0 {
		return "", fmt.Errorf("timeout: %d is not a valid number of milliseconds", s.Timeout)
	}
	if s.StartTimeout < 0 || s.DiscoveryTimeoutMs < 0 || s.StartupTimeoutSec < 0 {
		return "", errors.New("startTimeout: expected a positive number of milliseconds")
	}
	if s.Dial != nil {
		return dialed, nil
	}
	kind := transport(strings.ToLower(s.Type))
	switch kind {
	case "streamable-http", "streamablehttp":
		kind = streamable
	case "":
		switch {
		case s.HTTPURL != "":
			kind = streamable
		case s.URL != "":
			kind = sse
		default:
			kind = launched
		}
	}
	switch kind {
	case launched:
		if s.Command == "" {
			return "", errors.New("no command, httpUrl or url")
		}
		return kind, nil
	case streamable, sse:
		key := "url"
		if s.HTTPURL != "" {
			key = "httpUrl"
		}
		if err := checkURL(s.endpoint()); err != nil {
			return kind, fmt.Errorf("%s: %w", key, err)
		}
		return kind, nil
	}
	return "", fmt.Errorf("invalid type %q (expected stdio, http or sse)", s.Type)
}

func (s Server) endpoint() string {
	if s.HTTPURL != "" {
		return s.HTTPURL
	}
	return s.URL
}

// Target returns the command or URL to show, without a password, and with variables unexpanded.
func (s Server) Target() string {
	if s.target != "" {
		return s.target
	}
	switch kind, _ := s.transport(); kind {
	case dialed:
		return "the program that drives this session"
	case launched:
		return quote(append([]string{s.Command}, s.Args...))
	}
	address := s.endpoint()
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

// checkURL allows only http and https URLs: others may start programs.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not an http(s) URL", address)
	}
	return nil
}

// Hash identifies the part of the configuration that determines what is run or connected to. Trust and cached manifests
// are valid only for the same hash.
func (s Server) Hash() string {
	s.Trust, s.Description, s.Timeout = false, "", 0
	s.StartTimeout, s.DiscoveryTimeoutMs, s.StartupTimeoutSec = 0, 0, 0
	s.IncludeTools, s.ExcludeTools = nil, nil // applied to the manifest, which has all tools
	raw, err := json.Marshal(s)
	if err != nil { // can't happen: it has only strings
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Identity is the version of a server that saved approvals apply to: its command or URL. Variables in env, headers and
// login settings count unexpanded, so that a new token doesn't change it, and no token can be guessed from it.
func (s Server) Identity() string {
	if s.identity != "" {
		return s.identity
	}
	return s.Hash()
}

// Expand replaces $VAR, ${VAR} and ${VAR:-default} in all values. A variable that is not set and has no default is left
// unexpanded, so that the mistake is visible.
func (s Server) Expand(lookup func(string) (string, bool)) Server {
	s.target = s.Target()
	one := func(v string) string { return Expand(v, lookup) }
	list := func(vs []string) []string {
		out := slices.Clone(vs)
		for i, v := range out {
			out[i] = one(v)
		}
		return out
	}
	named := func(vs map[string]string) map[string]string {
		if vs == nil {
			return nil
		}
		out := map[string]string{}
		for k, v := range vs {
			out[k] = one(v)
		}
		return out
	}
	s.Command, s.Cwd, s.HTTPURL, s.URL = one(s.Command), one(s.Cwd), one(s.HTTPURL), one(s.URL)
	s.Args, s.Roots = list(s.Args), list(s.Roots)
	s.identity = s.Hash()
	s.Env, s.Headers = named(s.Env), named(s.Headers)
	if s.OAuth != nil {
		o := *s.OAuth
		o.ClientID, o.ClientSecret = one(o.ClientID), one(o.ClientSecret)
		s.OAuth = &o
	}
	return s
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(:-[^}]*)?\})`)
})

// Expand replaces $VAR, ${VAR} and ${VAR:-default} in one value.
func Expand(value string, lookup func(string) (string, bool)) string {
	return variable().ReplaceAllStringFunc(value, func(written string) string {
		m := variable().FindStringSubmatch(written)
		fallback, given := strings.CutPrefix(m[3], ":-")
		if v, ok := lookup(m[1] + m[2]); ok && (v != "" || !given) {
			return v
		}
		if given {
			return fallback
		}
		return written
	})
}

// offers reports whether a tool of the server passes includeTools and excludeTools.
func (s Server) offers(name string) bool {
	if slices.Contains(s.ExcludeTools, name) {
		return false
	}
	return len(s.IncludeTools) == 0 || slices.ContainsFunc(s.IncludeTools, func(entry string) bool {
		return entry == name || strings.HasPrefix(entry, name+"(")
	})
}

func (s Server) timeout(otherwise time.Duration) time.Duration {
	if s.Timeout > 0 {
		return time.Duration(s.Timeout) * time.Millisecond
	}
	return otherwise
}

// startTimeout returns how long the server may take to start.
func (s Server) startTimeout(otherwise time.Duration) time.Duration {
	switch {
	case s.StartTimeout > 0:
		return time.Duration(s.StartTimeout) * time.Millisecond
	case s.DiscoveryTimeoutMs > 0:
		return time.Duration(s.DiscoveryTimeoutMs) * time.Millisecond
	case s.StartupTimeoutSec > 0:
		return time.Duration(s.StartupTimeoutSec * float64(time.Second))
	}
	return otherwise
}

// Select returns the servers that mcp.allowed and mcp.excluded permit. Their entries may contain * and ?. A nil allowed
// list allows all.
func Select(servers map[string]Server, allowed, excluded []string) map[string]Server {
	kept := map[string]Server{}
	for alias, s := range servers {
		if (allowed == nil || matchesAny(allowed, alias)) && !matchesAny(excluded, alias) {
			kept[alias] = s
		}
	}
	return kept
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok || err != nil && p == name
	})
}

// UnknownKeys returns the unknown keys of a server's configuration, sorted.
func UnknownKeys(configuration []byte) []string {
	var given map[string]json.RawMessage
	if json.Unmarshal(configuration, &given) != nil {
		return nil
	}
	var unknown []string
	for key := range given {
		if _, known := serverField(key); !known {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Misread explains an invalid server configuration in terms of JSON, where encoding/json uses names of Go types.
func Misread(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if f, ok := serverField(wrong.Field); ok && wrong.Type.Kind() == reflect.String && f.Kind() != reflect.String {
		return fmt.Sprintf("each value in %s must be a string, got a JSON %s", wrong.Field, wrong.Value)
	}
	want := cmp.Or(map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Float64: "a number",
		reflect.Int64: "a whole number", reflect.Int: "a whole number",
	}[wrong.Type.Kind()], "an object")
	if want == "a list" && wrong.Type.Elem().Kind() == reflect.String {
		want = "a list of strings"
	}
	return fmt.Sprintf("%s must be %s, got a JSON %s", cmp.Or(wrong.Field, "it"), want, wrong.Value)
}

// serverField returns the type of a key's value. Case is ignored, as by encoding/json.
func serverField(key string) (reflect.Type, bool) {
	t := reflect.TypeFor[Server]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && strings.EqualFold(name, key) {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
