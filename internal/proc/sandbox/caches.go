package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// Caches is what builds write beside the workspace and can do without at any
// time: temp folders, and the caches of compilers and package managers. What
// does not exist is left out. Folders that programs are started from are not
// in it (~/.cargo/bin, ~/.local/bin).
func Caches(env []string) []string {
	value := func(name string) string {
		for _, kv := range env {
			if n, v, _ := strings.Cut(kv, "="); n == name && filepath.IsAbs(v) {
				return v
			}
		}
		return ""
	}
	all := []string{os.TempDir(), value("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"}
	for _, name := range []string{"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "CCACHE_DIR", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR", "YARN_CACHE_FOLDER"} {
		all = append(all, value(name))
	}
	if v := value("GOPATH"); v != "" {
		all = append(all, filepath.Join(v, "pkg", "mod"), filepath.Join(v, "pkg", "sumdb"))
	}
	if v := value("CARGO_HOME"); v != "" {
		all = append(all, filepath.Join(v, "registry"), filepath.Join(v, "git"))
	}
	if home := value("HOME"); home != "" {
		for _, name := range []string{
			".cache", "Library/Caches", "go/pkg/mod", "go/pkg/sumdb", ".npm/_cacache", ".npm/_logs", ".cargo/registry", ".cargo/git",
			".gradle/caches", ".m2/repository", ".ccache", ".local/share/pnpm/store", ".yarn/berry/cache", ".nuget/packages", ".ivy2/cache",
			".bundle/cache",
		} {
			all = append(all, filepath.Join(home, name))
		}
	}
	var there []string
	for _, path := range all {
		if _, err := os.Stat(path); path != "" && err == nil {
			there = append(there, path)
		}
	}
	return outermost(there)
}
