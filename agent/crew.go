package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// CrewOptions configure a Crew.
type CrewOptions struct {
	Model    model.Model
	Executor *tool.Executor // the first agent's: its tools, policy and observer
	// System returns the first agent's current system prompt; nil: none.
	System func() string
	// Roles are added to the built-in ones and replace those of the same name.
	Roles []Role
	// Models opens the model that a role names; nil: all use Model.
	Models func(name string) (model.Model, error)
	// Narrow returns the policy of an approval mode that a role names; nil: roles can only be read-only.
	Narrow func(mode string) (tool.Policy, error)
	// Window is the first agent's: see [Options].
	Window func(model string) Window
	// Past, Kept and Substitute are the first agent's: see [Options].
	Substitute func(ctx context.Context, wanted, asked model.Model, failed error) model.Model
	Past       string
	Kept       func(path string) []string
	// Dialect is the first agent's: see [Options].
	Dialect func(model string) tool.Dialect
	// Catalog is the first agent's; each subagent has its own view of it.
	Catalog *Catalog
	// Budget is the first agent's, shared by all.
	Budget    *Budget
	MaxTokens int // of each answer; 0: the server decides
	// Effort and CacheKey are the first agent's. The path of a subagent is added to the key, because it has its own
	// conversation.
	Effort, CacheKey string
	Turns            int // of one subagent; 0: 100
	Depth            int // how deep subagents can be nested; 0: 3
	Limit            int // subagents running at once, on each level; 0: 8
	// Taken are the paths of subagents of an earlier part of the session. New ones get other names.
	Taken []string
	// Started, if not nil, is called before a subagent begins, and returns texts that are added to its task.
	Started func(context.Context, Member) []string
	// Finished, if not nil, is called with the answer of a subagent, before its parent gets it.
	Finished func(context.Context, Member, Answer)
	// Observe receives the events of subagents, possibly several at the same time. Their steps go to the first agent's
	// observer.
	Observe func(Member, Event)
	// Ended is called when a background subagent has finished, so that a front end can hand over its report. It must
	// not call the crew; may be nil.
	Ended func()
}

// The limits of a Crew where its options have none.
const (
	DefaultDepth = 3
	DefaultLimit = 8
)

const (
	defaultTurns  = 100
	maxBackground = 10
)

// Crew runs the subagents of a session. A tool that delegates calls [Crew.Do].
//
//	crew := agent.NewCrew(agent.CrewOptions{Model: m, Executor: x})
//	defer crew.Close()
//	result, err := crew.Do(ctx, agent.Task{Prompt: "Find all callers of Close.", Type: "explore", Live: l})
type Crew struct {
	o     CrewOptions
	roles []Role
	slots []chan struct{} // of each level; a level waits only for itself, which rules out deadlocks

	mu      sync.Mutex
	now     settings           // of subagents that start from now on
	members map[string]*member // running, by path
	counts  map[string]int     // of subagents ever started, by path of the parent and role
	jobs    []*job             // in the background, including finished ones
	changed chan struct{}
	closed  bool
	atWork  sync.WaitGroup // background subagents
}

// Member is a running subagent.
type Member struct {
	Path        string // as in [tool.Call].By
	Role        string
	Description string    // of its task
	Call        tool.Call // that gave it the task
}

// NewCrew returns a Crew.
func NewCrew(o CrewOptions) *Crew {
	if o.Turns <= 0 {
		o.Turns = defaultTurns
	}
	if o.Depth <= 0 {
		o.Depth = DefaultDepth
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	c := &Crew{
		o: o, now: settings{model: o.Model, effort: o.Effort}, roles: AllRoles(o.Roles), members: map[string]*member{},
		counts: map[string]int{}, changed: make(chan struct{}),
	}
	for _, path := range o.Taken {
		c.take(path)
	}
	for range o.Depth {
		c.slots = append(c.slots, make(chan struct{}, o.Limit))
	}
	return c
}

// take counts a subagent of an earlier part of the session.
func (c *Crew) take(path string) {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return
	}
	if n, err := strconv.Atoi(name[i+1:]); err == nil {
		key := parent + "/" + name[:i]
		c.counts[key] = max(c.counts[key], n)
	}
}

