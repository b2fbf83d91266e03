package ondisk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/internal/workspace/realpath"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// unseen stands for unknown files. Found paths are absolute.
const unseen = "*"

// Secret returns a secret file below dir, or a directory of secrets, that a search through dir would read; "" if there is
// none. Git-ignored files count. known is false if there are too many files to check.
func (d *disk) Secret(dir string, s permission.Search) (name string, known bool) {
	if found := d.secret(dir, s); found != unseen {
		return found, true
	}
	return "", false
}

// secret is like Secret, but returns unseen if there are too many files to check.
func (d *disk) secret(dir string, s permission.Search) string {
	if d.remote(dir) {
		return unseen
	}
	abs, exists, err := realpath.Resolve(dir)
	switch {
	case err != nil || !filepath.IsAbs(dir):
		return unseen
	case !exists && s != prove.Tracked:
		if _, err := os.Lstat(abs); !absent(err) {
			return unseen
		}
		return ""
	}
	w := &secretWalk{disk: d, budget: d.budget(), top: abs, search: s, seen: map[string]bool{}}
	if s == prove.Tracked {
		return d.tracked(w, abs)
	}
	info, err := os.Lstat(abs)
	if err == nil && !info.IsDir() {
		w.file(abs)
		return w.found
	}
	w.todo = []string{abs}
	for len(w.todo) > 0 && w.found == "" {
		last := len(w.todo) - 1
		next := w.todo[last]
		w.todo = w.todo[:last]
		w.directory(next)
	}
	return w.found
}

// ignoreFiles are the files that searches read in every directory and in those above it.
var ignoreFiles = []string{".gitignore", ".ignore", ".rgignore"}

// secretWalk searches directories until a secret is found.
type secretWalk struct {
	disk   *disk
	budget *budget
	top    string
	search permission.Search
	todo   []string        // directories, canonical
	seen   map[string]bool // targets of links
	found  string
}

func (w *secretWalk) directory(dir string) {
	if !innocent(dir) {
		// An ordinary name below it shows whether the directory is secret.
		if _, ok := names.Secret(filepath.Join(dir, "x")); ok {
			w.found = dir
			return
		}
	}
	err := w.budget.list(dir, func(e os.DirEntry) bool {
		if e.Type()&fs.ModeSymlink != 0 && slices.Contains(ignoreFiles, e.Name()) {
			w.ignoring(filepath.Join(dir, e.Name()))
		}
		w.entry(dir, e)
		return w.found == ""
	})
	if err != nil && !absent(err) && !os.IsPermission(err) { // a search can't read it either
		w.found = unseen
	}
}

func (w *secretWalk) entry(dir string, e os.DirEntry) {
	path := filepath.Join(dir, e.Name())
	switch {
	case e.IsDir():
		if !packed(dir, e.Name()) {
			w.todo = append(w.todo, path)
		}
	case e.Type()&fs.ModeSymlink != 0:
		if w.search == prove.Linked {
			w.link(path)
		}
	case e.Type().IsRegular() || e.Type()&fs.ModeIrregular != 0:
		w.file(path)
	}
}

// packed reports whether a directory has git's objects, which are compressed and have neutral names.
func packed(dir, name string) bool { return name == "objects" && filepath.Base(dir) == ".git" }

func (w *secretWalk) file(path string) {
	if innocent(path) {
		return
	}
	if _, ok := names.Secret(path); ok {
		w.found = path
	}
}

// ignoring checks an ignore file that is a link: rg prints the lines that it can't parse.
func (w *secretWalk) ignoring(path string) {
	target, exists, err := realpath.Resolve(path)
	if err != nil || !exists {
		return
	}
	if _, met := names.Within(target, []string{w.top}); !met && !w.free(target) {
		w.found = target
		return
	}
	w.file(target)
}

// link checks the target of a link. Targets below the searched directory are checked anyway.
func (w *secretWalk) link(path string) {
	if !w.budget.spend(fileCost) {
		w.found = unseen
		return
	}
	target, exists, err := realpath.Resolve(path)
	if err != nil || !exists {
		return // dangling
	}
	info, err := os.Lstat(target)
	if err != nil || w.seen[target] {
		return
	}
	w.seen[target] = info.IsDir() // another link may lead to the same file
	if _, ok := names.Within(target, []string{w.top}); !ok && !w.free(target) {
		w.found = target
		return
	}
	_, met := names.Within(target, []string{w.top})
	switch {
	case !info.IsDir():
		w.file(target)
	case !met && !w.ofSystem(target):
		w.todo = append(w.todo, target)
	}
}

// systemDirectories are readable by everyone; links in every virtual environment lead there.
var systemDirectories = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"}

func (w *secretWalk) free(path string) bool {
	_, inside := names.Within(path, w.disk.options.roots)
	return inside || w.ofSystem(path)
}

func (w *secretWalk) ofSystem(path string) bool {
	_, ok := names.Within(path, systemDirectories)
	return ok
}

// innocent reports whether no rule of package names can classify the last name of a path as a secret or a secret directory.
// It is an optimization: most names are innocent. A test compares it with those rules.
func innocent(path string) bool {
	base := filepath.Base(path)
	if base[0] == '.' || base[len(base)-1] == '.' || rooted(path) {
		return false
	}
	var folded [64]byte
	if len(base) > len(folded) {
		return false
	}
	for i := range len(base) {
		c := lower(base[i])
		if !isKeyByte(c) && c != '.' && c != '_' {
			return false
		}
		folded[i] = c
	}
	name := string(folded[:len(base)])
	for _, t := range telltales {
		if strings.Contains(name, t) {
			return false
		}
	}
	return !tellingNames[name]
}

// rooted reports whether a path is where the rules on system secrets apply.
func rooted(path string) bool {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	for _, top := range []string{"/etc/", "/run/", "/var/", "/private/", "/proc/", "/dev/"} {
		if len(path) >= len(top) && strings.EqualFold(path[:len(top)], top) {
			return true
		}
	}
	return false
}

// telltales are parts of names that may be secret.
var telltales = []string{
	".p", ".k", ".env", ".jks", ".agekey", "id_", "_key", "netrc", "config", "cred", "secret", "auth.json", "history", "rclone",
	"chrom", "edge", "firefox", "kwallet", ".tf", "vault_pass", "vault-pass", ".ovpn", "account",
	".bak", ".old", ".orig", ".save", ".sw", ".backup", ".copy", ".rej", "token",
}

// tellingNames are names that are secret, or directories of secrets, in certain places.
var tellingNames = map[string]bool{
	"sops": true, "age": true, "gcloud": true, "hosts.yml": true, "glab-cli": true, "hub": true, "doctl": true, "op": true,
	"settings.xml": true, "settings-security.xml": true, "gradle.properties": true, "github-copilot": true, "bravesoftware": true,
	"cookies": true, "safari": true, "keychains": true, "keyrings": true, "mozilla": true, "protect": true, "vault": true,
	"local.settings.json": true, "kaggle.json": true, "pip.conf": true, "pip.ini": true, "terraform.rc": true, "ngrok.yml": true, "sftp.json": true, "filezilla": true, "hcloud": true, "linode-cli": true,
}

func isKeyByte(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || c == '-'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
