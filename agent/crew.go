package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// CrewOptions are what sub-agents are made of.
type CrewOptions struct {
	Model    model.Model
	Executor *tool.Executor // the first agent's: its tools, policy and observer
	// System is what the first agent is told at present; nil: nothing.
	System func() string
	// Roles come beside the built-in ones and hide those of the same name.
	Roles []Role
	// Models opens the model that a role names; nil: there is only Model, and all use it.
	Models func(name string) (model.Model, error)
	// Narrow is the policy of an approval mode that a role names; nil: roles may only be read-only.
	Narrow func(mode string) (tool.Policy, error)
	// Withhold says which tools no sub-agent is given; nil: none.
	Withhold func(tool.Declaration) bool
	// Shelf is the first agent's: sub-agents have places of their own on it.
	Shelf *Shelf
	// Budget is the first agent's, so that all draw on one.
	Budget    *Budget
	MaxTokens int // of each answer; 0 leaves it to the server
	Turns     int // of one sub-agent; 0 is 100
	Depth     int // how deep sub-agents may have sub-agents of their own; 0 is 3
	Limit     int // sub-agents at work at once, on each level; 0 is 8
	// Observe is told of what sub-agents say and call; several may tell at the same time. Their steps come to the first
	// agent's observer.
	Observe func(Member, Event)
}

const (
	defaultTurns  = 100
	defaultDepth  = 3
	defaultLimit  = 8
	maxBackground = 10
)

// Crew runs the sub-agents of a session. A tool that delegates calls [Crew.Do].
//
//	crew := agent.NewCrew(agent.CrewOptions{Model: m, Executor: x})
//	defer crew.Close()
//	result, err := crew.Do(ctx, agent.Task{Prompt: "Find all callers of Close.", Type: "explore", Live: l})
type Crew struct {
	o     CrewOptions
	roles []Role
	slots []chan struct{} // of each level; a level waits only for itself, so nobody waits in a circle

	mu      sync.Mutex
	members map[string]*member // at work, by path
	counts  map[string]int     // of sub-agents ever made, by path of the parent and role
	jobs    []*job             // in the background, ended ones too
	changed chan struct{}
	closed  bool
	atWork  sync.WaitGroup // of those in the background
}

// Member is a sub-agent at work.
type Member struct {
	Path        string // as in [tool.Call].By
	Role        string
	Description string    // of its task
	Call        tool.Call // that gave it the task
}

