package permission

import (
	"errors"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// pathPattern is the specifier of a rule on paths: components in which * ? and [ ] don't match a slash, and ** matches
// any number of components.
type pathPattern struct {
	from  byte // '/': the root directory, '~': the home directory, '.': the first root of the workspace
	comps []string
	up    int  // leading ..
	below bool // it ends in a slash: everything below it

	// In a world: the components from the root directory on. known is false if the base is unknown.
	at    []string
	known bool
	state bool // it only matches paths in Adze's directory
}

// parsePathOn reads //abs, ~/…, /… from the project's root, or relative to it, on a system. On Windows C:/x, C:\x,
// //C:/x and //c/x are the same, and //server/share/x is a path on another machine.
func parsePathOn(goos, s string) (pathPattern, error) {
	p := pathPattern{from: '.'}
	drive := func(s string) bool { return len(s) > 1 && s[1] == ':' && letter(s[0]) }
	if goos == "windows" {
		if s = strings.ReplaceAll(s, `\`, "/"); drive(s) {
			s = "//" + s
		}
		if rest, abs := strings.CutPrefix(s, "//"); abs && rest != "" && letter(rest[0]) &&
			(len(rest) == 1 || rest[1] == '/') {
			s = "//" + rest[:1] + ":" + rest[1:]
		}
		if rest, abs := strings.CutPrefix(s, "//"); abs && drive(rest) && len(rest) > 2 && rest[2] != '/' {
			return p, errors.New("a drive must be followed by / (C:/dir)")
		}
	}
	switch {
	case strings.HasPrefix(s, "//"):
		p.from, s = '/', s[2:]
	case s == "~" || strings.HasPrefix(s, "~/"):
		p.from, s = '~', strings.TrimPrefix(s[1:], "/")
	case strings.HasPrefix(s, "~"):
		return p, errors.New("~ must be followed by / (~/dir is in the home directory)")
	default:
		s = strings.TrimPrefix(s, "/")
	}
	p.below = strings.HasSuffix(s, "/")
	for _, c := range strings.Split(s, "/") {
		switch {
		case c == "" || c == ".":
		case c == "..":
			if n := len(p.comps); n > 0 {
				if p.comps[n-1] == "**" {
					return p, errors.New(".. cannot follow **")
				}
				p.comps = p.comps[:n-1]
			} else {
				p.up++
			}
		default:
			if c != "**" && strings.Contains(c, "**") {
				return p, errors.New("** must be a whole path component")
			}
			if _, err := path.Match(c, ""); err != nil {
				return p, errors.New("missing closing bracket in the pattern")
			}
			p.comps = append(p.comps, c)
		}
	}
	return p, nil
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// in makes the components of the pattern absolute.
func (p pathPattern) in(w World) pathPattern {
	base := "/"
	switch {
	case p.from == '~':
		base = w.Home
	case p.from == '.' && len(w.Roots) > 0:
		base = w.Roots[0]
	case p.from == '.':
		return p
	}
	if base == "" {
		return p
	}
	comps := components(base)
	comps = comps[:max(0, len(comps)-p.up)]
	for i, c := range comps {
		comps[i] = escapeGlob(c)
	}
	p.at, p.known = append(comps[:len(comps):len(comps)], p.comps...), true
	p.state = lies(p.prefix(), w.state)
	if p.below && (len(p.at) == 0 || p.at[len(p.at)-1] != "**") {
		p.at = append(p.at, "**")
	}
	return p
}

func components(s string) []string {
	return appendComponents(make([]string, 0, strings.Count(filepath.ToSlash(s), "/")+1), s)
}

func appendComponents(out []string, s string) []string {
	s = filepath.ToSlash(s)
	for c := range strings.SplitSeq(s, "/") {
		if c != "" {
			out = append(out, c)
		}
	}
	return out
}

func escapeGlob(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// reach is the relation of a pattern to a path.
type reach int

const (
	unresolved reach = iota // the start of the pattern is unknown: the home directory, the workspace
	disjoint                // the pattern matches neither the path nor anything below it
	belowPath               // the pattern may match something below the path
	exact                   // the pattern matches the path
	abovePath               // the pattern matches a directory that the path is in
)

// reaches compares a pattern with the components of a path.
func (p *pathPattern) reaches(target []string) reach {
	if !p.known {
		return unresolved
	}
	return reachOf(p.at, target)
}

// reachOf compares them component by component; ** matches any number of components.
func reachOf(pattern, target []string) reach {
	for i, c := range pattern {
		if c == "**" {
			best := disjoint
			if i+1 == len(pattern) {
				return exact // everything below, and the directory itself
			}
			for k := i; k <= len(target); k++ {
				if r := reachOf(pattern[i+1:], target[k:]); r > best {
					best = r
				}
			}
			return best
		}
		if i >= len(target) {
			return belowPath
		}
		if !matchComponent(runtime.GOOS, c, target[i]) {
			return disjoint
		}
	}
	if len(target) > len(pattern) {
		return abovePath
	}
	return exact
}

// matchComponent compares names as the file systems of a system do.
func matchComponent(goos, pattern, name string) bool {
	if goos == "windows" { // it ignores dots and spaces at the end; after : is a stream of the file
		if i := strings.IndexByte(name, ':'); i > 1 { // not that of a drive
			name = name[:i]
		}
		if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
			name = trimmed
		}
	}
	if goos == "darwin" || goos == "windows" { // they ignore case
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	if !isGlob(pattern) {
		return pattern == name
	}
	if !isGlob(pattern[:1]) && (name == "" || name[0] != pattern[0]) {
		return false // the common case
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func isGlob(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[', '\\':
			return true
		}
	}
	return false
}

// prefix returns the path of the components before the first wildcard.
func (p *pathPattern) prefix() string {
	var parts []string
	for _, c := range p.at {
		plain := strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "").Replace(c)
		if isGlob(plain) {
			break
		}
		parts = append(parts, strings.NewReplacer(`\\`, `\`, `\*`, `*`, `\?`, `?`, `\[`, `[`).Replace(c))
	}
	return "/" + strings.Join(parts, "/")
}

// names reports whether the pattern explicitly names secret or protected files: only then it covers them.
func (p *pathPattern) names(secret bool) bool {
	if !p.known || p.state {
		return p.state
	}
	comps := p.at
	for len(comps) > 0 && comps[len(comps)-1] == "**" {
		comps = comps[:len(comps)-1]
	}
	whole := "/" + strings.Join(comps, "/")
	if secret {
		_, ok := names.Secret(whole)
		return ok
	}
	_, ok := names.Protected(whole)
	return ok
}

// literal reports whether the pattern matches only one path.
func (p *pathPattern) literal() bool {
	return !p.below && !strings.ContainsAny(strings.Join(p.comps, "/"), `*?[`)
}
