package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/atomicfile"
	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/internal/humanize"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// Directory is a working directory: its settings, and whether the user trusts it.
type Directory struct {
	Path string // absolute and canonical
	Home string // Adze's own directory

	env Env
}

// Directory returns the Directory of an absolute and canonical path.
func (env Env) Directory(path string) (Directory, error) {
	home, err := settings.Home(env.Getenv, env.Home)
	return Directory{Path: path, Home: home, env: env}, err
}

func (f Directory) sources() settings.Sources {
	return settings.Sources{System: settings.SystemDir(runtime.GOOS), UserHome: f.env.Home, AdzeHome: f.Home, Project: f.Path, Getenv: f.env.Getenv}
}

// Untried is the value of settings.Tools.Trial in an untrusted project: nothing of it runs without approval.
const Untried = "untrusted"

// Settings reads the settings. Those of the directory apply in full only if the user trusts exactly what they request.
func (f Directory) Settings(flags ...settings.Flag) (s *settings.Settings, trusted bool, err error) {
	src := f.sources()
	src.Flags = flags
	s, err = settings.Load(src)
	if err != nil {
		return nil, false, err
	}
	items := f.wants(s)
	if len(items) == 0 {
		return s, false, nil
	}
	state, err := f.Trust().State(f.Path, items)
	switch {
	case err != nil:
		f.env.tell(err.Error())
	case state == trust.Trusted:
		src.Trusted = true
		s, err = settings.Load(src)
		return s, true, err
	case state == trust.Changed:
		f.env.warn("the settings of %s changed since you trusted them. Review with 'adze trust'.", f.Path)
	}
	s.Tools.Trial = Untried
	return s, false, nil
}

// tellNotes reports settings that are ignored or changed. Settings that need trust are only counted, because adze trust
// shows them; an interactive front end counts them itself.
func (f Directory) tellNotes(s *settings.Settings, interactive bool) {
	withheld := map[settings.Place]bool{}
	for _, w := range s.Withheld() {
		withheld[w.From] = true
	}
	for _, n := range s.Notes() {
		if !withheld[n.From] {
			f.env.tell(n.String())
		}
	}
	if n := len(s.Withheld()); n > 0 && !interactive {
		f.env.warn("%s isn't trusted: ignoring %s. Review with 'adze trust'.", f.Path, humanize.Count(n, "setting"))
	}
}

// Trust returns the store of the user's trusted projects.
func (f Directory) Trust() *trust.Store { return trust.Open(f.Home) }

// places returns the directories of definitions.
func (f Directory) places(trusted bool) contextfiles.Places {
	user := []string{f.Home}
	if f.env.Home != "" {
		user = append(user, filepath.Join(f.env.Home, ".qwen"))
	}
	return contextfiles.Places{
		User:    user,
		Project: contextfiles.Root(f.Path, f.env.Home),
		Trusted: trusted,
	}
}

// Scope is the settings file that a change is for. The zero value is the user's own.
type Scope string

const (
	ForUser    Scope = "user"    // everywhere
	ForProject Scope = "project" // in the project, for all its users
)

// File returns the path of the settings file of a scope.
func (f Directory) File(scope Scope) string {
	if scope == ForProject {
		return filepath.Join(f.Path, ".adze", "settings.json")
	}
	return filepath.Join(f.Home, "settings.json")
}

// Files returns all settings files that are read, weakest first, whether they exist or not.
func (f Directory) Files() []settings.File { return f.sources().Files() }

// Change rewrites the settings file of the scope atomically and returns its path. It never replaces a file that can't be
// read.
func (f Directory) Change(scope Scope, change func(path string, text []byte) ([]byte, error)) (string, error) {
	path := f.File(scope)
	how := atomicfile.Options{Backup: f.Home, Mode: 0o600}
	if scope == ForProject {
		how.Mode = 0
	} else if err := settings.EnsureHome(f.Home); err != nil {
		return "", err
	}
	old, err := os.ReadFile(path)
	switch {
	case err == nil:
		hash := sha256.Sum256(old)
		how.Old = &hash
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	text, err := change(path, old)
	if err != nil {
		return "", err
	}
	_, err = atomicfile.Write(path, text, how)
	return path, err
}

// Canonical resolves links, as in the paths that a policy compares with. The part that doesn't exist is unchanged.
func Canonical(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Canonical(parent), filepath.Base(path))
}

// CheckAdded returns an error if a path can't be a further directory of the workspace. The root directory and the home
// directory can't: commands and edits would have access to everything of the user.
func CheckAdded(path, home string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory not found: %s", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("not a directory: %s", path)
	}
	if f, err := os.Open(path); err != nil {
		return err
	} else if f.Close(); filepath.Dir(Canonical(path)) == Canonical(path) {
		return fmt.Errorf("contains all files of this computer: %s\nAdd the directory that you need.", path)
	}
	if home != "" && names.Below(Canonical(home), Canonical(path)) {
		return fmt.Errorf("contains your home directory: %s\nAdd the directory that you need.", path)
	}
	return nil
}

