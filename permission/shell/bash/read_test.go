package bash

import (
	"errors"
	"strings"
	"testing"
)

// mustRead reads a line in /w, with the home directory /h.
func mustRead(t *testing.T, line string) *Script {
	t.Helper()
	script, err := Read(line, Options{Dir: "/w", Home: "/h"}, nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return script
}

// Lines beyond the limits are not read.
func TestLimits(t *testing.T) {
	for line, want := range map[string]error{
		strings.Repeat("a", MaxBytes):         nil,
		strings.Repeat("a", MaxBytes+1):       ErrTooLong,
		strings.Repeat("a;", maxCommands):     nil,
		strings.Repeat("a;", maxCommands+1):   ErrTooMany,
		strings.Repeat("(", maxDepth+1) + "a": ErrTooDeep,
	} {
		if _, err := Read(line, Options{Dir: "/w"}, nil); !errors.Is(err, want) {
			t.Errorf("%.10s, %d bytes: %v, want %v", line, len(line), err, want)
		}
	}
}

// A command that runs the last of its words as a line.
func runsLast(r Reader, c *Command) {
	if c.Name() == "run" {
		r.Line(c, c.Words[len(c.Words)-1])
	}
}

func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		"run 'a b; c'": "run 'a b; c', a b, c", "run $x": "run $x, $x", "run 'run \"a b\"'": "run 'run \"a b\"', run 'a b', a b",
	} {
		script, err := Read(line, Options{Dir: "/w"}, runsLast)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got []string
		for _, c := range script.Commands {
			got = append(got, c.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if _, err := Read("run 'a \"'", Options{Dir: "/w"}, runsLast); err == nil || !strings.Contains(err.Error(), "command run by run") {
		t.Errorf("a syntax error in a line: %v", err)
	}
	if _, err := Read("run run", Options{Dir: "/w"}, runsLast); !errors.Is(err, ErrTooDeep) {
		t.Errorf("a line that runs itself: %v", err)
	}
}
