package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/settings"
)

// Canonical resolves links, as the paths that a policy compares with are resolved. What is not there stays as it is,
// below its nearest directory.
func Canonical(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Canonical(parent), filepath.Base(path))
}

// CheckAdded reports why a path can't be a further directory of the workspace. The root directory and the home directory
// can't: commands and edits would reach everything that the user has.
func CheckAdded(path, home string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory not found: %s", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("not a directory: %s", path)
	}
	if f, err := os.Open(path); err != nil {
		return err
	} else if f.Close(); filepath.Dir(Canonical(path)) == Canonical(path) {
		return fmt.Errorf("contains all files of this computer: %s\nAdd the directory that you need.", path)
	}
	if home != "" && isBelow(Canonical(home), Canonical(path)) {
		return fmt.Errorf("contains your home directory: %s\nAdd the directory that you need.", path)
	}
	return nil
}

// isBelow reports whether a path is a directory or below it.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// included are the further directories in settings. A missing one is reported and skipped.
func (f Folder) included(s *settings.Settings) []string {
	var dirs []string
	for _, e := range s.Context.IncludeDirectories {
		path := f.settled(e.Text)
		if err := CheckAdded(path, f.env.Home); err != nil {
			f.env.tell(fmt.Sprintf("%s: context.includeDirectories: %v", e.From, err))
			continue
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// settled is a path of settings, which may begin at the home directory or at the directory worked in.
func (f Folder) settled(path string) string {
	if rest, ok := strings.CutPrefix(path+"/", "~/"); ok && f.env.Home != "" {
		path = filepath.Join(f.env.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Path, path)
	}
	return path
}

// MCPState is where manifests, logs and logins of servers are kept.
func (f Folder) MCPState() string { return filepath.Join(f.Home, "mcp") }
