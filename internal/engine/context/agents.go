package contextfiles

import (
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
	var all []Agent
	dirs, notes := p.directories(agentKind)
	for _, d := range dirs {
		files, err := d.files(maxDefinitions)
		notes = noted(notes, err)
		for _, rel := range files {
			a, err := d.agent(rel)
			if notes = noted(notes, err); err == nil {
				all = append(all, a)
			}
		}
	}
	return unique(all, func(a Agent) string { return a.Name }), notes
}

// noted adds an error to notes; nil: none.
func noted(notes []string, err error) []string {
	if err == nil {
		return notes
	}
	return append(notes, err.Error())
}

func (d definitionDir) agent(rel string) (Agent, error) {
	m, err := d.whole(rel)
	if m.Name == "" && strings.Contains(d.place.dir, "opencode/") {
		m.Name = strings.TrimSuffix(rel, filepath.Ext(rel))
	}
	if err == nil {
		err = m.check()
	}
	if err == nil && m.Permissions != nil {
		err = fmt.Errorf("read %s: the key permission isn't supported, and it may be a restriction. List its tools",
			m.path)
	}
	if err != nil {
		return Agent{}, err
	}
	mode, err := m.mode()
	if err != nil {
		return Agent{}, err
	}
	a := Agent{
		Name: d.name(m.Name), Description: m.Description, Prompt: m.body, Without: m.Without, Mode: mode,
		Path: m.path, Scope: d.scope,
	}
	for _, name := range m.Tools {
		if out, ok := strings.CutPrefix(name, removed); ok {
			a.Without = append(a.Without, out)
		}
	}
	if len(a.Without) == len(m.Without) { // otherwise all the others
		a.Tools = m.Tools
	}
	if m.Model != "inherit" && d.plugin == "" {
		a.Model = m.Model
	}
	if slices.Contains(a.Tools, "*") {
		a.Tools = nil
	}
	return a, nil
}

// mode reads the mode in the terms of several programs. An unknown mode is an error, because it may be meant as a
// restriction.
func (m matter) mode() (string, error) {
	word := m.Mode
	for _, other := range []string{m.Approval, m.Permission} {
		if word == "" {
			word = other
		}
	}
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(word)) {
	case "", "bubble", "inherit", "subagent", "all": // the last two are opencode's, about who may start it
		return "", nil
	case "plan":
		return "plan", nil
	case "default":
		return "default", nil
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

	dir *definitionDir
	rel string // of its file
}

const skillFile = "SKILL.md"

// Skills lists the skills: those of the project, if it is trusted, then the user's. The first of equal names counts.
// None is read yet.
func Skills(p Places) ([]Skill, []string) {
	var all []Skill
	at := map[string]int{}
	dirs, notes := p.directories(skillKind)
	for _, d := range dirs {
		files, err := d.files(maxDefinitions)
		notes = noted(notes, err)
		all = slices.Grow(all, len(files))
		for _, rel := range files {
			name := filepath.Dir(rel)
			if err := checkName(filepath.Join(d.dir, name), name); err != nil {
				notes = append(notes, err.Error())
				continue
			}
			path := filepath.Join(d.dir, name)
			name = d.name(name)
			if i, there := at[strings.ToLower(name)]; there {
				all[i].Hides = append(all[i].Hides, path)
				continue
			}
			at[strings.ToLower(name)] = len(all)
			all = append(all, Skill{Name: name, Path: path, Scope: d.scope, dir: &d, rel: rel})
		}
	}
	return all, notes
}

// About is what a skill says about itself.
type About struct {
	Description string
	Manual      bool // only the user starts it
}

// About reads the skill's front matter.
func (s Skill) About() (About, error) {
	m, err := s.dir.front(s.rel)
	if err == nil {
		m.Name = filepath.Dir(s.rel)
		err = m.check()
	}
	return About{m.Description, m.Manual}, err
}

// Read returns the skill's current text and its allowed-tools; nil: it has none.
func (s Skill) Read() (text string, allowed []string, err error) {
	m, err := s.dir.whole(s.rel)
	if err != nil {
		return "", nil, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	return m.body, m.Allowed, nil
}
