package ondisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/gitindex"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Git returns the top of the working tree that git would use in dir, and why git may run a program, or show files
// elsewhere; "" if it doesn't: the repository around dir is a plain one, with its own objects, no links, no submodules
// and everyday settings, or dir is in no repository. The user's and the system's configuration may name any program,
// except by a relative path, which would be in the repository. known is false if that couldn't be determined.
func (d *disk) Git(dir string) (top, why string, known bool) {
	top, known = d.worktree(dir)
	if !known {
		return "", "", false
	}
	if top != "" {
		if why, err := plain(filepath.Join(top, ".git")); why != "" || err != nil {
			return top, why, err == nil
		}
	}
	included := 0
	for _, file := range []string{"/etc/gitconfig", d.home + "/.gitconfig", d.home + "/.config/git/config"} {
		if why, err := d.ofUser(file, &included); why != "" || err != nil {
			return top, why, err == nil
		}
	}
	return top, "", true
}

// Limits of one answer.
const (
	maxConfig   = 1 << 20
	maxIndex    = 32 << 20
	maxIncludes = 100
	maxGitNames = 4000 // in a git directory, without objects
	maxShown    = 160  // bytes of a value in a message
)

// worktree returns the top of the working tree of the repository that git would use in dir; "" if dir is in no
// repository. known is false if that couldn't be determined: git would use a bare repository, or one that is elsewhere.
func (d *disk) worktree(dir string) (top string, known bool) {
	at, _, err := realpath.Resolve(dir)
	if err != nil || !filepath.IsAbs(dir) || d.remote(dir) {
		return "", false
	}
	for ; ; at = filepath.Dir(at) {
		switch info, err := os.Lstat(filepath.Join(at, ".git")); {
		case err == nil:
			return at, info.IsDir()
		case !absent(err), names.GitSignsOf(entriesOf(at)).Repository():
			return "", false
		case at == filepath.Dir(at):
			return "", true
		}
	}
}

// entriesOf returns a function that reports whether a directory has an entry.
func entriesOf(dir string) func(name string) bool {
	return func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
}

// absent reports whether an error means that a path doesn't exist, including a file in place of a parent directory.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// plain returns what isn't plain about a repository: a link, a file or a setting that may name programs or other files,
// or a submodule.
func plain(gitDir string) (why string, err error) {
	if why, err := odd(gitDir); why != "" || err != nil {
		return why, err
	}
	settings, err := settingsOf(filepath.Join(gitDir, "config"))
	for _, s := range settings {
		if !slices.Contains(everydaySettings, s.Key.Pattern()) || strings.Contains(s.Value+s.Key.Sub, "::") {
			return strings.TrimSpace(humanize.Cut(s.Value, maxShown) + " (" + s.Key.String() + ")"), nil
		}
	}
	if err == nil {
		why, err = anySubmodule(gitDir)
	}
	return why, err
}

// odd returns what is odd about a git directory: a link, or a file that makes git use other ones or run a program.
func odd(gitDir string) (why string, err error) {
	left := maxGitNames
	err = filepath.WalkDir(gitDir, func(path string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(path[len(gitDir):], string(filepath.Separator))
		if left--; left < 0 || err != nil {
			return errors.Join(err, errTooMuch)
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0, slices.Contains(oddFiles, filepath.ToSlash(rel)):
			why = path
			return fs.SkipAll
		case e.IsDir() && filepath.ToSlash(rel) == "objects/info" ||
			!strings.HasPrefix(filepath.ToSlash(rel), "objects/"):
			return nil
		case e.IsDir():
			return fs.SkipDir
		}
		return nil
	})
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(gitDir, name)); err != nil || !info.IsDir() {
			return why, fmt.Errorf("%s is not a complete repository", gitDir)
		}
	}
	if head, err := read(filepath.Join(gitDir, "HEAD"), 4096); err != nil || len(head) == 0 {
		return why, fmt.Errorf("%s is not a complete repository", gitDir)
	}
	return why, err
}

