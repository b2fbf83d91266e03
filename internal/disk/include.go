package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// configReader reads the configuration files of one repository.
type configReader struct {
	*repoReader
	worktree string // core.worktree
	hashSize int    // by extensions.objectFormat; 0: unset
}

// all reads the repository's configuration and that of this working tree. shared says that several working trees
// share the repository: then core.worktree counts only where working trees have files of their own.
func (c *configReader) all(gitDir, common string, shared bool) error {
	if err := c.file(common+"/config", 0); err != nil {
		return err
	}
	own := gitDir + "/config.worktree"
	if _, err := os.Lstat(own); shared && absent(err) {
		c.worktree = ""
	}
	return c.file(own, 0)
}

// file reads one file and what it includes. A file that does not exist says nothing.
func (c *configReader) file(path string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: configuration is included too deeply", path)
	}
	if !c.budget.spend(fileCost) {
		return errTooMuch
	}
	text, err := read(path, maxConfig)
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	settings, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, s := range settings {
		if err := c.setting(s, path, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *configReader) setting(s setting, file string, depth int) error {
	switch p := s.key.pattern(); p {
	case "include.path", "includeif.*.path":
		return c.include(s, file, depth) // whether its condition holds or not: harmless in both cases, or told
	case "core.worktree":
		if c.worktree = s.value; s.value == "" {
			return fmt.Errorf("%s: core.worktree without a value", file)
		}
	case "extensions.objectformat":
		switch s.value {
		case "sha1":
			c.hashSize = 20
		case "sha256":
			c.hashSize = 32
		default:
			return fmt.Errorf("%s: object format %q", file, s.value)
		}
	default:
		if program := s.runs(); program != "" && !c.disk.overruled[p] {
			return &programError{program}
		}
	}
	return nil
}

// include reads an included file, whose path is relative to the file that names it.
func (c *configReader) include(s setting, file string, depth int) error {
	path := s.value
	switch rest, atHome := strings.CutPrefix(path, "~/"); {
	case atHome && c.disk.home != "":
		path = c.disk.home + "/" + rest
	case path == "", path[0] == '~', strings.HasPrefix(path, "%("):
		return fmt.Errorf("%s: include %q: where that is is not known", file, path)
	case !filepath.IsAbs(path):
		path = file[:strings.LastIndexAny(file, `/`+string(filepath.Separator))+1] + path
	}
	return c.file(path, depth+1)
}

// sameFolder reports whether core.worktree only says where the repository was found anyway.
func (c *configReader) sameFolder(gitDir, top string) bool {
	if top == "" {
		return false
	}
	a, _, err1 := realpath.Resolve(below(gitDir, c.worktree))
	b, _, err2 := realpath.Resolve(top)
	return err1 == nil && err2 == nil && a == b
}
