package ondisk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/gitconfig"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// setting is one line of git's configuration.
type setting struct{ gitconfig.Setting }

// configReader reads the configuration files of one repository.
type configReader struct {
	*repoReader
	top      string // directory of the repository's files; "" if it is bare
	worktree string // core.worktree
	hashSize int    // by extensions.objectFormat; 0: unset
	own      bool   // the user's or the system's configuration: only programs with a relative path matter
}

// all reads the repository's configuration and that of this working tree. shared means that several working trees share the
// repository: then core.worktree only counts if working trees have their own files.
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

// file reads one file and its includes. A missing file has no settings.
func (c *configReader) file(path string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: configuration is included too deeply", path)
	}
	if !c.budget.spend(fileCost) {
		return errTooMuch
	}
	text, err := read(path, maxConfig)
	if err != nil {
		if absent(err) || c.own && os.IsPermission(err) {
			return nil
		}
		return err
	}
	settings, err := gitconfig.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, s := range settings {
		if err := c.setting(setting{s}, path, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *configReader) setting(s setting, file string, depth int) error {
	p := s.Key.Pattern()
	if c.own && p != "include.path" && p != "includeif.*.path" && (s.Key.Section == "alias" || !relativeProgram(s.Value)) {
		return nil
	}
	switch p {
	case "include.path", "includeif.*.path":
		return c.include(s, file, depth) // whether its condition is true or not: harmless in both cases, or reported
	case "core.worktree":
		if c.worktree = s.Value; s.Value == "" {
			return fmt.Errorf("%s: core.worktree without a value", file)
		}
	case "extensions.objectformat":
		switch s.Value {
		case "sha1":
			c.hashSize = 20
		case "sha256":
			c.hashSize = 32
		default:
			return fmt.Errorf("%s: object format %q", file, s.Value)
		}
	case "core.attributesfile", "core.excludesfile", "blame.ignorerevsfile", "mailmap.file", "diff.orderfile":
		return c.quoted(s, file)
	default:
		if program := s.runs(); program != "" && !c.disk.overruled[p] && !c.lax {
			return &programError{program}
		}
	}
	return nil
}

// include reads an included file, whose path is relative to the file that names it.
func (c *configReader) include(s setting, file string, depth int) error {
	directory := file[:strings.LastIndexAny(file, `/`+string(filepath.Separator))]
	path, ok := c.path(s.Value, directory)
	if !ok {
		return fmt.Errorf("%s: include %q: the path can't be determined", file, s.Value)
	}
	if err := c.file(path, depth+1); err != nil {
		return err
	}
	abs, _, err := realpath.Resolve(path)
	if _, secret := names.Secret(abs); err == nil && !c.own && (secret || !c.inWorkspace(abs)) { // git config --list prints it
		return fmt.Errorf("%s: include %q: it may be secret, or is outside the workspace", file, s.Value)
	}
	return nil
}

// quoted checks that a file whose lines git quotes in error messages isn't secret.
func (c *configReader) quoted(s setting, file string) error {
	if s.Value == "" {
		return nil
	}
	path, ok := c.path(s.Value, c.top)
	if ok && filepath.IsAbs(path) {
		abs, _, err := realpath.Resolve(path)
		if _, secret := names.Secret(abs); err == nil && !secret && (c.own || c.inWorkspace(abs)) {
			return nil
		}
	}
	return fmt.Errorf("%s: %s makes git read %q, which may be secret or is outside the workspace", file, s.Key, s.Value)
}

// inWorkspace reports whether a resolved path is in the working tree or in the workspace.
func (c *configReader) inWorkspace(abs string) bool {
	roots := append([]string{}, c.disk.options.roots...)
	if top, _, err := realpath.Resolve(c.top); err == nil && c.top != "" {
		roots = append(roots, top)
	}
	_, inside := names.Within(abs, roots)
	return inside
}

// path returns a path as in git's configuration: ~ is the home directory, and relative paths start in directory.
func (c *configReader) path(value, directory string) (string, bool) {
	switch rest, atHome := strings.CutPrefix(value, "~/"); {
	case atHome && c.disk.home != "":
		return c.disk.home + "/" + rest, true
	case value == "", value[0] == '~', strings.HasPrefix(value, "%("):
		return "", false
	}
	return below(directory, value), true
}

// sameDirectory reports whether core.worktree is where the repository was found anyway.
func (c *configReader) sameDirectory(gitDir, top string) bool {
	if top == "" {
		return false
	}
	a, _, err1 := realpath.Resolve(below(gitDir, c.worktree))
	b, _, err2 := realpath.Resolve(top)
	return err1 == nil && err2 == nil && a == b
}
