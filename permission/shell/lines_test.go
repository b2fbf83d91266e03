package shell_test

import (
	"fmt"
	"testing"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
)

// A line that was read a short time ago isn't read again, unless its directory or ~ differs.
func TestLines(t *testing.T) {
	var l shell.Lines
	read := func(line, dir string) *bash.Script {
		t.Helper()
		s, err := l.Read(line, bash.Options{Dir: dir, Home: "/h"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := read("cat a", "/w")
	if read("cat a", "/w") != first || read("cat a", "/v") == first {
		t.Error("a script is of another directory, or was read again")
	}
	for n := range 100 {
		read(fmt.Sprint("cat ", n), "/w")
	}
	if again := read("cat a", "/w"); again == first || again.Commands[0].String() != "cat a" {
		t.Error("all lines are kept")
	}
	for range 2 {
		if _, err := l.Read("cat 'a", bash.Options{Dir: "/w"}); err == nil {
			t.Error("no syntax error")
		}
	}
}
