// Package definitions has the texts of the user and the project for models: context files, subagents, skills, plugins.
package definitions

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Definitions are the texts of the user and the project for models: context files, subagents, skills.
type Definitions struct {
	Roles []agent.Role // of subagents, beside the built-in ones

	directory project.Directory
	Places    contextfiles.Places
	Skills    []builtin.Skill
	Found     []contextfiles.Skill // also disabled ones
	Trusted   bool
	Nested    *contextfiles.Nested // context files below the directory; nil: they aren't loaded
	Names     []string             // of context files; nil: the usual ones
	Plugins   []*plugin.Plugin     // of the user
}

// Read finds the definitions. use is called with the allowed-tools of each skill that is loaded.
func Read(f project.Directory, trusted bool, set settings.Context,
	use func(skill string, allowed []string) error) *Definitions {
	if f.Env.Isolated {
		return &Definitions{directory: f}
	}
	d := &Definitions{directory: f, Trusted: trusted, Places: f.Places(trusted), Names: settings.Texts(set.FileNames)}
	plugins, notes := plugin.Load(f.Plugins())
	for _, p := range plugins {
		d.Places.Plugins = append(d.Places.Plugins, p.Definitions)
	}
	d.Plugins = plugins
	if set.Nested {
		d.Nested = contextfiles.NewNested(f.Path, d.Names, time.Now())
	}
	agents, found := contextfiles.Agents(d.Places)
	for _, a := range agents {
		d.Roles = append(d.Roles, agent.Role{
			Name: a.Name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Without: a.Without,
			Model: a.Model, Mode: a.Mode,
		})
	}
	skills, more := contextfiles.Skills(d.Places)
	unapproved := false
	d.Found = skills
	disabled := settings.Texts(set.DisabledSkills)
	for i := range skills {
		s := &skills[i]
		if slices.Contains(disabled, s.Name) {
			continue
		}
		skill := builtin.Skill{Name: s.Name, Dir: s.Path, Load: func() (string, error) {
			text, allowed, err := s.Read()
			if err == nil {
				err = use(s.Name, allowed)
			}
			return text, err
		}}
		skill.About = func() (string, bool) {
			about, err := s.About()
			var changed *contextfiles.UnapprovedError
			if again := errors.As(err, &changed) && unapproved; err != nil && !again { // one of them is enough
				unapproved = changed != nil
				f.Env.Notice(err.Error())
			}
			return about.Description, err == nil && !about.Manual
		}
		d.Skills = append(d.Skills, skill)
	}
	if out := d.Places.Untrusted(); len(out) > 0 {
		f.Env.Notice(fmt.Sprintf("warning: %s isn't trusted: ignoring %s. Review with 'adze trust'.", f.Path,
			strings.Join(out, ", ")))
	}
	for _, n := range slices.Concat(notes, found, more) {
		f.Env.Notice(n)
	}
	return d
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
	if d.directory.Env.Isolated {
		return contextfiles.Loaded{}
	}
	user := []string{d.Places.Own}
	if d.Places.Home != "" {
		user = append(user, filepath.Join(d.Places.Home, ".qwen"))
	}
	return contextfiles.Load(contextfiles.Options{
		User: user, Dir: d.directory.Path, Home: d.directory.Env.Home, Names: d.Names,
	})
}

// Loaded returns the context files that the model has, with those that calls reached.
func (d *Definitions) Loaded() []contextfiles.File {
	files := d.Memory().Files
	if d.Nested != nil {
		files = append(files, d.Nested.Files()...)
	}
	return files
}

// Describe returns the content of the context files for a user; without any, where they could be.
func (d *Definitions) Describe(memory contextfiles.Loaded) string {
	if len(memory.Files) == 0 {
		names := cmp.Or(strings.Join(d.Names, " or "), "AGENTS.md or QWEN.md")
		return fmt.Sprintf("No context files (%[2]s) in %[1]s, its parent directories or %[3]s.", d.directory.Path,
			names, d.directory.Home)
	}
	return memory.Text
}

// Resume continues a session that began earlier: what changed since then may be its own work, and the model has the
// context files in its history.
func (d *Definitions) Resume(began time.Time, history []model.Message) {
	if d.Nested == nil {
		return
	}
	d.Nested = contextfiles.NewNested(d.directory.Path, d.Names, began)
	for _, m := range history {
		for _, p := range m.Parts {
			if r, ok := p.(model.Response); ok {
				d.Nested.Had(r.Text())
			}
		}
	}
}

// Reached returns the context files of the directories that a call of a file tool reached for the first time. They are
// in its result rather than in the system prompt, so that the cached prefix stays.
func (d *Definitions) Reached(q tool.Request, o tool.Outcome) (texts []string) {
	n := d.Nested
	if n == nil {
		return nil
	}
	n.Changed(o.Changes.Kept())
	reaches := []tool.Kind{tool.Read, tool.Search, tool.Edit}
	if !slices.Contains(reaches, q.Declaration.Kind) || q.Declaration.Origin != "" || o.Status != tool.StatusSuccess {
		return nil
	}
	for _, a := range q.Access {
		if a.Verb != tool.Reads && a.Verb != tool.Writes || !filepath.IsAbs(a.Target) {
			continue
		}
		texts = append(texts, n.Reached(q.Call.By, q.Declaration.Name, filepath.Clean(a.Target))...)
	}
	return texts
}
