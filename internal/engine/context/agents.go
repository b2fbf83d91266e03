package contextfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// Agent is the definition of a subagent.
type Agent struct {
	Name        string
	Description string   // when to use it
	Prompt      string   // its instructions
	Tools       []string // names; nil: all of its parent's
	Without     []string // names of tools that it doesn't get
	Model       string   // "": its parent's
	// plan, default, auto-edit or yolo; "": its parent's. It never extends the parent's permissions
	Mode  string
	Path  string
	Scope Scope
}

// Agents reads the definitions of subagents: .adze/agents/*.md and .qwen/agents/*.md of the project, if it is trusted,
// then agents/*.md of the user's directories. The first of equal names counts. Invalid definitions are reported.
func Agents(p Places) ([]Agent, []string) {
	var all []Agent
	var notes []string
	ignored := p.ignored()
	for _, dir := range p.directories("agents") {
		entries, err := dir.entries()
		if err != nil {
			notes = append(notes, err.Error())
		}
		for _, e := range entries {
			if e.IsDir() || !strings.EqualFold(filepath.Ext(e.Name()), ".md") {
				continue
			}
			a, err := dir.agent(filepath.Join(dir.dir, e.Name()), ignored)
			if err != nil {
				notes = append(notes, err.Error())
				continue
			}
			all = append(all, a)
		}
	}
	return unique(all, func(a Agent) string { return a.Name }), notes
}

func (p Places) ignored() *ignore.Rules {
	if p.Project == "" {
		return nil
	}
	return ignore.New(ignore.Options{Roots: []string{p.Project}})
}

func (p definitionDir) agent(path string, ignored *ignore.Rules) (Agent, error) {
	m, err := p.read(path, ignored)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Agent{}, err
	}
	mode, err := m.mode()
	if err != nil {
		return Agent{}, err
	}
	a := Agent{
		Name: m.Name, Description: m.Description, Prompt: m.body, Tools: m.Tools, Without: m.Without, Mode: mode,
		Path: m.path, Scope: p.scope,
	}
	if m.Model != "inherit" {
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
	case "", "bubble", "inherit":
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
	return "", fmt.Errorf("read %s: unknown mode %q (expected plan, default, auto-edit or yolo)", m.path, short(word))
}

// Skill is a directory with a SKILL.md: instructions that are read on demand.
type Skill struct {
	Name        string
	Description string // when to use it
	Dir         string // for the files that its text refers to
	Scope       Scope

	place   definitionDir
	ignored *ignore.Rules
}

const skillFile = "SKILL.md"

// Skills returns the skills: directories in .adze/skills and .qwen/skills of the project, if it is trusted, then in
// skills of the user's directories. The first of equal names counts. Invalid skills are reported.
func Skills(p Places) ([]Skill, []string) {
	var all []Skill
	var notes []string
	ignored := p.ignored()
	for _, dir := range p.directories("skills") {
		entries, err := dir.entries()
		if err != nil {
			notes = append(notes, err.Error())
		}
		for _, e := range entries {
			path := filepath.Join(dir.dir, e.Name())
			if _, err := os.Stat(filepath.Join(path, skillFile)); err != nil {
				continue
			}
			s, err := dir.skill(path, ignored)
			if err != nil {
				notes = append(notes, err.Error())
				continue
			}
			all = append(all, s)
		}
	}
	return unique(all, func(s Skill) string { return s.Name }), notes
}

func (p definitionDir) skill(dir string, ignored *ignore.Rules) (Skill, error) {
	m, err := p.read(filepath.Join(dir, skillFile), ignored)
	if err != nil {
		return Skill{}, err
	}
	if m.Name == "" {
		m.Name = filepath.Base(dir)
	}
	if err := m.check(); err != nil {
		return Skill{}, err
	}
	return Skill{
		Name: m.Name, Description: m.Description, Dir: filepath.Dir(m.path), Scope: p.scope, place: p, ignored: ignored,
	}, nil
}

// Read returns the skill's current text.
func (s Skill) Read() (string, error) {
	m, err := s.place.read(filepath.Join(s.Dir, skillFile), s.ignored)
	if err != nil {
		return "", fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	return m.body, nil
}
