package ignore

import (
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/homedir"
)

// gitConfig is the part of git's configuration that affects ignore rules.
type gitConfig struct {
	excludesFile string
	ignoreCase   bool
}

// configReader reads configuration files in order; a later value wins.
type configReader struct {
	gitConfig
	home   string
	gitDir string
	watch  *watch
	depth  int
}

// gitConfig reads system, user and repository configuration like git, with includes. Of conditional includes only
// gitdir is supported; others are ignored, and so are values from the environment (GIT_CONFIG_COUNT).
func (r *Rules) gitConfig(gitDir, common string, w *watch) gitConfig {
	home := r.getenv("HOME")
	if home == "" {
		home, _ = homedir.Dir()
	}
	xdg := r.getenv("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	c := configReader{home: home, gitDir: filepath.ToSlash(gitDir), watch: w}
	if xdg != "" {
		c.excludesFile = filepath.Join(xdg, "git", "ignore")
	}
	if system := r.getenv("GIT_CONFIG_SYSTEM"); system != "" {
		c.file(system)
	} else if r.getenv("GIT_CONFIG_NOSYSTEM") == "" {
		c.file("/etc/gitconfig")
	}
	if global := r.getenv("GIT_CONFIG_GLOBAL"); global != "" {
		c.file(global)
	} else {
		if xdg != "" {
			c.file(filepath.Join(xdg, "git", "config"))
		}
		if home != "" {
			c.file(filepath.Join(home, ".gitconfig"))
		}
	}
	c.file(filepath.Join(common, "config"))
	return c.gitConfig
}

func (c *configReader) file(path string) {
	if c.depth > 10 || path == "" {
		return
	}
	c.watch.add(path)
	c.depth++
	defer func() { c.depth-- }()
	for _, s := range gitconfig.Read(path) {
		c.set(s, path)
	}
}

func (c *configReader) set(s gitconfig.Setting, file string) {
	switch s.Key.Pattern() {
	case "core.excludesfile":
		c.excludesFile = gitconfig.ExpandHome(s.Value, c.home)
	case "core.ignorecase":
		c.ignoreCase = !s.Valued || isTrue(s.Value)
	case "include.path":
		c.file(s.Included(file, c.home))
	case "includeif.*.path":
		if c.holds(s.Key.Sub, file) {
			c.file(s.Included(file, c.home))
		}
	}
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// holds evaluates the condition of an includeIf for the repository.
func (c *configReader) holds(condition, file string) bool {
	pattern, ok := strings.CutPrefix(condition, "gitdir:")
	fold := false
	if !ok {
		if pattern, fold = strings.CutPrefix(condition, "gitdir/i:"); !fold {
			return false
		}
	}
	pattern = filepath.ToSlash(gitconfig.ExpandHome(pattern, c.home))
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = filepath.ToSlash(filepath.Dir(file)) + "/" + rest
	} else if !filepath.IsAbs(filepath.FromSlash(pattern)) {
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return wild{path: true, fold: fold}.matches(pattern, c.gitDir)
}
