package form

import (
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/wrap"
)

// Each row has a line with the form and one without it.
func TestForms(t *testing.T) {
	for name, f := range forms() {
		if why := readLine(t, f.example); why != "" {
			t.Errorf("%s: %q has no form: %s", name, f.example, why)
		}
		if why := readLine(t, f.counter); why == "" {
			t.Errorf("%s: %q has a form", name, f.counter)
		}
	}
}

func readLine(t *testing.T, line string) (why string) {
	t.Helper()
	script, err := bash.Read(line, bash.Options{Dir: "/w"}, wrap.Unwrap)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, c := range script.Commands {
		if _, w := Read(c); w != "" {
			why = w
		}
	}
	return why
}
