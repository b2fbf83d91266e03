package ondisk

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

const (
	maxConfig     = 1 << 20
	maxIndex      = 64 << 20
	maxSubmodules = 200
)

// Git looks at the settings of the repository around dir, and of those within it, for one that names a program which a
// command that only looks would run. A repository that merely lies there, without a .git, is not known.
func (Disk) Git(dir string) (program string, known bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if program, found, known := repository(at, 0); found {
			return program, known
		}
		if at == filepath.Dir(at) {
			return "", true // no repository: git says so and does nothing
		}
	}
}

// repository looks at the repository whose work tree is dir, if there is one.
func repository(dir string, depth int) (program string, found, known bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err != nil:
		return "", bare(dir), false
	case info.IsDir():
	default:
		text, err := read(dot, 4096)
		target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
		if err != nil || !ok {
			return "", true, false
		}
		dot = beside(dir, strings.TrimSpace(target))
	}
	common := dot
	if text, err := read(filepath.Join(dot, "commondir"), 4096); err == nil {
		common = beside(dot, strings.TrimSpace(text))
	}
	for _, config := range []string{filepath.Join(common, "config"), filepath.Join(dot, "config.worktree")} {
		text, err := read(config, maxConfig)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", true, false
		}
		if program = Program(text); program != "" {
			return program, true, true
		}
	}
	program, known = submodules(dir, dot, depth)
	return program, true, known
}

// bare reports whether dir looks like a repository without a work tree.
func bare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func read(path string, most int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", os.ErrInvalid
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

// programs finds the settings that make a looking command run or fetch something, or look elsewhere: a key stands at
// the start of a line or behind the bracket of its section, and cannot be written in any other way.
var programs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)(?:^|\])[ \t]*(?:(external|textconv|command|clean|smudge|process|program|sshcommand|gitproxy|askpass|` +
		`alternaterefscommand|worktree|promisor|partialclone|showsignature|objectformat|refstorage)[ \t]*(?:=|$|[#;\r])` +
		`|(fsmonitor)[ \t]*(?:$|[#;\r]|=[ \t]*(?:[^f \t]|f[^a]))|(pretty)[ \t]*=.*%G|(\[(?:include|includeif|pager)\b))`)
})

// Program names the first setting in a git config file that makes a looking command run a program or look elsewhere.
func Program(config string) string {
	found := programs().FindStringSubmatch(strings.TrimPrefix(config, "\ufeff"))
	for _, name := range found[min(1, len(found)):] {
		if name != "" {
			return "git's setting " + strings.ToLower(strings.Trim(name, "["))
		}
	}
	return ""
}

// submodules looks at the repositories that the index names: git looks into them too.
func submodules(dir, dot string, depth int) (program string, known bool) {
	text, err := read(filepath.Join(dot, "index"), maxIndex)
	if os.IsNotExist(err) {
		return "", true
	}
	if err != nil {
		return "", false
	}
	paths, ok := gitlinks([]byte(text))
	if !ok || depth > 3 || len(paths) > maxSubmodules {
		return "", false
	}
	for _, p := range paths {
		program, found, known := repository(filepath.Join(dir, p), depth+1)
		if found && (program != "" || !known) {
			return program, known
		}
	}
	return "", true
}

// gitlinks are the paths of an index at which another repository stands.
func gitlinks(index []byte) (paths []string, ok bool) {
	if !bytes.Contains(index, []byte{0, 0, 0xe0, 0}) && !bytes.Contains(index, []byte("link")) {
		return nil, true
	}
	if len(index) < 12 || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version != 2 && version != 3 {
		return nil, false
	}
	rest := index[12:]
	for range count {
		if len(rest) < 64 {
			return nil, false
		}
		mode, head := binary.BigEndian.Uint32(rest[24:]), 62
		if binary.BigEndian.Uint16(rest[60:])&0x4000 != 0 {
			head = 64
		}
		end := bytes.IndexByte(rest[head:], 0)
		if end < 0 {
			return nil, false
		}
		if mode == 0xe000 {
			paths = append(paths, string(rest[head:head+end]))
		}
		size := (head + end + 8) &^ 7
		if size > len(rest) {
			return nil, false
		}
		rest = rest[size:]
	}
	return paths, !bytes.Contains(rest, []byte("link")) // a split index holds more elsewhere
}
