package places

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// DenyRule is a deny rule on paths.
type DenyRule struct {
	Rule       string
	Read, Edit bool // what it denies
	// From is the longest path without wildcards: the rule applies to nothing that isn't there or below.
	From string
	// Matches reports whether the rule applies to a path, because of the path itself or a directory above it.
	Matches func(path string) bool
}

// Denials finds the paths that deny rules apply to, so that a sandbox can deny them whatever a command calls them.
type Denials struct {
	rules       []DenyRule
	roots, keep []string

	mu       sync.Mutex
	searches []*search
	links    [2]linkCache // of unwritable and of unreadable files
}

// NewDenials returns the Denials of rules. roots are the workspace, with links resolved. keep are directories without
// which no command works, such as /usr: neither they nor directories above them are hidden.
func NewDenials(rules []DenyRule, roots, keep []string) *Denials {
	d := &Denials{rules: rules, roots: roots}
	for _, dir := range slices.Concat(roots, keep, []string{"/proc", "/sys", "/dev"}) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			d.keep = append(d.keep, real)
		}
	}
	inside := map[sandbox.Kind]*search{}
	for _, r := range rules {
		if r.Matches(r.From) {
			continue
		}
		for as, denied := range []bool{sandbox.Unwritable: r.Edit, sandbox.Unreadable: r.Read} {
			if !denied {
				continue
			}
			as := sandbox.Kind(as)
			s := &search{as: as, limit: maxOutside}
			if isIn(r.From, roots) {
				if inside[as] == nil {
					inside[as] = &search{as: as, limit: maxDirs}
					d.searches = append(d.searches, inside[as])
				}
				s = inside[as]
			} else {
				d.searches = append(d.searches, s)
			}
			s.rules = append(s.rules, r)
		}
	}
	return d
}

// search finds the paths that rules with wildcards apply to.
type search struct {
	as    sandbox.Kind
	limit int // directories
	rules []DenyRule
	real  map[string]string // by DenyRule.From
	tree  *tree
}

// maxOutside is how many directories are searched for one rule outside the workspace, and maxDenied how many paths
// are mounted over for the rules of a search: each takes some 20 µs in every command.
const (
	maxOutside = 20_000
	maxDenied  = 2_000
)

// Find finds the paths that the rules apply to now: covers that are unwritable or unreadable. text are sentences about
// rules that can't be enforced for files, so that only the text of commands counts.
func (d *Denials) Find() (covers []sandbox.Cover, text []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var paths [2][]string // by kind
	for _, r := range d.rules {
		if r.Matches(r.From) {
			text = append(text, d.literal(&paths, r)...)
		}
	}
	for _, s := range d.searches {
		found, why := s.found()
		if why != "" {
			for _, r := range s.rules {
				text = append(text, r.Rule+onlyInText+why+".")
			}
			continue
		}
		paths[s.as] = append(paths[s.as], found...)
	}
	for as := range paths {
		covers = append(covers, sandbox.Kind(as).Cover(d.withAliases(paths[as], &d.links[as])...)...)
	}
	return covers, text
}

const onlyInText = " only applies to paths in the text of commands: "

// literal adds the path of a rule without wildcards, or the target of a link there. It returns why it can't, if so.
func (d *Denials) literal(paths *[2][]string, r DenyRule) (text []string) {
	real, err := filepath.EvalSymlinks(r.From)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return nil
	}
	if above := holds(real, d.keep); !missing && (r.Read && above != "" || real == "/") {
		return []string{r.Rule + onlyInText + "no command works without " + above + "."}
	}
	if r.Read && !missing {
		paths[sandbox.Unreadable] = append(paths[sandbox.Unreadable], real)
	}
	if r.Edit && missing { // only in existing directories: a placeholder above would block too much
		dir, err := filepath.EvalSymlinks(filepath.Dir(r.From))
		if real = filepath.Join(dir, filepath.Base(r.From)); err != nil || !isIn(dir, d.roots) {
			return nil
		}
	}
	if r.Edit {
		paths[sandbox.Unwritable] = append(paths[sandbox.Unwritable], real)
	}
	return nil
}

// holds returns the first of dirs that is at or below a path, or "".
func holds(path string, dirs []string) string {
	i := slices.IndexFunc(dirs, func(dir string) bool { return names.Below(dir, path) })
	if i < 0 {
		return ""
	}
	return dirs[i]
}

// found returns the paths that the rules apply to, without those below another, or why they aren't known.
func (s *search) found() (paths []string, why string) {
	real := map[string]string{}
	for _, r := range s.rules {
		if path, err := filepath.EvalSymlinks(r.From); err == nil {
			real[r.From] = path
		}
	}
	if s.tree == nil || !maps.Equal(real, s.real) {
		s.real = real
		s.tree = newTree(sandbox.Outermost(slices.Collect(maps.Values(real))), func(path string) bool {
			return slices.ContainsFunc(s.rules, func(r DenyRule) bool {
				from, ok := real[r.From]
				return ok && names.Below(path, from) && r.Matches(filepath.Join(r.From, path[len(from):]))
			})
		})
		s.tree.limit, s.tree.plain = s.limit, true
	}
	paths = s.tree.walk().names
	switch {
	case s.tree.over:
		return nil, fmt.Sprintf("there are more than %d directories to search", s.limit)
	case len(paths) > maxDenied:
		return nil, fmt.Sprintf("it matches more than %d files", maxDenied)
	}
	return paths, ""
}

// Appeared returns the paths that Edit rules apply to and that have no cover.
func (d *Denials) Appeared(covers []sandbox.Cover) []string {
	now, _ := d.Find()
	before := sandbox.Covered(covers, sandbox.Unwritable)
	var out []string
	for _, path := range sandbox.Covered(now, sandbox.Unwritable) {
		st, err := os.Lstat(path)
		if err == nil && st.Mode()&os.ModeSocket == 0 && !isIn(path, before) {
			out = append(out, path)
		}
	}
	return out
}
