package search

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
)

// glob is a compiled pattern for paths relative to the directory of a search, with forward slashes: "*", "?", classes,
// braces, and "**" for any number of directories. A bracket is also taken literally, so that "app/[id]/page.tsx" finds
// the file of that name.
type glob struct {
	source string
	ways   []way
	fold   bool
}

// way is one of the patterns that braces spell out.
type way struct {
	pattern string
	name    string // with anyDepth: the pattern for the last element
	suffix  string // with anyDepth: what the last element must end in, when that is all there is to it
	plain   bool   // no wildcard: compared as text
	// anyDepth says that the pattern is "**/" and a pattern for the last element, by far the most common form.
	anyDepth bool
	folders  []string // the leading elements without wildcards, which decide where to look at all
	depth    int      // elements of the pattern; 0 when "**" makes it unlimited
}

const maxWays = 512

// errPattern says that a pattern for paths cannot be read.
var errPattern = errors.New("bad pattern for paths")

// newGlob compiles a pattern that must match the whole relative path. With anyDepth a pattern without a slash matches the
// last element wherever it is, as `rg -g` and .gitignore have it.
func newGlob(source string, anyDepth, fold bool) (*glob, error) {
	g := &glob{source: source, fold: fold}
	pattern := strings.TrimPrefix(source, "./")
	if anyDepth {
		if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
			pattern = "**/" + pattern
		}
		pattern = strings.TrimPrefix(pattern, "/")
	}
	if strings.TrimSpace(pattern) == "" {
		return nil, fmt.Errorf("%w: it is empty; write ** for everything", errPattern)
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	ways, err := braces(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", errPattern, source, err)
	}
	ways = append(ways, pattern) // braces may be part of a name too
	for _, w := range ways {
		g.add(w)
		if strings.ContainsAny(w, "[]") && !strings.Contains(w, `\`) {
			g.add(strings.NewReplacer("[", `\[`, "]", `\]`).Replace(w))
		}
	}
	return g, nil
}

func (g *glob) add(pattern string) {
	for _, w := range g.ways {
		if w.pattern == pattern {
			return
		}
	}
	w := way{pattern: pattern, plain: !strings.ContainsAny(pattern, `*?[\`)}
	segments := strings.Split(pattern, "/")
	w.depth = len(segments)
	for _, s := range segments {
		if s == "**" {
			w.depth = 0
		}
	}
	for _, s := range segments[:len(segments)-1] {
		if strings.ContainsAny(s, `*?[\`) {
			break
		}
		w.folders = append(w.folders, s)
	}
	if len(segments) == 2 && segments[0] == "**" && segments[1] != "**" {
		w.anyDepth, w.name = true, segments[1]
		if rest, ok := strings.CutPrefix(w.name, "*"); ok && !strings.ContainsAny(rest, `*?[\`) {
			w.suffix = rest
		}
	}
	g.ways = append(g.ways, w)
}

// match tells whether the entry of that name in the directory dir (relative, "" for the top) matches.
func (g *glob) match(dir, name string) bool {
	path := ""
	for i := range g.ways {
		w := &g.ways[i]
		if w.anyDepth {
			if w.suffix != "" {
				if hasSuffix(name, w.suffix, g.fold) {
					return true
				}
			} else if ignore.Glob(w.name, name, g.fold) {
				return true
			}
			continue
		}
		if path == "" {
			path = join(dir, name)
		}
		if w.plain && same(w.pattern, path, g.fold) || !w.plain && ignore.Glob(w.pattern, path, g.fold) {
			return true
		}
	}
	return false
}

// reaches tells whether anything in the directory dir, at any depth, could match.
func (g *glob) reaches(dir string) bool {
	for i := range g.ways {
		if g.ways[i].reaches(dir, g.fold) {
			return true
		}
	}
	return false
}

func (w *way) reaches(dir string, fold bool) bool {
	if w.anyDepth || (len(w.folders) == 0 && w.depth == 0) {
		return true
	}
	for i := 0; dir != ""; i++ {
		var first string
		first, dir, _ = strings.Cut(dir, "/")
		if w.depth > 0 && i+1 >= w.depth {
			return false
		}
		if i < len(w.folders) && !same(w.folders[i], first, fold) {
			return false
		}
	}
	return true
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func same(a, b string, fold bool) bool { return a == b || fold && strings.EqualFold(a, b) }

func hasSuffix(s, suffix string, fold bool) bool {
	return len(s) >= len(suffix) && same(s[len(s)-len(suffix):], suffix, fold)
}

// braces spells out {a,b}: nested ones too, and a brace that a backslash protects is none. An unclosed brace is a
// character.
func braces(pattern string) ([]string, error) {
	start, depth := -1, 0
	cuts := []int{}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth == 0 {
				start = i
				cuts = append(cuts[:0], i)
			}
			depth++
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth > 0:
			if depth--; depth > 0 {
				continue
			}
			return spell(pattern, start, append(cuts, i))
		}
	}
	return []string{pattern}, nil
}

// spell puts each alternative between what is before and after the braces, whose commas and ends are at cuts.
func spell(pattern string, start int, cuts []int) ([]string, error) {
	var out []string
	for k := range len(cuts) - 1 {
		ways, err := braces(pattern[:start] + pattern[cuts[k]+1:cuts[k+1]] + pattern[cuts[len(cuts)-1]+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, ways...); len(out) > maxWays {
			return nil, fmt.Errorf("the braces spell out more than %d patterns; give fewer alternatives", maxWays)
		}
	}
	return out, nil
}
