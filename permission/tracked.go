package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/prove"
)

// indexTargets adds the files in git's index at or below a path that a deny or ask rule on reading matches: git log -p
// prints their content. Deleted files aren't in the index.
func (e *engine) indexTargets(out []target, t prove.Touch) []target {
	rules := slices.DeleteFunc(slices.Concat(e.rules.deny, e.rules.ask), func(u *rule) bool { return u.verb != reading })
	if len(rules) == 0 {
		return out
	}
	if e.disk == nil {
		return append(out, target{resolvedPath: anywhere()})
	}
	top := e.at(t.Path).path
	meets := func(path string, least reach) bool {
		parts := components(path)
		return slices.ContainsFunc(rules, func(u *rule) bool { return u.whole || !u.isPath || !u.path.known || u.path.reaches(parts) >= least })
	}
	named := func(name string) bool { // by the last component of a rule, which decides most
		return slices.ContainsFunc(rules, func(u *rule) bool {
			n := len(u.path.at)
			return n == 0 || u.path.below || u.path.at[n-1] == "**" || matchComponent(u.path.at[n-1], name)
		})
	}
	dir, some, all := "", false, false // the directory of the previous file: most are in one that no rule matches
	n := 0
	known := e.disk.Tracked(t.Path, func(path string) bool {
		n++
		cut := strings.LastIndexByte(path, filepath.Separator)
		if own := path[:cut]; own != dir {
			dir, some, all = own, meets(own, belowPath), meets(own, exact)
		}
		if some && (t.Scope == prove.WholeIndex || within(path, top)) && (all || named(path[cut+1:]) && meets(path, exact)) {
			out = append(out, target{resolvedPath: e.at(path), sure: true})
		}
		return len(out) < mostTracked && (n%16 != 0 || !e.step(1)) // comparing a name is cheap
	})
	if !known {
		return append(out, target{resolvedPath: anywhere()})
	}
	return out
}

// mostTracked is the maximum number of files compared with the rules: one denied file is enough.
const mostTracked = 256
