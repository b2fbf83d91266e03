package workspace

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// NameError says that a name cannot stand for a path: empty, relative, holding
// a NUL or a line break, or not UTF-8. Nothing on disk was looked at but, for
// Meant, whether it exists.
type NameError struct {
	Name    string
	Problem string
	Meant   string // the absolute path that was probably meant, if there is one
}

func (e *NameError) Error() string {
	if e.Name == "" {
		return "the path is empty; give an absolute path"
	}
	if e.Meant != "" {
		return fmt.Sprintf("path %q %s; probably %s is meant", e.Name, e.Problem, e.Meant)
	}
	return fmt.Sprintf("path %q %s", e.Name, e.Problem)
}

func checkName(name string) error {
	switch {
	case name == "":
		return &NameError{}
	case strings.ContainsRune(name, 0):
		return &NameError{Name: name, Problem: "contains a NUL byte"}
	case strings.ContainsAny(name, "\n\r"):
		return &NameError{Name: name, Problem: "contains a line break"}
	case !utf8.ValidString(name):
		return &NameError{Name: name, Problem: "is not valid UTF-8"}
	}
	return nil
}

// cutHome takes a leading ~/ off, which only shells expand.
func cutHome(name string) (rest string, ok bool) {
	if name == "~" {
		return "", true
	}
	return strings.CutPrefix(name, "~/")
}
