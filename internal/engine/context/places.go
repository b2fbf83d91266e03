package contextfiles

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// kind is a kind of definitions.
type kind uint8

const (
	skillKind kind = iota
	agentKind
	commandKind
)

// form is the syntax of the placeholders in command files.
type form uint8

const (
	braces  form = iota // {{args}}, $ARGUMENTS, !{command}, @{file}
	dollars             // $ARGUMENTS, $1 to $9, !`command`, @file
)

// place is a directory of definitions, in a project and in the home directory.
type place struct {
	kind    kind
	dir     string
	endings string // of files, with spaces; "": directories with a SKILL.md
	form    form
}

// places has all directories of definitions. The first definition of a name counts.
var places = []place{
	{skillKind, ".adze/skills", "", dollars},
	{skillKind, ".qwen/skills", "", dollars},
	{skillKind, ".agents/skills", "", dollars},
	{skillKind, ".claude/skills", "", dollars},
	{skillKind, ".gemini/skills", "", dollars},
	{skillKind, ".opencode/skills", "", dollars},
	{skillKind, ".opencode/skill", "", dollars},
	{skillKind, ".codex/skills", "", dollars},
	{skillKind, ".config/opencode/skills", "", dollars},
	{skillKind, ".config/opencode/skill", "", dollars},
	{agentKind, ".adze/agents", ".md", 0},
	{agentKind, ".qwen/agents", ".md", 0},
	{agentKind, ".claude/agents", ".md", 0},
	{agentKind, ".gemini/agents", ".md", 0},
	{agentKind, ".opencode/agents", ".md", 0},
	{agentKind, ".opencode/agent", ".md", 0},
	{agentKind, ".config/opencode/agents", ".md", 0},
	{agentKind, ".config/opencode/agent", ".md", 0},
	{commandKind, ".adze/commands", ".md .toml", braces},
	{commandKind, ".qwen/commands", ".md .toml", braces},
	{commandKind, ".claude/commands", ".md", dollars},
	{commandKind, ".gemini/commands", ".toml", braces},
	{commandKind, ".opencode/commands", ".md", dollars},
	{commandKind, ".opencode/command", ".md", dollars},
	{commandKind, ".config/opencode/commands", ".md", dollars},
	{commandKind, ".config/opencode/command", ".md", dollars},
}

// pluginPlaces has the directories of definitions in plugins.
var pluginPlaces = []place{
	{skillKind, "skills", "", dollars},
	{agentKind, "agents", ".md", 0},
	{commandKind, "commands", ".md .toml", dollars},
}

// Plugin is a plugin's directory, whose definitions the user approved. Their names start with the plugin's name and a
// colon, so that they replace no others.
type Plugin struct {
	Name, Dir string
	Braces    bool              // its commands have placeholders in braces
	Seals     map[string]string // as in Places
}

// homeOnly begins directories that only a home directory has.
const homeOnly = ".config/"

// ownDir is the name of Adze's own directory, which may be elsewhere for a user.
const ownDir = ".adze/"

// Places are the directories of definitions. Paths are absolute.
type Places struct {
	Own     string // the user's own directory of Adze
	Home    string // the user's home directory, with those of other programs; "": none
	Project string // the project's top directory; "": none
	Trusted bool   // whether the user trusts the project: if not, its definitions are ignored; see LeftOut
	// Seals are those of the project's files that the user approved, by path from its top: other files and contents are
	// ignored. nil: all are approved.
	Seals   map[string]string
	Plugins []Plugin // weaker than all others
}

const (
	maxDefinition  = 64 << 10 // bytes of one file
	maxDefinitions = 1000     // files of one directory
	maxName        = 64       // characters
	maxAbout       = 500      // characters of a description
)

// definitionDir is one directory of definitions.
type definitionDir struct {
	place
	dir     string // links resolved
	scope   Scope
	roots   []string // nil: links may lead anywhere
	ignored *ignore.Rules
	seals   map[string]string // nil: all are approved
	named   string            // the directory as the table and users name it
	plugin  string            // the name of its plugin; "": none
}

