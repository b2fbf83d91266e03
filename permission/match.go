package permission

import (
	"strings"

	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/tool"
)

// find looks through deny or ask rules for one that means an access, the surest first.
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

// means says whether a deny or ask rule means an access of a tool. What cannot be told may be meant.
func means(u *rule, r *tool.Request, a tool.Access, f *finding) match.Match {
	ofTool := u.ofTool(&r.Declaration, false)
	switch {
	case ofTool && u.whole:
		return match.Yes
	case a.Verb == tool.Reads || a.Verb == tool.Writes:
		if ofTool || u.verb == reading && a.Verb == tool.Reads || u.verb == writing && a.Verb == tool.Writes {
			return meansPath(u, f)
		}
	case a.Verb == tool.Reaches && ofTool:
		return meansHost(u, a.Target)
	case ofTool && a.Verb != tool.Execs:
		return match.Yes // a specifier that says nothing about such an access
	}
	return match.No
}

// meansPath says whether a rule means a path. A search of our own leaves secrets out by itself; a command does not.
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

// covers says whether an allow rule covers an access of a tool.
func covers(u *rule, r *tool.Request, a tool.Access, f *finding) bool {
	ofTool := u.ofTool(&r.Declaration, true)
	switch {
	case a.Verb == tool.Execs:
		return false // see command
	case a.Verb == tool.Reads && (ofTool || u.verb == reading), a.Verb == tool.Writes && (ofTool || u.verb == writing):
		return coversPath(u, f)
	case a.Verb == tool.Reads && u.verb == writing && wrote(r, a.Target) && !f.exact:
		return coversPath(u, f) // who may change a file may see what it replaces
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

// coversPath: secrets and protected names are covered by a rule that names them.
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
	if f.dir { // all below a directory: the rule must say just that
		comps, own := u.path.at, f.parts
		return len(comps) == len(own)+1 && comps[len(own)] == "**" && !strings.ContainsAny(strings.Join(u.path.comps, "/"), "?[") &&
			strings.Count(strings.Join(u.path.comps, "/"), "*") == 2
	}
	return u.path.names(f.class == otherRead)
}
