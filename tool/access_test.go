package tool

import (
	"context"
	"testing"
)

// The pairs of accesses that must not overlap. Pairs that aren't listed may.
func TestDisturbs(t *testing.T) {
	read, write := Access{Reads, "/a/b"}, Access{Writes, "/a/b"}
	exec, reach, mode, todos := Access{Execs, "ls"}, Access{Reaches, "x.org"}, Access{Locks, "*"}, Access{Locks, "todos"}
	all := []Access{read, write, exec, reach, mode, todos, Nothing, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {Reads, "/a/"}, {Writes, "/a/"}, {Locks, "memory"}, {"odd", "?"}}
	want := map[Access][]Access{
		write:             {read, write, exec, Anything, {Reads, "*"}, {Writes, "*"}, {Reads, "/a/"}, {Writes, "/a/"}, {"odd", "?"}},
		{Writes, "*"}:     {read, write, exec, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {Reads, "/a/"}, {Writes, "/a/"}, {"odd", "?"}},
		{Writes, "/c"}:    {exec, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {"odd", "?"}},
		{Writes, "/a/"}:   {read, write, exec, Anything, {Reads, "*"}, {Writes, "*"}, {Reads, "/a/"}, {Writes, "/a/"}, {"odd", "?"}},
		exec:              {read, write, exec, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {Reads, "/a/"}, {Writes, "/a/"}, {"odd", "?"}},
		{"odd", "?"}:      {read, write, exec, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {Reads, "/a/"}, {Writes, "/a/"}, {"odd", "?"}},
		todos:             {mode, todos, Anything},
		{Locks, "memory"}: {mode, {Locks, "memory"}, Anything},
		mode:              all,
		Anything:          {read, write, exec, reach, mode, todos, Anything, {Reads, "*"}, {Writes, "*"}, {Writes, "/c"}, {Reads, "/a/"}, {Writes, "/a/"}, {Locks, "memory"}, {"odd", "?"}},
	}
	for _, a := range all {
		for _, b := range all {
			expected := false
			for _, w := range want[a] {
				expected = expected || w == b
			}
			if got := a.disturbs(b); got != expected {
				t.Errorf("%v disturbs %v: %t", a, b, got)
			}
		}
	}
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"/a", "/a", true}, {"/a", "/ab", false}, {"/a/", "/a", true}, {"/a/", "/a/b/c", true}, {"/a/", "/ab", false},
		{"/a/", "/", true}, {"/", "/x", true}, {"/a/b/", "/a/c/", false}, {"/a/", "/a/b/", true}, {"*", "/x", true},
		{"/a", "/a/b", false},
	} {
		if overlap(tt.a, tt.b) != tt.want || overlap(tt.b, tt.a) != tt.want {
			t.Errorf("overlap(%q, %q) is not %t both ways", tt.a, tt.b, tt.want)
		}
	}
}

// The access that a tool of a kind may declare is within the maximum of its kind.
func TestMaxAccessCoversKind(t *testing.T) {
	all := []Access{{Reads, "/a"}, {Writes, "/a"}, {Execs, "ls"}, {Reaches, "x"}, {Locks, "x"}, Nothing, Anything}
	for _, kind := range []Kind{Read, Search, Edit, Execute, Fetch, Think, Other, ""} {
		d := Declaration{Kind: kind}
		declarable := all
		if kind == Think {
			declarable = append(declarable, Access{Locks, "*"}) // a change of mode
		}
		for _, declared := range declarable {
			inv := &Invocation{Access: []Access{declared}, Run: func(context.Context, *Live) (Result, error) { return Result{}, nil }}
			if checkPromise(d, inv) != nil || declared == Anything {
				continue // refused; and a reader that knows not what it reads
			}
			for _, other := range all {
				if conflict(inv.Access, []Access{other}) && !conflict(d.maxAccess(), []Access{other}) {
					t.Errorf("kind %q may declare %v, which conflicts with %v, and its bound does not", kind, declared, other)
				}
			}
		}
	}
}