// name returns the name of a definition, with its plugin's.
func (d definitionDir) name(name string) string {
	if d.plugin == "" {
		return name
	}
	return d.plugin + ":" + name
}

// directories returns the existing directories of one kind, strongest first.
func (p Places) directories(k kind) (found []definitionDir, notes []string) {
	seen := map[string]bool{}
	add := func(d definitionDir, dir string) {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		if d.dir = real(dir); seen[d.dir] { // a link to another one
			return
		}
		seen[d.dir] = true
		if d.roots != nil {
			if _, ok := names.Within(d.dir, d.roots); !ok {
				notes = append(notes, fmt.Sprintf("list %s: it is a link to a path outside %s", dir, d.roots[0]))
				return
			}
		}
		found = append(found, d)
	}
	var ignored *ignore.Rules
	var roots []string
	if p.Project != "" && p.Trusted {
		ignored = ignore.New(ignore.Options{Roots: []string{p.Project}})
		roots = []string{real(p.Project)}
	}
	for _, scope := range []Scope{Project, User} {
		for _, row := range places {
			rel := filepath.FromSlash(row.dir)
			switch {
			case row.kind != k, scope == Project && strings.HasPrefix(row.dir, homeOnly):
			case scope == Project && ignored != nil:
				add(definitionDir{place: row, scope: Project, roots: roots, ignored: ignored, seals: p.Seals,
					named: rel}, filepath.Join(p.Project, rel))
			case scope == Project: // not trusted
			case strings.HasPrefix(row.dir, ownDir) && p.Own != "":
				dir := filepath.Join(p.Own, filepath.FromSlash(row.dir[len(ownDir):]))
				add(definitionDir{place: row, scope: User, named: dir}, dir)
			case !strings.HasPrefix(row.dir, ownDir) && p.Home != "":
				dir := filepath.Join(p.Home, rel)
				add(definitionDir{place: row, scope: User, named: dir}, dir)
			}
		}
	}
	for _, plugin := range p.Plugins {
		for _, row := range pluginPlaces {
			if row.kind == k {
				if plugin.Braces {
					row.form = braces
				}
				dir := filepath.Join(plugin.Dir, filepath.FromSlash(row.dir))
				add(definitionDir{place: row, scope: User, roots: []string{real(plugin.Dir)}, seals: plugin.Seals,
					named: dir, plugin: plugin.Name}, dir)
			}
		}
	}
	return found, notes
}

// LeftOut returns the project's directories that are ignored because it is not trusted.
func (p Places) LeftOut() []string {
	if p.Trusted {
		return nil
	}
	return p.Requests()
}

// Requests returns the project's directories that have definitions. It reads none of them.
func (p Places) Requests() (dirs []string) {
	p.Trusted, p.Own, p.Home, p.Plugins = p.Project != "", "", "", nil
	for _, k := range []kind{skillKind, agentKind, commandKind} {
		found, _ := p.directories(k) // a link out of the project requests nothing
		for _, d := range found {
			if files, _ := d.files(1); len(files) > 0 {
				dirs = append(dirs, d.named)
			}
		}
	}
	return dirs
}

// files returns the definition files of a directory, at most so many, as paths from it.
func (d definitionDir) files(most int) ([]string, error) {
	var found []string
	full := fmt.Errorf("list %s: it has more than %d entries, and only the first ones are read", d.dir, most)
	var list func(rel string, depth int) error
	list = func(rel string, depth int) error {
		entries, err := os.ReadDir(filepath.Join(d.dir, rel))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("list definitions: %w", err)
		}
		for _, e := range entries {
			name := filepath.Join(rel, e.Name())
			switch {
			case d.endings == "" && !e.Type().IsRegular() && d.hasSkill(name):
				name = filepath.Join(name, skillFile)
			case d.kind == commandKind && e.IsDir() && depth < maxCommandDepth && e.Name()[0] != '.':
				if err := list(name, depth+1); err != nil {
					return err
				}
				continue
			case d.endings == "" || e.IsDir() || !d.fits(e.Name()):
				continue
			}
			if len(found) == most {
				return full
			}
			found = append(found, name)
		}
		return nil
	}
	err := list("", 0)
	return found, err
}

