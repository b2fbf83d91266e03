package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// definitions are what the person and the project wrote down for models: context files, sub-agents, skills.
type definitions struct {
	options contextfiles.Options
	roles   []agent.Role
	skills  []builtin.Skill
}

// places are where definitions lie. userHome and adzeHome are the person's own.
func places(dir, userHome, adzeHome string, trusted bool) contextfiles.Places {
	return contextfiles.Places{
		User:    []string{adzeHome, filepath.Join(userHome, ".qwen")},
		Project: contextfiles.Root(dir, userHome),
		Trusted: trusted,
	}
}

func readDefinitions(env Env, dir, adzeHome string, trusted bool) *definitions {
	p := places(dir, env.Home, adzeHome, trusted)
	d := &definitions{options: contextfiles.Options{User: p.User, Dir: dir, Home: env.Home}}
	agents, notes := contextfiles.Agents(p)
	for _, a := range agents {
		d.roles = append(d.roles, agent.Role{
			Name: a.Name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Without: a.Without, Model: a.Model, Mode: a.Mode,
		})
	}
	skills, more := contextfiles.Skills(p)
	for _, s := range skills {
		d.skills = append(d.skills, builtin.Skill{Name: s.Name, Description: s.Description, Dir: s.Dir, Load: s.Read})
	}
	for _, n := range append(notes, more...) {
		fmt.Fprintf(env.Stderr, "adze: %s\n", n)
	}
	return d
}

// text is what the context files say at present.
func (d *definitions) text() string { return contextfiles.Load(d.options).Text }

// taskTypes are the sorts of sub-agents that the model is told of.
func (d *definitions) taskTypes() []builtin.TaskType {
	var types []builtin.TaskType
	for _, r := range agent.AllRoles(d.roles) {
		types = append(types, builtin.TaskType{Name: r.Name, Description: r.Description})
	}
	return types
}

// delegate gives a task to a sub-agent of the session.
func (s *session) delegate(ctx context.Context, r builtin.TaskRequest) (tool.Result, error) {
	if s.crew == nil {
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "run a sub-agent: there is no model in this session; adze -p has one")
	}
	return s.crew.Do(ctx, agent.Task{Description: r.Description, Prompt: r.Prompt, Type: r.Type, Background: r.Background, Live: r.Live})
}

// backgroundTasks are the sub-agents in the background of a session; there are none before it has a crew.
type backgroundTasks struct{ s *session }

func (b backgroundTasks) Jobs() []builtin.TaskJob {
	var jobs []builtin.TaskJob
	if b.s.crew != nil {
		for _, j := range b.s.crew.Jobs() {
			jobs = append(jobs, taskJob(j))
		}
	}
	return jobs
}

func (b backgroundTasks) Job(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.crew.Job(ctx, id)
	return taskJob(j), err
}

func (b backgroundTasks) Stop(ctx context.Context, id string) (builtin.TaskJob, error) {
	j, err := b.s.crew.Stop(ctx, id)
	return taskJob(j), err
}

func taskJob(j agent.Job) builtin.TaskJob {
	return builtin.TaskJob{ID: j.ID, Running: j.Running, Display: j.Display, Report: j.Report}
}

// narrow is the policy of a stricter mode.
func (s *session) narrow(mode string) (tool.Policy, error) {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return nil, err
	}
	return permission.New(s.world, m).Judge, nil
}

// setMode changes the approval mode and has open questions judged anew.
func (s *session) setMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	s.policy.SetMode(m)
	s.exec.Rejudge()
	return nil
}

func showMemory(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "memory show"); err != nil {
		return err
	}
	s, err := openSession(env, o, oneCall)
	if err != nil {
		return err
	}
	defer s.close(env)
	loaded := contextfiles.Load(s.definitions.options)
	for _, n := range loaded.Notes {
		fmt.Fprintf(env.Stderr, "adze: %s\n", n)
	}
	for _, f := range loaded.Files {
		fmt.Fprintf(env.Stderr, "%s (%s, %d bytes)\n", f.Path, f.Scope, f.Size)
	}
	_, err = fmt.Fprintln(env.Stdout, memoryText(s, loaded))
	return err
}

// memoryText is what the context files say, or where they could stand.
func memoryText(s *session, loaded contextfiles.Loaded) string {
	if len(loaded.Files) == 0 {
		return fmt.Sprintf("There are no context files for %s: AGENTS.md or QWEN.md, in it, above it, or in %s.", s.dir, s.home)
	}
	return loaded.Text
}
