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
func Caches(env []string) []string { return outermost(allCaches(env)) }

// allCaches is Caches with those that are in others.
func allCaches(env []string) []string {
	value := func(name string) string { return absoluteValue(env, name) }
	all := append(TempDirs(env), "/dev/shm")
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
	return there
}

// TempDirs are the directories for temp files, whether they exist or not.
func TempDirs(env []string) []string {
	return []string{os.TempDir(), absoluteValue(env, "TMPDIR"), "/tmp", "/var/tmp"}
}

// makeCaches makes the cache directories that programs of PATH need and can't
// make in a sandbox, in a home directory that is new. What can't be made is left
// out.
func makeCaches(env []string) {
	home := absoluteValue(env, "HOME")
	if st, err := os.Stat(home); home == "" || err != nil || !st.IsDir() {
		return
	}
	if absoluteValue(env, "XDG_CACHE_HOME") == "" {
		os.Mkdir(filepath.Join(home, ".cache"), 0o700)
	}
	for program, dirs := range map[string][]string{"npm": {".npm/_cacache", ".npm/_logs"}, "go": {"go/pkg/mod"}, "cargo": {".cargo/registry"}} {
		for _, dir := range filepath.SplitList(Surroundings{Env: env}.value("PATH")) {
			if regular(filepath.Join(dir, program)) {
				for _, name := range dirs {
					os.MkdirAll(filepath.Join(home, name), 0o700)
				}
				break
			}
		}
	}
}

// absoluteValue is the value of a variable that is an absolute path.
func absoluteValue(env []string, name string) string {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); n == name && filepath.IsAbs(v) {
			return v
		}
	}
	return ""
}
