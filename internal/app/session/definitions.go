package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
)

// Definitions are the texts of the user and the project for models: context files, subagents, skills.
type Definitions struct {
	Roles []agent.Role // of subagents, beside the built-in ones

	directory project.Directory
	Places    contextfiles.Places
	Skills    []builtin.Skill
	Trusted   bool
	names     []string // of context files; nil: the usual ones
}

func readDefinitions(f project.Directory, trusted bool, set settings.Context) *Definitions {
	d := &Definitions{directory: f, Trusted: trusted, Places: f.Places(trusted), names: settings.Texts(set.FileNames)}
	agents, notes := contextfiles.Agents(d.Places)
	for _, a := range agents {
		d.Roles = append(d.Roles, agent.Role{
			Name: a.Name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Without: a.Without,
			Model: a.Model, Mode: a.Mode,
		})
	}
	skills, more := contextfiles.Skills(d.Places)
	for _, s := range skills {
		if slices.Contains(settings.Texts(set.DisabledSkills), s.Name) {
			continue
		}
		d.Skills = append(d.Skills, builtin.Skill{Name: s.Name, Description: s.Description, Dir: s.Dir, Load: s.Read})
	}
	if out := d.Places.LeftOut(); len(out) > 0 {
		f.Env.Notice(fmt.Sprintf("warning: %s isn't trusted: ignoring %s. Review with 'adze trust'.", f.Path,
			strings.Join(out, ", ")))
	}
	for _, n := range append(notes, more...) {
		f.Env.Notice(fmt.Sprint(n))
	}
	return d
}

// AddRoles adds types of subagents for this session, which replace others of the same name. It must come before
// Converse.
func (s *Session) AddRoles(roles []agent.Role) error {
	s.Definitions.Roles = slices.Concat(roles, s.Definitions.Roles)
	s.Tools.SetTaskTypes(s.Definitions.TaskTypes())
	return s.Executor.Registry.Set("", s.Tools.All())
}

// TaskTypes returns the types of subagents that the model can choose from.
func (d *Definitions) TaskTypes() []builtin.TaskType {
	var types []builtin.TaskType
	for _, r := range agent.AllRoles(d.Roles) {
		types = append(types, builtin.TaskType{Name: r.Name, Description: r.Description})
	}
	return types
}

// Memory reads the current context files.
func (d *Definitions) Memory() contextfiles.Loaded {
	return contextfiles.Load(contextfiles.Options{
		User: d.Places.User, Dir: d.directory.Path, Home: d.directory.Env.Home, Names: d.names,
	})
}

// Describe returns the content of the context files for a user; without any, where they could be.
func (d *Definitions) Describe(memory contextfiles.Loaded) string {
	if len(memory.Files) == 0 {
		names := cmp.Or(strings.Join(d.names, " or "), "AGENTS.md or QWEN.md")
		return fmt.Sprintf("No context files (%[2]s) in %[1]s, its parent directories or %[3]s.", d.directory.Path,
			names, d.directory.Home)
	}
	return memory.Text
}
