package contextfiles

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
)

// Agent is the definition of a sub-agent.
type Agent struct {
	Name        string
	Description string   // when to use it
	Prompt      string   // who it is
	Tools       []string // names; nil: all of its parent's
	Without     []string // names of tools that it is not given
	Model       string   // "": its parent's
	Mode        string   // plan, default, auto-edit or yolo; "": its parent's. It never widens what the parent may do
	Path        string
	Scope       Scope
}

// Agents reads the definitions of sub-agents: .adze/agents/*.md and .qwen/agents/*.md of the project, if it is
// trusted, then agents/*.md of the person's folders. Of one name the first counts. What cannot be used is noted.
func Agents(p Places) ([]Agent, []string) {
	var all []Agent
	var notes []string
	ignored := p.ignored()
	for _, dir := range p.folders("agents") {
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

func (p place) agent(path string, ignored *ignore.Rules) (Agent, error) {
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
	a := Agent{Name: m.Name, Description: m.Description, Prompt: m.body, Tools: m.Tools, Without: m.Without, Mode: mode, Path: m.path, Scope: p.scope}
	if m.Model != "inherit" {
		a.Model = m.Model
	}
	if slices.Contains(a.Tools, "*") {
		a.Tools = nil
	}
	return a, nil
}

// mode reads the mode under the words of several programs. One that is not known cannot be kept to, and what it was
// meant to forbid is not known.
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
