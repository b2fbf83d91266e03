package tool

import "strings"

// Verb is how a call uses a target.
type Verb string

// The verbs. Reads and Writes apply to paths. Execs applies to a command, which may write anything. Reaches applies to a
// host and does not affect the order of calls. Locks applies to a name in this session: it orders calls, and policy
// always allows it.
const (
	Reads   Verb = "reads"
	Writes  Verb = "writes"
	Execs   Verb = "execs"
	Reaches Verb = "reaches"
	Locks   Verb = "holds"
)

// Access is one resource that a call uses. Calls of a batch behave as if run one by one in order; they overlap where none
// writes what another uses.
type Access struct {
	Verb   Verb   `json:"verb"`
	Target string `json:"target"` // resolved absolute path, "dir/" for everything below it; the whole command; host; "todos"; "*" for all
}

var (
	// Nothing is the access of a call without effects, or of a task whose own calls are judged.
	Nothing = Access{"nothing", ""}
	// Anything is the access of a call with unknown effects, such as an MCP tool's: denied in plan mode, otherwise it
	// requires approval. It runs alone.
	Anything = Access{"anything", "*"}
)

// someName is the lock of a name that is not known yet.
var someName = Access{Locks, ""}

// Changes reports whether the access may modify something outside the session.
func (a Access) Changes() bool {
	switch a.Verb {
	case Reads, Reaches, Locks, Nothing.Verb:
		return false
	}
	return true // Writes, Execs, Anything, and unknown verbs
}

func changes(as []Access) bool {
	for _, a := range as {
		if a.Changes() {
			return true
		}
	}
	return false
}

// orders reports whether a call with this access may affect any other.
func orders(as []Access) bool {
	for _, a := range as {
		if a.Verb != Reads && a.Verb != Reaches && a != Nothing {
			return true
		}
	}
	return false
}

// conflict reports whether two calls must not overlap: one writes what the other uses.
func conflict(as, bs []Access) bool {
	return disturbs(as, bs) || disturbs(bs, as)
}

// disturbs reports whether a call with access as may change what a call with access bs reads.
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
	if a == (Access{Locks, "*"}) {
		return true // a change of mode: everything after it is prepared and judged after it
	}
	switch a.Verb {
	case Reads, Reaches, Nothing.Verb:
		return false
	case Locks:
		return b.Verb == Locks && (a.Target == b.Target || b.Target == "*" || a == someName || b == someName) || b.Verb == Anything.Verb
	}
	switch b.Verb {
	case Nothing.Verb:
		return false
	case Reaches, Locks:
		return a.Verb == Anything.Verb // only unknown effects conflict with them
	}
	if a.Verb == Writes && (b.Verb == Reads || b.Verb == Writes) {
		return overlap(a.Target, b.Target)
	}
	return true // Execs and Anything use every path
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

// maxAccess is the most access that the tool can have, before Prepare has run. It depends on the kind, which the executor
// enforces for built-in tools; an external tool may do anything.
func (d Declaration) maxAccess() []Access {
	if d.Origin != "" {
		return []Access{Anything}
	}
	switch d.kind() {
	case Read, Search:
		return []Access{{Reads, "*"}, {Reaches, "*"}, someName}
	case Edit:
		return []Access{{Writes, "*"}, someName}
	case Think:
		return []Access{{Locks, "*"}}
	}
	return []Access{Anything}
}

// harmless reports whether tools of the kind write no file and run no command.
func (k Kind) harmless() bool {
	return k == Read || k == Search || k == Think
}