// included returns the further directories in settings. A missing one is reported and skipped.
func (f Directory) included(s *settings.Settings) []string {
	var dirs []string
	for _, e := range s.Context.IncludeDirectories {
		path := f.settled(e.Text)
		if err := CheckAdded(path, f.env.Home); err != nil {
			f.env.tell(fmt.Sprintf("%s: context.includeDirectories: %v", e.From, err))
			continue
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// settled resolves a path of settings, which may begin at the home directory or at the working directory.
func (f Directory) settled(path string) string {
	if rest, ok := strings.CutPrefix(path+"/", "~/"); ok && f.env.Home != "" {
		path = filepath.Join(f.env.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Path, path)
	}
	return path
}

// MCPState returns the directory for manifests, logs and logins of servers.
func (f Directory) MCPState() string { return filepath.Join(f.Home, "mcp") }

// maxNamed is the maximum number of files whose content is bound. A directory whose settings name more is unusual, and its
// settings are bound in any case.
const maxNamed = 200

// namedFiles adds the programs of the directory dir that a setting names, relative to the directory at: as a whole, as a
// word of a command, or after a "=".
func namedFiles(value any, dir, at string, named map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		if cwd, ok := v["cwd"].(string); ok && !filepath.IsAbs(cwd) {
			at = filepath.Join(at, cwd)
		} else if ok {
			at = cwd
		}
		for _, inner := range v {
			namedFiles(inner, dir, at, named)
		}
	case []any:
		for _, inner := range v {
			namedFiles(inner, dir, at, named)
		}
	case string:
		words, err := discover.Words(v)
		if err != nil {
			words = strings.Fields(v)
		}
		for _, word := range slices.Concat(words, shellWords(v), []string{v}) {
			word = inProject(word, dir)
			_, after, _ := strings.Cut(word, "=")
			for _, name := range []string{word, after} {
				if rel, ok := fileIn(dir, at, name); ok && len(named) < maxNamed {
					named[rel] = true
				}
			}
		}
	}
}

// unchanged returns a check that the files of the directory that a command names are unchanged. Otherwise a model that edits
// such a file would decide what runs, without approval and sandbox.
func (f Directory) unchanged(command string) func() error {
	now := func() map[string]string {
		named := map[string]bool{}
		namedFiles(command, f.Path, f.Path, named)
		hashes := map[string]string{}
		for path := range named {
			hashes[path] = contentHash(filepath.Join(f.Path, path))
		}
		return hashes
	}
	then := now()
	return func() error {
		for path, hash := range now() {
			if then[path] != hash {
				return fmt.Errorf("%s changed since the session began. Review it, then start a new session", path)
			}
		}
		return nil
	}
}

// shellWords returns the approximate words of a shell command line: operators and quotes end a word.
func shellWords(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`;&|()<>", r) })
}

// inProject replaces the variables for the project's directory in hooks by the directory.
func inProject(word, dir string) string {
	word = strings.NewReplacer("\"", "", "'", "").Replace(word)
	for _, agent := range []string{"ADZE", "QWEN", "CLAUDE", "GEMINI"} {
		word = strings.ReplaceAll(word, "${"+agent+"_PROJECT_DIR}", dir)
		word = strings.ReplaceAll(word, "$"+agent+"_PROJECT_DIR", dir)
	}
	return word
}

// fileIn reports whether a name, relative to the directory at, is a program in dir, and returns its path relative to dir.
func fileIn(dir, at, name string) (rel string, ok bool) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", false
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = filepath.Join(at, name)
	}
	rel, ok = names.Rel(abs, dir)
	return rel, ok && isProgram(abs)
}

// isProgram reports whether a file can be run: by its mode, its first bytes or its extension. Settings also name data files
// of servers, which change often.
func isProgram(path string) bool {
	f, err := openContent(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode()&0o111 != 0 {
		return true
	}
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err == nil && string(start) == "#!" {
		return true
	}
	return slices.Contains(programEndings, strings.ToLower(filepath.Ext(path)))
}

// programEndings are the extensions of files that an interpreter runs even if they aren't executable.
var programEndings = strings.Fields(".sh .bash .zsh .fish .js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyz .rb .pl .pm .php " +
	".lua .tcl .r .jl .ex .exs .clj .groovy .kts .scala .jar .war .class .wasm .so .dll .dylib .exe .bat .cmd .ps1 .go .rs .swift .awk .sed .jq .mk")

// contentHash returns the hash of a file's content. It isn't shortened, because a collision with a short one could be
// constructed.
func contentHash(path string) string {
	f, err := openContent(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err.Error()
	}
	return "sha256 " + hex.EncodeToString(sum.Sum(nil))
}

// openContent opens the file of a name, through links, if it is a regular file: a pipe would block the start.
func openContent(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return nofollow.Open(real)
}
