package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/search"
)

// group is an element of an event's list in settings.
type group struct {
	Matcher    string            `json:"matcher"`
	Sequential bool              `json:"sequential"`
	Effects    bool              `json:"effects"`
	Before     bool              `json:"before"`
	Hooks      []json.RawMessage `json:"hooks"`
}

// hookSetting is a hook in settings.
type hookSetting struct {
	Type      string            `json:"type"`
	Command   string            `json:"command"`
	Name      string            `json:"name"`
	Timeout   *float64          `json:"timeout"`
	Env       map[string]string `json:"env"`
	Async     bool              `json:"async"`
	Shell     string            `json:"shell"`
	OnFailure Failure           `json:"onFailure"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	HeaderEnv []string          `json:"allowedEnvVars"`
	Prompt    string            `json:"prompt"`
}

// Parse reads hooks from settings: lists of matchers and hooks by event. Unknown events and types of hooks are
// warnings; an unsupported hook that decides about calls is in the result and counts as failed. Invalid hooks are
// errors, because they may be meant to protect something.
func Parse(raw json.RawMessage) (hooks []Hook, warnings []string, err error) {
	members, err := orderedMembers(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("hooks must be an object of events: %w", err)
	}
	for _, m := range members {
		event := Event(m.name)
		if !slices.Contains(Events(), event) {
			warnings = append(warnings, fmt.Sprintf("hooks.%s: unknown or unsupported event, ignored. Supported: %s",
				m.name, eventNames()))
			continue
		}
		var groups []json.RawMessage
		if err := json.Unmarshal(m.value, &groups); err != nil {
			return nil, nil, fmt.Errorf("hooks.%s must be a list, got %s", m.name, clip(string(m.value), 40))
		}
		for i, g := range groups {
			at := fmt.Sprintf("hooks.%s[%d]", m.name, i)
			more, warned, err := parseGroup(event, at, g)
			if err != nil {
				return nil, nil, err
			}
			hooks, warnings = append(hooks, more...), append(warnings, warned...)
		}
	}
	return hooks, warnings, nil
}

func parseGroup(event Event, at string, raw json.RawMessage) (hooks []Hook, warnings []string, err error) {
	var g group
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, nil, fmt.Errorf(`%s must be an object {"matcher": …, "hooks": […]}: %s`, at, shapeError(err))
	}
	if len(g.Hooks) == 0 {
		return nil, []string{at + " has no hooks, ignored. Put them in a list: \"hooks\": [{\"type\": \"command\", " +
			"\"command\": …}]"}, nil
	}
	if g.Effects && event != PostToolUse {
		warnings = append(warnings, at+": effects is ignored: it is for PostToolUse")
	}
	if g.Before && event != FilesChanged && !(event == PostToolUse && g.Effects) {
		warnings, g.Before = append(warnings, at+": before is ignored: it is for FilesChanged, and for PostToolUse "+
			"with effects"), false
	}
	if event == FilesChanged {
		if _, err := search.Globs(globs(g.Matcher)...); err != nil {
			return nil, nil, fmt.Errorf("%s: matcher: %w", at, err)
		}
	} else if _, err := regexp.Compile(g.Matcher); err != nil && g.Matcher != "*" {
		warnings = append(warnings, fmt.Sprintf("%s: matcher %q is not a valid regular expression, so its hooks run "+
			"for every name", at, g.Matcher))
	}
	for i, raw := range g.Hooks {
		at := fmt.Sprintf("%s.hooks[%d]", at, i)
		var e hookSetting
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, nil, fmt.Errorf("%s is not a valid hook: %s", at, shapeError(err))
		}
		h := Hook{
			Event: event, Matcher: g.Matcher, Sequential: g.Sequential, Effects: g.Effects && event == PostToolUse,
			Before: g.Before,
			Name:   e.Name, Command: e.Command, Shell: e.Shell, Env: e.Env, Async: e.Async, OnFailure: e.OnFailure,
		}
		note, err := h.complete(e)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at, err)
		}
		if note != "" {
			warnings = append(warnings, at+": "+note)
		}
		if h.Unsupported != "" && !event.Gate() {
			continue
		}
		hooks = append(hooks, h)
	}
	return hooks, warnings, nil
}

// complete checks a hook of settings.
func (h *Hook) complete(e hookSetting) (note string, err error) {
	switch e.OnFailure {
	case "", FailureAsks, FailureAllows, FailureBlocks:
	default:
		return "", fmt.Errorf(`onFailure has the invalid value %q. Expected one of: ask, allow, block`, e.OnFailure)
	}
	switch {
	case e.Type == "command" || e.Type == "" && e.Command != "":
	case e.Type == "":
		return "", fmt.Errorf("type is missing. Expected one of: command, http, prompt")
	case e.Type == "http":
		h.Command, h.URL, h.Headers, h.HeaderEnv = "", e.URL, e.Headers, e.HeaderEnv
		if to, err := url.Parse(e.URL); err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return "", fmt.Errorf("url is not a valid http or https URL: %q", e.URL)
		}
		return "", h.setSeconds(e.Timeout)
	case e.Type == "prompt":
		h.Command, h.Prompt = "", e.Prompt
		if strings.TrimSpace(e.Prompt) == "" {
			return "", fmt.Errorf("prompt is missing or empty")
		}
		return "", h.setSeconds(e.Timeout)
	default:
		h.Unsupported, h.Command = e.Type, ""
		note = fmt.Sprintf("hooks of type %q are not supported.", e.Type)
		if h.Event.Gate() {
			return note + " It counts as a failed hook", nil
		}
		return note + " It is ignored", nil
	}
	if strings.TrimSpace(e.Command) == "" {
		return "", fmt.Errorf("command is missing or empty")
	}
	switch e.Shell {
	case "", "bash", "powershell":
	default:
		return "", fmt.Errorf("shell has the invalid value %q. Expected one of: bash, powershell", e.Shell)
	}
	return h.setTimeout(e.Timeout)
}

// secondsBelow is the smallest timeout that is read as milliseconds. Other agents use seconds, and no program finishes
// in so few milliseconds.
const secondsBelow = 100

func (h *Hook) setTimeout(given *float64) (note string, err error) {
	if given == nil {
		return "", nil
	}
	n := *given
	switch {
	case n <= 0 || n > 24*3600*1000:
		return "", fmt.Errorf("timeout must be a number of milliseconds from 1 to 86400000, got %v", n)
	case n < secondsBelow:
		h.Timeout = time.Duration(n * float64(time.Second))
		return fmt.Sprintf("timeout %v is read as seconds. In milliseconds it is %v", n, n*1000), nil
	}
	h.Timeout = time.Duration(n * float64(time.Millisecond))
	return "", nil
}

// setSeconds sets the timeout of a hook of type http or prompt, which is in seconds in all agents.
func (h *Hook) setSeconds(given *float64) error {
	switch {
	case given == nil:
	case *given <= 0 || *given > 24*3600:
		return fmt.Errorf("timeout must be a number of seconds from 1 to 86400, got %v", *given)
	default:
		h.Timeout = time.Duration(*given * float64(time.Second))
	}
	return nil
}

func eventNames() string {
	var names []string
	for _, e := range Events() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// shapeError describes invalid JSON, without Go's names of types.
func shapeError(err error) string {
	if t, ok := err.(*json.UnmarshalTypeError); ok {
		field := t.Field
		if field == "" {
			field = "it"
		}
		return fmt.Sprintf("%s can't be a %s", field, t.Value)
	}
	return err.Error()
}

type member struct {
	name  string
	value json.RawMessage
}

// orderedMembers returns the members of an object in order, including duplicate keys.
func orderedMembers(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("got %s", clip(string(raw), 40))
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Matches returns the first of the names that a matcher accepts; names are ordered by importance. An empty matcher and
// "*" accept the first one. A matcher is a name or several separated by "|", in any letter case, or else a regular
// expression that is found anywhere in a name. "mcp__server" accepts all tools of a server.
func Matches(matcher string, names []string) (name string, ok bool) {
	if len(names) == 0 {
		names = []string{""}
	}
	if matcher = strings.TrimSpace(matcher); matcher == "" || matcher == "*" {
		return names[0], true
	}
	for part := range strings.SplitSeq(matcher, "|") {
		part = strings.TrimSpace(part)
		i := slices.IndexFunc(names, func(n string) bool { return n == part })
		if i < 0 {
			i = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, part) })
		}
		if i < 0 && strings.HasPrefix(part, "mcp__") { // all tools of a server
			i = slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, part+"__") })
		}
		if i >= 0 && names[i] != "" {
			return names[i], true
		}
	}
	pattern, err := regexp.Compile(matcher)
	if err != nil { // Parse warned about it; a hook that protects must not be skipped
		return names[0], true
	}
	if plain(matcher) {
		return "", false
	}
	if i := slices.IndexFunc(names, pattern.MatchString); i >= 0 {
		return names[i], true
	}
	return "", false
}

// plain reports whether a matcher consists of names, which must match completely.
func plain(matcher string) bool { return !strings.ContainsAny(matcher, `\.+*?()[]{}^$`) }
