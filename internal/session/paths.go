package session

import (
	"fmt"
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

// included are the further directories in settings. A missing one is reported and skipped.
func (f Folder) included(s *settings.Settings) []string {
	var dirs []string
	for _, e := range s.Context.IncludeDirectories {
		path := f.settled(e.Text)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			f.env.tell(fmt.Sprintf("%s: context.includeDirectories: directory not found: %s", e.From, path))
			continue
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// settled is a path of settings, which may begin at the home directory or at the directory worked in.
func (f Folder) settled(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.env.Home != "" {
		path = filepath.Join(f.env.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Path, path)
	}
	return path
}

// MCPState is where manifests, logs and logins of servers are kept.
func (f Folder) MCPState() string { return filepath.Join(f.Home, "mcp") }
