package ignore

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/homedir"
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

// gitConfig reads system, user and repository configuration like git, with includes. Of conditional includes only gitdir is
// supported; others are ignored, and so are values from the environment (GIT_CONFIG_COUNT).
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
	c.watch.add(path)
	data, err := readBounded(path, os.O_RDONLY)
	if err != nil || c.depth > 10 {
		return
	}
	c.depth++
	defer func() { c.depth-- }()
	section := ""
	for _, line := range joinLines(string(data)) {
		line = strings.TrimLeft(line, " \t")
		if strings.HasPrefix(line, "[") {
			var ok bool
			if section, line, ok = strings.Cut(line[1:], "]"); !ok {
				return
			}
			line = strings.TrimLeft(line, " \t")
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, valued := strings.Cut(line, "=")
		c.set(section, strings.ToLower(strings.TrimRight(key, " \t")), unquote(value), valued, path)
	}
}

func (c *configReader) set(section, key, value string, valued bool, file string) {
	name, sub, _ := strings.Cut(section, " ")
	name = strings.ToLower(name)
	switch {
	case name == "core" && key == "excludesfile" && sub == "":
		c.excludesFile = c.expand(value)
	case name == "core" && key == "ignorecase" && sub == "":
		c.ignoreCase = !valued || isTrue(value)
	case key == "path" && (name == "include" || (name == "includeif" && c.holds(strings.Trim(sub, `" `), file))):
		c.file(resolve(filepath.Dir(file), c.expand(value)))
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
	pattern = c.expand(pattern)
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

func (c *configReader) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.home != "" {
		return filepath.ToSlash(c.home) + "/" + rest
	}
	return path
}

// joinLines splits configuration into lines, joining lines that end in a backslash with the next.
func joinLines(data string) []string {
	var lines []string
	joined := false
	for line := range strings.SplitSeq(strings.TrimPrefix(data, "\ufeff"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		slashes := len(line) - len(strings.TrimRight(line, `\`))
		text := line
		if slashes%2 == 1 {
			text = line[:len(line)-1]
		}
		if joined {
			lines[len(lines)-1] += text
		} else {
			lines = append(lines, text)
		}
		joined = slashes%2 == 1
	}
	return lines
}

// unquote reads a configuration value: quotes, escapes, a trailing comment, and whitespace around it.
func unquote(value string) string {
	var b strings.Builder
	quoted := false
	keep := 0 // length up to which whitespace is part of the value
	value = strings.TrimLeft(value, " \t")
	for i := 0; i < len(value); i++ {
		ch := value[i]
		switch {
		case ch == '"':
			quoted = !quoted
			keep = b.Len()
			continue
		case ch == '\\' && i+1 < len(value):
			i++
			ch = escapes(value[i])
		case !quoted && (ch == '#' || ch == ';'):
			return b.String()[:keep]
		}
		b.WriteByte(ch)
		if quoted || (ch != ' ' && ch != '\t') {
			keep = b.Len()
		}
	}
	return b.String()[:keep]
}

func escapes(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	}
	return c
}
