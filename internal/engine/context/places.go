package contextfiles

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

var kinds = [...]string{skillKind: "skill", agentKind: "agent", commandKind: "command"}

// form is the syntax of the placeholders in command files.
type form uint8

const (
	braces      form = iota // {{args}}, $ARGUMENTS, !{command}, @{file}
	dollars                 // $ARGUMENTS, $1 to $9, !`command`, @file
	dollarsRest             // the same, and the last of $1 to $9 is the rest of the arguments
	dollarsZero             // as dollars, but the first argument is $0 or $ARGUMENTS[0], as in newer files
)

// place is a row of the table of places: directories of one kind of definitions.
type place struct {
	kind    kind
	endings string // of files, with spaces; "": directories with a SKILL.md
	form    form
	dirs    string // the strongest first
}

// places has all directories of definitions, in a project and in the home directory. The first definition of a name
// counts.
var places = []place{
	{skillKind, "", 0, ".adze/skills .qwen/skills .agents/skills .claude/skills .gemini/skills .opencode/skills " +
		".opencode/skill .codex/skills .config/opencode/skills .config/opencode/skill"},
	{agentKind, ".md", 0, ".adze/agents .qwen/agents .claude/agents .gemini/agents .opencode/agents .opencode/agent " +
		".config/opencode/agents .config/opencode/agent"},
	{commandKind, ".md .toml", braces, ".adze/commands .qwen/commands"},
	{commandKind, ".md", dollars, ".claude/commands"},
	{commandKind, ".toml", braces, ".gemini/commands"},
	{commandKind, ".md", dollarsRest, ".opencode/commands .opencode/command .config/opencode/commands " +
		".config/opencode/command"},
}

// pluginPlaces has those in plugins.
var pluginPlaces = []place{
	{skillKind, "", 0, "skills"}, {agentKind, ".md", 0, "agents"}, {commandKind, ".md .toml", dollars, "commands"},
}

const (
	homeOnly = ".config/" // begins directories that only a home directory has
	ownDir   = ".adze/"   // is Adze's own, which may be elsewhere for a user
)

// Plugin is a plugin's directory, whose definitions the user approved. Their names start with the plugin's name and a
// colon, so that they replace no others.
type Plugin struct {
	Name, Dir string
	Braces    bool              // its commands have placeholders in braces
	Strict    bool              // its skills must conform to the Agent Skills specification
	Seals     map[string]string // as in Places
}

// Places are the directories of definitions. Paths are absolute.
type Places struct {
	Own     string // the user's own directory of Adze
	Home    string // the user's home directory, with those of other programs; "": none
	Project string // the project's top directory; "": none
	Trusted bool   // whether the user trusts the project: if not, its definitions are ignored; see Untrusted
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
	table   []place
	base    string // where its keys are
	key     string // as the table has it
	dir     string // links resolved
	named   string // as users name it
	scope   Scope
	roots   []string // nil: links may lead anywhere
	ignored *ignore.Rules
	seals   map[string]string // nil: all are approved
	plugin  Plugin            // that it is in
}

// name returns the name of a definition, with its plugin's.
func (d definitionDir) name(name string) string {
	if d.plugin.Name == "" {
		return name
	}
	return d.plugin.Name + ":" + name
}

// directories returns the existing directories of one kind, strongest first.
func (p Places) directories(k kind) (found []definitionDir, notes []string) {
	var all []definitionDir
	if p.Project != "" && p.Trusted {
		all = append(all, definitionDir{
			table: places, base: p.Project, scope: Project, roots: []string{real(p.Project)}, seals: p.Seals,
			ignored: ignore.New(ignore.Options{Roots: []string{p.Project}}),
		})
	}
	all = append(all, definitionDir{table: places, base: p.Home, scope: User})
	for _, plugin := range p.Plugins {
		all = append(all, definitionDir{
			table: pluginPlaces, base: plugin.Dir, scope: User, roots: []string{real(plugin.Dir)}, seals: plugin.Seals,
			plugin: plugin,
		})
	}
	seen := map[string]bool{}
	for _, d := range all {
		for _, d.place = range d.table {
			if d.kind != k {
				continue
			}
			if d.plugin.Braces {
				d.form = braces
			}
			for d.key = range strings.FieldsSeq(d.dirs) {
				d.named = p.path(d)
				if d.named == "" || !exists(d.named) {
					continue
				}
				d.dir = real(d.named)
				_, inside := names.Within(d.dir, d.roots)
				switch {
				case seen[d.dir]: // a link to another one
				case d.roots != nil && !inside:
					notes = append(notes, fmt.Sprintf("list %s: it is a link to a path outside %s", d.named, d.base))
				default:
					if d.scope == Project {
						d.named = filepath.FromSlash(d.key)
					}
					found = append(found, d)
				}
				seen[d.dir] = true
			}
		}
	}
	return found, notes
}

