package contextfiles

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Agent is the definition of a subagent.
type Agent struct {
	Name        string
	Description string   // when to use it
	Prompt      string   // its instructions
	Tools       []string // names; nil: all of its parent's
	Without     []string // names of tools that it doesn't get
	Model       string   // "": its parent's, as always in a plugin
	// plan, default, auto-edit or yolo; "": its parent's. It never extends the parent's permissions
	Mode  string
	Path  string
	Scope Scope
}

// Agents reads the definitions of subagents: those of the project, if it is trusted, then the user's. The first of
// equal names counts. Invalid definitions are reported.
func Agents(p Places) ([]Agent, []string) {
	all, notes := readAll(p, agentKind, (*definitionDir).agent)
	return unique(all, func(a Agent) string { return a.Name }, nil), notes
}

func isRemoved(name string) bool { return strings.HasPrefix(name, removed) }

func (d *definitionDir) agent(path string) (Agent, error) {
	m, err := d.read(path, d.ignored)
	if m.Name == "" { // that of its file, as in opencode and in plugins of Claude Code
		m.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if err == nil {
		err = m.check()
	}
	if err == nil && m.Kind != "" && m.Kind != "local" {
		err = fmt.Errorf("read %s: kind %q isn't supported", path, humanize.Line(m.Kind, maxAbout))
	}
	mode, bad := m.mode()
	if err = cmp.Or(err, bad); err != nil {
		return Agent{}, err
	}
	a := Agent{
		Name: d.name(m.Name), Description: m.Description, Prompt: m.body, Without: m.Without, Mode: mode,
		Path: m.path, Scope: d.scope,
	}
	for _, name := range slices.Concat(m.Tools, m.Permissions) {
		if out, ok := strings.CutPrefix(name, removed); ok {
			a.Without = append(a.Without, out)
		}
		if name == removed+"edit" { // opencode's name for all that edit
			a.Without = append(a.Without, "write")
		}
	}
	switch all := slices.Contains(m.Tools, "*") || slices.ContainsFunc(m.Tools, isRemoved); {
	case slices.Contains(m.Permissions, "deny") || slices.Contains(m.Permissions, "ask"):
		a.Tools = list{}
	case !all:
		a.Tools = m.Tools
	}
	if m.Model != "inherit" && d.plugin.Name == "" {
		a.Model = m.Model
	}
	return a, nil
}

// mode reads the mode in the terms of several programs. An unknown mode is an error, because it may be meant as a
// restriction.
func (m matter) mode() (string, error) {
	word := cmp.Or(m.Mode, m.Approval, m.Permission)
	switch known := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(word)); known {
	case "", "bubble", "inherit", "subagent", "all": // the last two are opencode's, about who may start it
		return "", nil
	case "plan", "default":
		return known, nil
	case "autoedit", "auto", "acceptedits":
		return "auto-edit", nil
	case "yolo", "bypasspermissions", "dontask":
		return "yolo", nil
	}
	return "", fmt.Errorf("read %s: unknown mode %q (expected plan, default, auto-edit or yolo)", m.path,
		humanize.Line(word, maxAbout))
}

// Skill is a directory with a SKILL.md: instructions that are read on demand.
type Skill struct {
	Name  string   // of its directory, after that of its plugin
	Path  string   // of its directory, for the files that its text refers to
	Hides []string // paths of skills with the same name, which are ignored
	Scope Scope

	dir  *definitionDir
	file string
}

const (
	skillFile     = string(filepath.Separator) + "SKILL.md"
	maxSkillAbout = 1024 // characters of a description in the Agent Skills specification
)

// Skills lists the skills: those of the project, if it is trusted, then the user's. The first of equal names counts.
// None is read yet.
func Skills(p Places) ([]Skill, []string) {
	all, notes := readAll(p, skillKind, func(d *definitionDir, path string) (Skill, error) {
		s := d.skill(path)
		return s, checkName(s.Path, s.own())
	})
	hide := func(first *Skill, other Skill) { first.Hides = append(first.Hides, other.Path) }
	return unique(all, func(s Skill) string { return s.Name }, hide), notes
}

func (d *definitionDir) skill(path string) Skill {
	s := Skill{Path: strings.TrimSuffix(path, skillFile), Scope: d.scope, dir: d, file: path}
	s.Name = d.name(s.own())
	return s
}

// own returns the name of the skill's directory.
func (s Skill) own() string { return s.Path[len(s.dir.dir)+1:] }

// About is what a skill says about itself.
type About struct {
	Description string
	Manual      bool // only the user starts it
}

// About reads the skill's front matter. Ignore files are asked only when it is approved and when it is loaded: that
// takes too long for hundreds of skills.
func (s Skill) About() (About, error) {
	m, err := s.dir.read(s.file, nil)
	if err == nil {
		err = s.check(m)
	}
	return About{m.Description, m.Manual}, err
}

// Read returns the skill's current text and its allowed-tools; nil: it has none.
func (s Skill) Read() (text string, allowed []string, err error) {
	m, err := s.dir.read(s.file, s.dir.ignored)
	if err == nil {
		err = s.check(m)
	}
	if err != nil {
		return "", nil, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	return m.body, m.Allowed, nil
}

// check returns an error if the skill can't be used. Its name is that of its directory.
func (s Skill) check(m matter) error {
	own := s.own()
	odd := strings.Trim(own, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Contains("-"+own+"-", "--")
	if s.dir.plugin.Strict && (m.Name != own || odd || m.long) {
		return fmt.Errorf("read %s: it isn't a skill of the Agent Skills specification: its name must be that of its "+
			"directory, of a-z, 0-9 and single -, and its description at most %d characters", m.path, maxSkillAbout)
	}
	m.Name = own
	return m.check()
}