// Roles returns the roles that tasks can name.
func (c *Crew) Roles() []Role { return slices.Clone(c.roles) }

// Task is the task of a subagent.
type Task struct {
	Description string // in a few words, for the user
	Prompt      string
	Type        string     // the name of a role; "" is DefaultRole
	Background  bool       // don't wait: the report comes as news. A subagent always waits for its own tasks
	Live        *tool.Live // of the call that delegates; nil: no call does
}

// Do runs a task in a new subagent and waits for its report. The end of ctx stops the subagent; Close stops background
// subagents.
func (c *Crew) Do(ctx context.Context, t Task) (tool.Result, error) {
	if t.Live == nil {
		t.Live = &tool.Live{Show: func(tool.Display) {}}
	}
	m, err := c.spawn(t)
	if err != nil {
		return tool.Result{}, err
	}
	if t.Background && m.depth == 1 {
		return c.runInBackground(ctx, m)
	}
	defer c.remove(m)
	return m.work(ctx, t.Live.Show)
}

// spawn makes a subagent for a task.
func (c *Crew) spawn(t Task) (*member, error) {
	if t.Type == "" {
		t.Type = DefaultRole
	}
	role := findRole(c.roles, t.Type)
	if role == nil {
		return nil, tool.Errorf(tool.InvalidParams, "task: unknown subagent type %q (expected %s)", t.Type,
			c.roleNames())
	}
	parent, depth, err := c.parent(t.Live.Call)
	if err != nil {
		return nil, err
	}
	if depth >= c.o.Depth {
		return nil, tool.Errorf(tool.ExecutionDenied, "task: subagents can be nested only %d deep. Do the "+
			"task yourself.", c.o.Depth)
	}
	narrow, err := c.narrow(*role)
	if err != nil {
		return nil, err
	}
	now := c.settings()
	m := &member{crew: c, role: *role, task: t, depth: depth + 1, model: now.model, effort: now.effort}
	if role.Model != "" {
		if m.model, err = c.modelNamed(role.Model); err != nil {
			return nil, err
		}
		if m.model.Name() != now.model.Name() {
			m.effort = "" // another model may not accept it
		}
	}
	registry, unknown, err := role.tools(parent.Registry, c.withheld(parent.Registry, t.Live.Call.Name, m.depth))
	if err != nil {
		return nil, fmt.Errorf("task: select tools for subagent %s: %w", role.Name, err)
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
	m.executor = parent.Child(t.Live, m.name, narrow) // from here on the call takes no slot
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

// parent returns the executor of the agent that made the call, and its depth.
func (c *Crew) parent(call tool.Call) (*tool.Executor, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.By == "" {
		return c.o.Executor, 0, nil
	}
	m, ok := c.members[call.By]
	if !ok {
		return nil, 0, tool.Errorf(tool.ExecutionFailed, "task: subagent %s is no longer running", call.By)
	}
	return m.executor, m.depth, nil
}

// narrow returns the policy that a role adds; nil: none.
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
		return nil, tool.Errorf(tool.ExecutionFailed, "task: subagent %s requests mode %s, but modes aren't "+
			"available here", r.Name, r.Mode)
	}
	mode, err := c.o.Narrow(r.Mode)
	if err != nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: invalid definition of subagent %s: %w", r.Name, err)
	}
	return tool.Stricter(policy, mode), nil
}

func (c *Crew) modelNamed(name string) (model.Model, error) {
	if c.o.Models == nil {
		return c.settings().model, nil
	}
	m, err := c.o.Models(name)
	if err != nil {
		return nil, tool.Errorf(tool.ExecutionFailed, "task: open model %s: %w", name, err)
	}
	return m, nil
}

// withheld reports which tools a subagent of this depth doesn't get. One that can't have subagents doesn't get the tool
// that starts them.
func (c *Crew) withheld(tools *tool.Registry, called string, depth int) func(tool.Declaration) bool {
	delegates := ""
	if t, err := tools.Lookup(called); err == nil && depth >= c.o.Depth {
		delegates = t.Declaration().Name
	}
	return func(d tool.Declaration) bool { return d.Name == delegates || d.Personal }
}

func (c *Crew) remove(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m.path)
}