// NewCrew makes a crew.
func NewCrew(o CrewOptions) *Crew {
	if o.Turns <= 0 {
		o.Turns = defaultTurns
	}
	if o.Depth <= 0 {
		o.Depth = defaultDepth
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	c := &Crew{o: o, roles: AllRoles(o.Roles), members: map[string]*member{}, counts: map[string]int{}, changed: make(chan struct{})}
	for range o.Depth {
		c.slots = append(c.slots, make(chan struct{}, o.Limit))
	}
	return c
}

// Roles are the roles that tasks can name.
func (c *Crew) Roles() []Role { return slices.Clone(c.roles) }

// Task is what a sub-agent is to do.
type Task struct {
	Description string // in a few words, for people
	Prompt      string
	Type        string     // the name of a role; "" is DefaultRole
	Background  bool       // do not wait: the report is news later. A sub-agent's own tasks are always waited for
	Live        *tool.Live // of the call that delegates; nil: no call does
}

// Do gives a task to a new sub-agent and waits for its report. The end of ctx ends the sub-agent; one in the background
// is ended by Close.
func (c *Crew) Do(ctx context.Context, t Task) (tool.Result, error) {
	if t.Live == nil {
		t.Live = &tool.Live{Show: func(tool.Display) {}}
	}
	m, err := c.enlist(t)
	if err != nil {
		return tool.Result{}, err
	}
	if t.Background && m.depth == 1 {
		return c.leaveBehind(ctx, m)
	}
	defer c.dismiss(m)
	return m.work(ctx, t.Live.Show)
}

// enlist makes a sub-agent for a task.
func (c *Crew) enlist(t Task) (*member, error) {
	if t.Type == "" {
		t.Type = DefaultRole
	}
	role := findRole(c.roles, t.Type)
	if role == nil {
		return nil, tool.Errorf(tool.InvalidParams, "task: there is no sub-agent of type %q; the types are %s", t.Type, c.roleNames())
	}
	parent, depth, err := c.parent(t.Live.Call)
	if err != nil {
		return nil, err
	}
	if depth >= c.o.Depth {
		return nil, tool.Errorf(tool.ExecutionDenied, "task: sub-agents may have sub-agents only %d deep; do it yourself", c.o.Depth)
	}
	narrow, err := c.narrow(*role)
	if err != nil {
		return nil, err
	}
	m := &member{crew: c, role: *role, task: t, depth: depth + 1, model: c.o.Model}
	if role.Model != "" {
		if m.model, err = c.modelNamed(role.Model); err != nil {
			return nil, err
		}
	}
	registry, unknown, err := role.tools(parent.Registry, c.withheld(parent.Registry, t.Live.Call.Name, m.depth))
	if err != nil {
		return nil, fmt.Errorf("task: choose the tools of %s: %w", role.Name, err)
	}
	m.unknown = unknown
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: the session has ended")
	}
	key := t.Live.Call.By + "/" + role.Name
	c.counts[key]++
	m.name = fmt.Sprintf("%s-%d", role.Name, c.counts[key])
	m.path = strings.TrimPrefix(t.Live.Call.By+"/"+m.name, "/")
	m.executor = parent.Child(t.Live, m.name, narrow) // from here on the call takes no place among those that run
	m.executor.Registry = registry
	c.members[m.path] = m
	return m, nil
}

func (c *Crew) roleNames() string {
	var names []string
	for _, r := range c.roles {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// parent is the executor of the agent that made the call, and how deep it is.
func (c *Crew) parent(call tool.Call) (*tool.Executor, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.By == "" {
		return c.o.Executor, 0, nil
	}
	m, ok := c.members[call.By]
	if !ok {
		return nil, 0, tool.Errorf(tool.ExecutionFailed, "task: the sub-agent %s is not at work any more", call.By)
	}
	return m.executor, m.depth, nil
}

// narrow is the policy that a role adds; nil adds nothing.
func (c *Crew) narrow(r Role) (tool.Policy, error) {
	var policy tool.Policy
	switch {
	case c.o.Narrow == nil && (r.ReadOnly || r.Mode == "plan"):
		return lookOnly, nil
	case r.ReadOnly:
		policy = lookOnly
		if plan, err := c.o.Narrow("plan"); err == nil && plan != nil {
			policy = looking(plan)
		}
	}
	if r.Mode == "" {
		return policy, nil
	}
	if c.o.Narrow == nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: the definition of %s wants the mode %s, and there are no modes here", r.Name, r.Mode)
	}
	mode, err := c.o.Narrow(r.Mode)
	if err != nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: the definition of %s: %w", r.Name, err)
	}
	return tool.Stricter(policy, mode), nil
}

func (c *Crew) modelNamed(name string) (model.Model, error) {
	if c.o.Models == nil {
		return c.o.Model, nil
	}
	m, err := c.o.Models(name)
	if err != nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: open the model %s: %w", name, err)
	}
	return m, nil
}

// withheld says which tools a sub-agent of this depth is not given. One that may have none of its own does not get the
// tool that was called to make it.
func (c *Crew) withheld(tools *tool.Registry, called string, depth int) func(tool.Declaration) bool {
	delegates := ""
	if t, err := tools.Lookup(called); err == nil && depth >= c.o.Depth {
		delegates = t.Declaration().Name
	}
	return func(d tool.Declaration) bool {
		return d.Name == delegates || c.o.Withhold != nil && c.o.Withhold(d)
	}
}

func (c *Crew) dismiss(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m.path)
}
