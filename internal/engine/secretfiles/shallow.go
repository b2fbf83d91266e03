package secretfiles

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Shallow returns the files that are secret by name in directories and in the directories in these, sorted, with links
// resolved. It is for build caches: they have no other files named token or credentials there, and further down they
// have the files of packages, by the hundred thousand. It ends early if stop returns true.
func Shallow(dirs []string, stop func() bool) (found []string) {
	var below []string
	for _, dir := range dirs {
		below = append(below, shallow(dir, dirs, &found)...)
	}
	for _, dir := range below {
		if stop() {
			break
		}
		shallow(dir, dirs, &found)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

var plainSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\.?_?((access|auth|refresh|api)[-_.]?)?(token|credential|secret|password|cookie)s?(\.[a-z]+)?$|^\.?_?auth(\.[a-z]+)?$`)
})

// shallow adds the secret files in one directory, and returns the directories in it.
func shallow(dir string, within []string, found *[]string) (below []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // what can be read; the order doesn't matter
	for _, e := range entries {
		if !e.IsDir() && strings.Trim(e.Name(), "0123456789abcdef-") == "" {
			continue // named by a hash, as most files are
		}
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			below = append(below, path)
			continue
		}
		if _, secret := names.Secret(path); !secret && !plainSecret().MatchString(e.Name()) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if _, inside := names.Within(real, within); err == nil && inside {
			*found = append(*found, real)
		}
	}
	return below
}
