package trial

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Protects returns an Options.Protected: it reports whether a path is in one of the listed ones (see
// sandbox.Spec.Protect), or has a protected name. In a git directory only files that make git run programs or read
// elsewhere are protected, so that a commit is an ordinary change.
func Protects(listed []string, named func(path string) bool) func(path string) bool {
	return func(path string) bool {
		if slices.ContainsFunc(listed, func(l string) bool { return names.Below(path, l) }) {
			return true
		}
		i := strings.LastIndex(path, "/.git/")
		if i < 0 {
			return named != nil && named(path)
		}
		return names.GitObeys(path[i+len("/.git/"):])
	}
}
