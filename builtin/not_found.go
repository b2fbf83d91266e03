package builtin

import (
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/internal/workspace"
	"github.com/adze-dev/adze/tool"
)

// notFound says that a path is not there, and what is: the nearest directory above it, or a name much like it.
func (f *files) notFound(a action, p workspace.Path) error {
	if !p.Inside() {
		return a.errorf(tool.FileNotFound, p, "file not found")
	}
	dir := p.Abs
	for {
		above := filepath.Dir(dir)
		at, err := f.ws.Resolve(above)
		if err != nil || above == dir {
			return a.errorf(tool.FileNotFound, p, "file not found")
		}
		if !at.Exists {
			dir = above
			continue
		}
		if near := f.nearName(at, filepath.Base(dir)); near != "" {
			meant := filepath.Join(above, near, strings.TrimPrefix(p.Abs, dir))
			return a.errorf(tool.FileNotFound, p, "file not found; did you mean %s?", meant)
		}
		return a.errorf(tool.FileNotFound, p, "file not found%s", f.offer.hint("list_directory", "; use list_directory on %s", above))
	}
}

// nearName finds a name in a directory that differs only in case or in the kind of its separators.
func (f *files) nearName(dir workspace.Path, name string) string {
	entries, err := dir.ReadDir()
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	for _, e := range entries {
		if foldName(e.Name()) != foldName(name) {
			continue
		}
		if f.ignore.Check(filepath.Join(dir.Abs, e.Name()), ignore.Kind(e.IsDir())).State == ignore.Clear {
			return e.Name()
		}
	}
	return ""
}

func foldName(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}
