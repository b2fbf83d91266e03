package permission

import (
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
