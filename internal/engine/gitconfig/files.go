package gitconfig

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Text returns the text of one of git's small files, such as HEAD, without the end of its last line; "": it is missing,
// large, or no regular file.
func Text(file string) string {
	const largest = 1 << 20 // as in git
	data := readBounded(file, largest)
	return strings.TrimRight(string(data), "\r\n")
}

// Pointer returns the path that a file has after a prefix: "gitdir: " for the .git file of a linked worktree or a
// submodule, "" for commondir and gitdir. It is read as git reads it: up to a NUL, and relative to the file's
// directory.
func Pointer(file, prefix string) (path string, ok bool) {
	path, ok = strings.CutPrefix(Text(file), prefix)
	if path, _, _ = strings.Cut(path, "\x00"); !ok || path == "" {
		return "", false
	}
	return join(filepath.Dir(file), path), true
}

// Find returns the .git of the repository that a directory is in; "": it is in none.
func Find(dir string) (dotGit string) {
	for ; ; dir = filepath.Dir(dir) {
		dotGit = filepath.Join(dir, ".git")
		if _, err := os.Lstat(dotGit); err == nil {
			return dotGit
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Dirs returns the git directory that a .git, which may be a file, stands for, and the directory that it shares with
// other worktrees.
func Dirs(dotGit string) (gitDir, common string) {
	gitDir = dotGit
	if to, ok := Pointer(dotGit, "gitdir: "); ok {
		gitDir = to
	}
	if common, ok := Pointer(filepath.Join(gitDir, "commondir"), ""); ok {
		return gitDir, common
	}
	return gitDir, gitDir
}

// Read returns the settings of a file as git may see them, even of a file that Parse rejects: those before an error,
// and a value up to a NUL. A missing file has none.
func Read(file string) []Setting {
	const largest = 16 << 20
	p := &parser{text: readBounded(file, largest)}
	if p.skipMark() {
		p.file()
	}
	for i := range p.out {
		p.out[i].Value, _, _ = strings.Cut(p.out[i].Value, "\x00")
	}
	return p.out
}

// Included returns the file that a setting includes, whether the condition of the include is true or not; "": it isn't
// an include.
func (s Setting) Included(file, home string) string {
	if p := s.Key.Pattern(); p != "include.path" && p != "includeif.*.path" || s.Value == "" {
		return ""
	}
	return join(filepath.Dir(file), ExpandHome(s.Value, home))
}

// ExpandHome returns a path or a pattern of a setting with the home directory in place of ~.
func ExpandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return home + "/" + rest
	}
	return path
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readBounded reads a regular file; nil: it is something else, or larger. Opening a pipe doesn't block.
func readBounded(file string, largest int64) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil || int64(len(data)) > largest {
		return nil
	}
	return data
}