func (d definitionDir) hasSkill(name string) bool {
	_, err := os.Lstat(filepath.Join(d.dir, name, skillFile))
	return err == nil
}

// fits reports whether a file has one of the directory's endings.
func (d definitionDir) fits(name string) bool {
	for ending := range strings.FieldsSeq(d.endings) {
		if strings.EqualFold(filepath.Ext(name), ending) {
			return true
		}
	}
	return false
}

// seal identifies what is used of a definition: its front matter, which is all that is used until it is loaded, and the
// whole text. Links, encodings and invisible characters are already resolved.
func seal(text string) string {
	front, _, _ := split(text)
	return digest(front) + " " + digest(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// key is the name of a file in Seals.
func (d definitionDir) key(rel string) string { return d.place.dir + "/" + filepath.ToSlash(rel) }

// UnapprovedError reports a definition that is new or changed since the user trusted its project or added its plugin.
type UnapprovedError struct {
	Path   string
	New    bool
	Plugin string // "": it is the project's
}

func (e *UnapprovedError) Error() string {
	what := "it changed"
	if e.New {
		what = "it is new"
	}
	if e.Plugin != "" {
		return fmt.Sprintf("%s is ignored: %s since you approved the plugin. Review with 'adze plugin update %s'.",
			e.Path, what, e.Plugin)
	}
	return fmt.Sprintf("%s is ignored: %s since you trusted this project. Review with 'adze trust'.", e.Path, what)
}

// approved returns an error if the user didn't approve a file with this front matter, or with whole with this text.
func (d definitionDir) approved(rel, text string, whole bool) error {
	if d.seals == nil {
		return nil
	}
	path := filepath.Join(d.named, rel)
	sealed, ok := d.seals[d.key(rel)]
	if !ok {
		return &UnapprovedError{path, true, d.plugin}
	}
	front, all, _ := strings.Cut(sealed, " ")
	if whole && digest(text) != all || !whole && digest(text) != front {
		return &UnapprovedError{path, false, d.plugin}
	}
	return nil
}

// Sealed is a file with a definition of a project or a plugin, to be approved.
type Sealed struct {
	What, Path string   // such as "skill", and the path from the project's top
	Seal       string   // of its content
	Runs       []string // commands in it, with a placeholder for arguments
}

// Sealed reads all definitions of the project and of plugins. Files that can't be read are omitted: they can't be used
// either.
func (p Places) Sealed() (all []Sealed) {
	p.Trusted, p.Seals, p.Own, p.Home = p.Project != "", nil, "", ""
	for k, what := range []string{skillKind: "skill", agentKind: "agent", commandKind: "command"} {
		dirs, _ := p.directories(kind(k))
		for _, d := range dirs {
			files, _ := d.files(maxDefinitions)
			for _, rel := range files {
				f, err := d.open(rel)
				if err != nil {
					continue
				}
				one := Sealed{What: what, Path: d.key(rel), Seal: seal(f.text)}
				if c, err := d.command(rel); d.kind == commandKind && err == nil {
					one.Runs = c.shellLines()
				}
				all = append(all, one)
			}
		}
	}
	return all
}

// open reads a definition as a whole.
func (d definitionDir) open(rel string) (source, error) {
	path := filepath.Join(d.dir, rel)
	f, err := open(path, d.roots, d.ignored)
	if err == nil && len(f.text) > maxDefinition {
		err = fmt.Errorf("read %s: it has more than %d KB; shorten it", path, maxDefinition>>10)
	}
	return f, err
}
