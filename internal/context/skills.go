package contextfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/ignore"
)

// Skill is a folder with a SKILL.md: how to do something, read when it is needed.
type Skill struct {
	Name        string
	Description string // when to use it
	Dir         string // what its text refers to lies here
	Scope       Scope

	place   place
	ignored *ignore.Rules
}

const skillFile = "SKILL.md"

// Skills lists the skills: folders in .adze/skills and .qwen/skills of the project, if it is trusted, then in skills of
// the person's folders. Of one name the first counts. What cannot be used is noted.
func Skills(p Places) ([]Skill, []string) {
	var all []Skill
	var notes []string
	ignored := p.ignored()
	for _, dir := range p.folders("skills") {
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

func (p place) skill(dir string, ignored *ignore.Rules) (Skill, error) {
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
	return Skill{Name: m.Name, Description: m.Description, Dir: filepath.Dir(m.path), Scope: p.scope, place: p, ignored: ignored}, nil
}

// Read gives the skill's text as it is now.
func (s Skill) Read() (string, error) {
	m, err := s.place.read(filepath.Join(s.Dir, skillFile), s.ignored)
	if err != nil {
		return "", fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	return m.body, nil
}
