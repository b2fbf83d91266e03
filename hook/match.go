package hook

import (
	"regexp"
	"slices"
	"strings"
)

// Matches returns the name that a matcher accepts of those that something has, the most important first. An empty matcher
// and "*" accept the first one. A matcher is a name or several with "|" between them, in any letter case, or else a regular
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
	if err != nil { // Parse warned: a hook that protects must not be skipped
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

// plain reports whether a matcher consists of names, which are only accepted as a whole.
func plain(matcher string) bool { return !strings.ContainsAny(matcher, `\.+*?()[]{}^$`) }