// path returns the path of a directory; "": it has none.
func (p Places) path(d definitionDir) string {
	base, below := d.base, d.key
	if rest, own := strings.CutPrefix(d.key, ownDir); own && d.scope == User {
		base, below = p.Own, rest
	}
	if base == "" || d.scope == Project && strings.HasPrefix(d.key, homeOnly) {
		return ""
	}
	return filepath.Join(base, filepath.FromSlash(below))
}

// Untrusted returns the project's directories that are ignored because it is not trusted.
func (p Places) Untrusted() []string {
	if p.Trusted {
		return nil
	}
	return p.Requests()
}

// Requests returns the project's directories that have definitions. It reads none of them.
func (p Places) Requests() (dirs []string) {
	p.Trusted, p.Own, p.Home, p.Plugins = p.Project != "", "", "", nil
	for k := range kinds {
		found, _ := p.directories(kind(k)) // a link out of the project requests nothing
		for _, d := range found {
			if files, _ := d.files(1); len(files) > 0 {
				dirs = append(dirs, d.named)
			}
		}
	}
	return dirs
}

// files returns the paths of the definition files of a directory, at most so many.
func (d definitionDir) files(most int) (found []string, err error) {
	var list func(dir string, depth int) error
	list = func(dir string, depth int) error {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("list definitions: %w", err)
		}
		for _, e := range entries {
			path := dir + string(filepath.Separator) + e.Name()
			switch {
			case d.kind == skillKind:
				path += skillFile
				if _, approved := d.seals[d.sealKey(path)]; !approved && (e.Type().IsRegular() || !exists(path)) {
					continue // an approved one is missed when it is read
				}
			case e.IsDir() && depth < maxCommandDepth && e.Name()[0] != '.':
				if err := list(path, depth+1); err != nil {
					return err
				}
				continue
			case e.IsDir() || !slices.Contains(strings.Fields(d.endings), strings.ToLower(filepath.Ext(e.Name()))):
				continue
			}
			if len(found) == most {
				return fmt.Errorf("list %s: it has more than %d entries, and only the first ones are read", d.dir, most)
			}
			found = append(found, path)
		}
		return nil
	}
	err = list(d.dir, 0)
	return found, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// seal identifies the text of a definition. Links, encodings and invisible characters are already resolved.
func seal(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// sealKey is the name of a file in Seals.
func (d definitionDir) sealKey(path string) string {
	return d.key + filepath.ToSlash(path[len(d.dir):])
}

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

// approved returns an error if the user didn't approve a file with this text.
func (d definitionDir) approved(path, text string) error {
	sealed, ok := d.seals[d.sealKey(path)]
	if d.seals == nil || ok && sealed == seal(text) {
		return nil
	}
	return &UnapprovedError{d.named + path[len(d.dir):], !ok, d.plugin.Name}
}

// Sealed is a file with a definition of a project or a plugin, to be approved.
type Sealed struct {
	What, Path string   // such as "skill", and the path from the project's top
	Seal       string   // of its content
	Runs       []string // commands in it, with a placeholder for arguments
	Err        error    // why it can't be used; nil: it can
}

// Sealed reads all definitions of the project and of plugins. Files that can't be read are omitted.
func (p Places) Sealed() (all []Sealed) {
	p.Trusted, p.Seals, p.Own, p.Home = p.Project != "", nil, "", ""
	for k := range kinds {
		found, _ := readAll(p, kind(k), (*definitionDir).sealed)
		all = append(all, found...)
	}
	return all
}

func (d *definitionDir) sealed(path string) (Sealed, error) {
	f, err := d.open(path, d.ignored)
	s := Sealed{What: kinds[d.kind], Path: d.sealKey(path), Seal: seal(f.text)}
	switch d.kind {
	case skillKind:
		_, s.Err = d.skill(path).About()
	case agentKind:
		_, s.Err = d.agent(path)
	default:
		var c Command
		c, s.Err = d.command(path)
		s.Runs = c.shellLines()
	}
	return s, err
}

// readAll reads the definitions of a kind, and returns why others are ignored.
func readAll[T any](p Places, k kind, read func(d *definitionDir, path string) (T, error)) (all []T, notes []string) {
	dirs, notes := p.directories(k)
	for _, d := range dirs {
		files, err := d.files(maxDefinitions)
		if err != nil {
			notes = append(notes, err.Error())
		}
		all = slices.Grow(all, len(files))
		for _, path := range files {
			if one, err := read(&d, path); err != nil {
				notes = append(notes, err.Error())
			} else {
				all = append(all, one)
			}
		}
	}
	return all, notes
}

// open reads a definition, if the user approved its text.
func (d definitionDir) open(path string, ignored *ignore.Rules) (source, error) {
	f, err := open(path, true, d.roots, ignored)
	if err == nil && len(f.text) > maxDefinition {
		err = fmt.Errorf("read %s: it has more than %d KB; shorten it", path, maxDefinition>>10)
	}
	if err == nil {
		err = d.approved(path, f.text)
	}
	return f, err
}