var oddFiles = []string{"commondir", "config.worktree", "objects/info/alternates", "hooks/post-index-change"}

// everydaySettings name no program and no file.
var everydaySettings = strings.Fields("core.repositoryformatversion core.filemode core.bare core.logallrefupdates " +
	"core.ignorecase core.precomposeunicode " +
	"core.autocrlf core.eol core.safecrlf core.symlinks core.longpaths core.quotepath core.abbrev core.pager " +
	"core.sshcommand core.askpass credential.helper " +
	"remote.*.url remote.*.fetch remote.*.pushurl remote.*.tagopt remote.*.prune branch.*.remote branch.*.merge " +
	"branch.*.rebase branch.*.description " +
	"user.name user.email user.signingkey init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote " +
	"fetch.prune color.ui gc.auto commit.gpgsign rerere.enabled merge.ff")

// settingsOf reads a file of git's configuration. A missing one has no settings.
func settingsOf(file string) ([]gitconfig.Setting, error) {
	text, err := read(file, maxConfig)
	if err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, err
	}
	return gitconfig.Parse(text)
}

// ofUser returns a program in the user's configuration that has a relative path.
func (d *disk) ofUser(file string, included *int) (why string, err error) {
	if *included++; *included > maxIncludes {
		return "", errTooMuch
	}
	settings, err := settingsOf(file)
	if os.IsPermission(err) {
		return "", nil // git can't read it either
	}
	if err != nil {
		return "", err
	}
	for _, s := range settings {
		switch p := s.Key.Pattern(); {
		case p == "include.path" || p == "includeif.*.path":
			path := s.Value
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = filepath.Join(d.home, rest)
			} else if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			if why, err := d.ofUser(path, included); why != "" || err != nil {
				return why, err
			}
		case slices.Contains([]string{"diff", "filter", "core", "merge", "gpg"}, s.Key.Section) &&
			relativeProgram(s.Value):
			return humanize.Cut(s.Value, maxShown) + " (" + s.Key.String() + ")", nil
		}
	}
	return "", nil
}

// relativeProgram reports whether a word of a command line is a path that is neither absolute nor in the home
// directory.
func relativeProgram(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(w string) bool {
		w = strings.Trim(w, `"'`)
		return strings.Contains(w, "/") && !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "~/") &&
			!strings.HasPrefix(w, "$HOME/")
	})
}

// Tracked calls visit with the path of each file in the index of the repository around dir, until it returns false.
// known is false if that couldn't be determined.
func (d *disk) Tracked(dir string, visit func(path string) bool) (known bool) {
	if d.remote(dir) {
		return false
	}
	top, known := d.worktree(dir)
	if !known || top == "" {
		return known
	}
	err := eachEntry(filepath.Join(top, ".git"), func(name string, mode uint32) error {
		if !visit(top + string(filepath.Separator) + filepath.FromSlash(name)) {
			return errEnough
		}
		return nil
	})
	return err == nil || errors.Is(err, errEnough)
}

// errEnough reports that a visitor stopped.
var errEnough = errors.New("enough")

// anySubmodule names a submodule in a repository's index; "" if it has none.
func anySubmodule(gitDir string) (name string, err error) {
	err = eachEntry(gitDir, func(path string, mode uint32) error {
		if mode&gitindex.TypeMask == gitindex.Gitlink {
			name = "the submodule " + path
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return name, err
}

// eachEntry visits the entries of a repository's index, including those of a shared index.
func eachEntry(gitDir string, visit func(name string, mode uint32) error) error {
	const hashSize = 20
	data, err := read(gitDir+"/index", maxIndex)
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	each := func(e gitindex.Entry) error { return visit(string(e.Name), e.Mode) }
	split, err := gitindex.Parse(data, hashSize, each)
	if err != nil || split == nil {
		return err
	}
	if data, err = read(gitDir+"/sharedindex."+split.Shared, maxIndex); err != nil {
		return err
	}
	return split.Parse(data, hashSize, each)
}
