package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/tool"
)

// Source is where a plugin comes from.
type Source struct {
	Text string `json:"source"`        // the URL of a git repository, or an absolute path
	Rev  string `json:"rev,omitempty"` // a branch, a tag or a commit; "": the default branch
}

// ParseSource reads PATH or GIT-URL[@REV]. A path is relative to dir.
func ParseSource(text, dir string) Source {
	if !strings.Contains(text, "://") {
		if !filepath.IsAbs(text) {
			text = filepath.Join(dir, text)
		}
		return Source{Text: filepath.Clean(text)}
	}
	if at := strings.LastIndexByte(text, '@'); at > strings.LastIndexByte(text, '/') {
		return Source{text[:at], text[at+1:]}
	}
	return Source{Text: text}
}

func (s Source) String() string { return strings.TrimSuffix(s.Text+"@"+s.Rev, "@") }

// clone checks one commit out in dir/checkout, in a sandbox, without the user's configuration of git, hooks, filters
// and submodules.
func (w Where) clone(ctx context.Context, from Source, dir string) (to, commit string, err error) {
	scheme, _, _ := strings.Cut(from.Text, "://")
	if !slices.Contains([]string{"https", "http", "file"}, scheme) || strings.HasPrefix(from.Rev, "-") ||
		strings.ContainsAny(from.Rev, ": ") {
		return "", "", errors.New("only https, http and file URLs with a branch, tag or commit are supported\n" +
			"Clone it yourself, then add the directory.")
	}
	to, repo := filepath.Join(dir, "checkout"), filepath.Join(dir, "git")
	env := []string{
		"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:http:https", "LC_ALL=C",
	}
	const passed = "PATH http_proxy https_proxy HTTPS_PROXY no_proxy NO_PROXY SSL_CERT_FILE SSL_CERT_DIR"
	for name := range strings.FieldsSeq(passed) {
		if value, ok := w.Lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	runner := proc.Open(proc.Options{Helper: w.Helper})
	defer func() { err = errors.Join(err, runner.Close()) }()
	git := func(args ...string) (said string) {
		if err != nil {
			return ""
		}
		program := []string{"git", "--git-dir=" + repo, "--work-tree=" + to, "-c", "core.hooksPath=" + os.DevNull}
		out, failed := runner.Run(ctx, proc.Command{
			Argv: slices.Concat(program, args), Dir: dir, Env: env, Timeout: 5 * time.Minute,
			Sandbox: &sandbox.Spec{Mode: sandbox.WorkspaceNetwork, Roots: []string{dir}},
		})
		said = strings.TrimSpace(out.Output.String())
		if failed != nil {
			err = fmt.Errorf("git in a sandbox: %w\nClone it yourself, then add the directory.", failed)
		} else if out.Ended != proc.Exited || out.Exit != 0 {
			err = fmt.Errorf("git %s: %s", args[0], tool.Visible(said))
		}
		return said
	}
	// These attributes are the strongest: files are checked out as they are in the commit.
	const attributes = "* -text -eol -ident -filter -working-tree-encoding\n"
	info := filepath.Join(repo, "info")
	err = errors.Join(os.Mkdir(to, 0o700), os.MkdirAll(info, 0o700),
		os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o600))
	if git("init", "-q", "--template="); err != nil {
		return "", "", err
	}
	fetch := []string{"--no-tags", "--no-recurse-submodules", "--", from.Text, cmp.Or(from.Rev, "HEAD")}
	if git(append([]string{"fetch", "-q", "--depth=1"}, fetch...)...); err != nil { // some servers can't
		err = nil
		git(append([]string{"fetch", "-q"}, fetch...)...)
	}
	git("checkout", "-q", "-f", "--no-recurse-submodules", "--detach", "FETCH_HEAD")
	commit = git("rev-parse", "--verify", "HEAD^{commit}")
	return to, commit, err
}

// Limits of a plugin. All files are hashed at every start.
const (
	maxFiles = 5000
	maxBytes = 50 << 20
)

// file is a file of a plugin: a program, another file, or a link.
type file struct {
	mode    fs.FileMode
	content string // the target of a link
}

// tree is the files of a plugin by path.
type tree map[string]file

// readTree reads regular files, and links that stay within the directory. It returns what it omitted.
func readTree(dir string) (all tree, left []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	all = tree{}
	room := maxBytes
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		case err != nil, d.IsDir() && path == ".", strings.EqualFold(d.Name(), ".git"):
			return err
		case tool.Hidden(path) || strings.ContainsAny(path, "\\\n\t") || !utf8.ValidString(path):
			return fmt.Errorf("invalid file name %q", path)
		case d.IsDir():
			return nil
		case len(all) == maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		one := file{mode: 0o600}
		info, err := root.Stat(path)
		switch {
		case err != nil:
			left = append(left, path+" is skipped: it is a link out of the plugin, or to nothing")
			return nil
		case d.Type() == fs.ModeSymlink:
			one.mode = fs.ModeSymlink
			one.content, err = root.Readlink(path)
		case !info.Mode().IsRegular():
			left = append(left, path+" is skipped: it is not a regular file")
			return nil
		default:
			var content []byte
			content, err = readAtMost(root, path, room)
			one.content, one.mode = string(content), one.mode|info.Mode()&0o100
		}
		room -= len(one.content)
		all[path] = one
		return err
	})
	return all, left, err
}

// readAtMost reads a regular file.
func readAtMost(root *os.Root, path string, room int) ([]byte, error) {
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(room)+1))
	if err == nil && len(content) > room {
		err = fmt.Errorf("%s is too large: a manifest can have %d MB, a plugin %d MB", path, maxConfig>>20,
			maxBytes>>20)
	}
	return content, err
}

// write writes the files into a new directory.
func (t tree) write(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for path, one := range t {
		to := filepath.Join(dir, filepath.FromSlash(path))
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil && one.mode == fs.ModeSymlink {
			err = os.Symlink(one.content, to)
		} else if err == nil {
			err = os.WriteFile(to, []byte(one.content), one.mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hash identifies all files.
func (t tree) hash() string {
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(sum, "%q %s %x\n", path, t[path].mode, sha256.Sum256([]byte(t[path].content)))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
