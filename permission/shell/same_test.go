package shell

import (
	"reflect"
	"testing"
)

// Every field of a command keeps it apart from one that differs in it alone, but for those named here: what one command
// is allowed, an unequal one must not get. A new field fails here until it is considered.
func TestEveryFieldTellsCommandsApart(t *testing.T) {
	apart := map[string]func(*Command){
		"Words":    func(c *Command) { c.Words = []Word{{"ls", Glob}} },
		"Prefix":   func(c *Command) { c.Prefix = []Assign{{Name: "X"}} },
		"Redirs":   func(c *Command) { c.Redirs = []Redirect{{Op: ">"}} },
		"Place":    func(c *Command) { c.Place = Function },
		"Dirs":     func(c *Command) { c.Dirs = []string{"/y"} },
		"By":       func(c *Command) { c.By = by(nil) },
		"AddsArgs": func(c *Command) { c.AddsArgs = true },
		"MayRun":   func(c *Command) { c.MayRun = true },
		"mark":     func(c *Command) { c.mark = "{}" },
		"keyword":  func(c *Command) { c.keyword = true },
		"doubtful": func(c *Command) { c.doubtful = true },
		"globs":    func(c *Command) { c.globs = []Word{{"*", Glob}} },
		"fed":      func(c *Command) { c.fed = &listing{number: 1} },
		"cases":    func(c *Command) { c.cases = [][]Word{{{"ls", Literal}}} },
	}
	told := map[string]bool{ // what follows from the others, and how it is written
		"Source": true, "start": true, "program": true, "sort": true, "first": true, "number": true, "stdin": true, "around": true,
	}
	plain := func() *Command { return &Command{Words: []Word{{"ls", Literal}}, Dirs: []string{"/x"}} }
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Command]()) {
		change, ok := apart[f.Name]
		if !ok && !told[f.Name] {
			t.Errorf("nobody says whether %s tells commands apart", f.Name)
		}
		if !ok {
			continue
		}
		s := &sameness{}
		first, other := plain(), plain()
		change(other)
		s.first(first)
		if s.first(other) == first {
			t.Errorf("commands that differ in %s are taken for equal", f.Name)
		}
		if s.first(plain()) != first {
			t.Errorf("equal commands are told apart")
		}
	}
	fields := map[reflect.Type]int{
		reflect.TypeFor[Word](): 2, reflect.TypeFor[Assign](): 4, reflect.TypeFor[Redirect](): 7,
	}
	for typ, n := range fields {
		if typ.NumField() != n {
			t.Errorf("%v has %d fields, of which sameness knows %d", typ, typ.NumField(), n)
		}
	}
}

// by is a command that stands in a script already.
func by(runs *Command) *Command {
	c := &Command{Words: []Word{{"env", Literal}}, By: runs, number: 7}
	c.first = c
	return c
}

// Commands that are run by different ones, or in different folders, are not equal, however alike they are.
func TestFirst(t *testing.T) {
	for line, want := range map[string]int{
		"ls; ls; 'ls'; l\\s":             1,
		"ls; cd a; ls":                   3,
		"ls; (ls); { ls; }":              1,
		"ls; echo $(ls)":                 3,
		"env ls; nice ls":                4,
		"env ls; env ls":                 2,
		"ls > a; ls > b; ls > a":         2,
		"X=1 ls; X=2 ls; ls":             3,
		"env nice ls; nice ls":           5,
		"ls *; ls '*'; ls \\*":           2,
		"cd a; ls >x; cd ../a; ls >x":    4,
		"bash -c 'ls'; sh -c 'ls'":       4,
		"bash -c 'ls'; bash -c \"ls\"":   2,
		"time ls; ls":                    3,
		"if ls; then ls; fi; ls && ls":   1,
		"cat <<A; cat <<A\nx\nA\ny\nA\n": 2,
	} {
		script, err := Read(line, Options{Dir: "/x", Home: "/h"})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		distinct := map[*Command]bool{}
		for _, c := range script.Commands {
			distinct[c.First()] = true
			if c.First().First() != c.First() || c.First().String() != c.String() {
				t.Errorf("%s: the first of %v is %v", line, c, c.First())
			}
		}
		if len(distinct) != want {
			t.Errorf("%s: %d different commands, want %d", line, len(distinct), want)
		}
	}
}
