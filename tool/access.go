package tool

import "strings"

// Verb says how a call touches a target.
type Verb string

// The verbs. Reads and Writes are of paths. Execs is of a command, which may write anything. Reaches is of a host
// and orders nothing. Holds is of a name in this session: it orders calls, and policy lets it pass.
const (
	Reads   Verb = "reads"
	Writes  Verb = "writes"
	Execs   Verb = "execs"
	Reaches Verb = "reaches"
	Holds   Verb = "holds"
)

// Access is one thing a call touches. Calls of a batch behave as if run one by one in order; they overlap where
// no one writes what another touches.
type Access struct {
	Verb   Verb   `json:"verb"`
	Target string `json:"target"` // resolved absolute path, "dir/" for all below it; the whole command; host; "todos"; "*" for all there are
}

var (
	// Nothing is the access of a clock, a thought, a task whose own calls speak for themselves.
	Nothing = Access{"nothing", ""}
	// Anything is the access of an unknown effect, such as an MCP tool's: refused in plan mode, else asked about;
	// it runs alone.
	Anything = Access{"anything", "*"}
)

// someName is the hold of a name that is not known yet.
var someName = Access{Holds, ""}

// Changes reports whether the access may change something outside the session.
func (a Access) Changes() bool {
	switch a.Verb {
	case Reads, Reaches, Holds, Nothing.Verb:
		return false
	}
	return true // Writes, Execs, Anything, and whatever we do not know
}

func changes(as []Access) bool {
	for _, a := range as {
		if a.Changes() {
			return true
		}
	}
	return false
}

// orders reports whether a call with this access may disturb any other.
func orders(as []Access) bool {
	for _, a := range as {
		if a.Verb != Reads && a.Verb != Reaches && a != Nothing {
			return true
		}
	}
	return false
}

// conflict reports whether two calls must not overlap: one writes what the other touches.
func conflict(as, bs []Access) bool {
	return disturbs(as, bs) || disturbs(bs, as)
}

// disturbs reports whether a call with access as may change what a call with access bs looks at.
func disturbs(as, bs []Access) bool {
	for _, a := range as {
		for _, b := range bs {
			if a.disturbs(b) {
				return true
			}
		}
	}
	return false
}

func (a Access) disturbs(b Access) bool {
	if a == (Access{Holds, "*"}) {
		return true // a change of mode: everything after it is prepared and judged after it
	}
	switch a.Verb {
	case Reads, Reaches, Nothing.Verb:
		return false
	case Holds:
		return b.Verb == Holds && (a.Target == b.Target || b.Target == "*" || a == someName || b == someName) || b.Verb == Anything.Verb
	}
	switch b.Verb {
	case Nothing.Verb:
		return false
	case Reaches, Holds:
		return a.Verb == Anything.Verb // only an unknown effect may touch them
	}
	if a.Verb == Writes && (b.Verb == Reads || b.Verb == Writes) {
		return overlap(a.Target, b.Target)
	}
	return true // Execs and Anything touch every path
}

// overlap reports whether two path targets have a path in common.
func overlap(a, b string) bool {
	if a == "*" || b == "*" {
		return true
	}
	return within(a, b) || within(b, a)
}

// within reports whether path is dir, or below it where dir ends with a slash.
func within(path, dir string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, "/") {
		return false
	}
	return strings.HasPrefix(path, dir) || path == dir[:len(dir)-1]
}

// bound is the access that the tool may have at most, before Prepare has told. It goes by the promise of its kind,
// which the executor holds a built-in tool to; one from outside may do anything.
func (d Declaration) bound() []Access {
	if d.Origin != "" {
		return []Access{Anything}
	}
	switch d.kind() {
	case Read, Search:
		return []Access{{Reads, "*"}, {Reaches, "*"}, someName}
	case Edit:
		return []Access{{Writes, "*"}, someName}
	case Think:
		return []Access{{Holds, "*"}}
	}
	return []Access{Anything}
}

// harmless reports whether the kind promises to write no file and run no command.
func (k Kind) harmless() bool {
	return k == Read || k == Search || k == Think
}
