package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

const (
	maxReport    = 25_000 // characters of a background report that the model is told
	maxEndedJobs = 32     // whose reports are kept
)

// Job is a sub-agent in the background as it is at a moment.
type Job struct {
	ID      string // its name, as its parent was told it: "explore-1"
	Running bool
	Display TaskDisplay // how far it is
	Report  string      // once it has ended: how, and its last words
}

// job is a sub-agent in the background. Beside the first three fields, all of it belongs to the crew's lock.
type job struct {
	member *member
	cancel context.CancelFunc
	done   chan struct{}
	shown  TaskDisplay
	report string
	told   bool // the model knows of the end
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

func (j *job) state() Job {
	return Job{ID: j.member.path, Running: j.running(), Display: j.shown, Report: j.report}
}

// leaveBehind lets a sub-agent work while its parent goes on. It outlives the turn, not the crew.
func (c *Crew) leaveBehind(ctx context.Context, m *member) (tool.Result, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.behind() >= maxBackground {
		cancel()
		delete(c.members, m.path)
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "task: %d sub-agents are at work in the background already; wait for one of them, or stop one", c.behind())
	}
	j := &job{member: m, cancel: cancel, done: make(chan struct{}), shown: m.display(statusBackground, "")}
	c.jobs = append(c.forgetful(), j)
	c.atWork.Add(1)
	go func() {
		defer c.atWork.Done()
		defer cancel()
		c.ended(j, c.report(own, j))
	}()
	said := fmt.Sprintf("%s works on this in the background. Its report will be told to you in a later turn; do not do its work meanwhile.", m.name)
	return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: j.shown}, nil
}

// behind counts those at work in the background.
func (c *Crew) behind() int {
	n := 0
	for _, j := range c.jobs {
		if j.running() {
			n++
		}
	}
	return n
}

// forgetful is the jobs without the oldest of those whose end the model knows of.
func (c *Crew) forgetful() []*job {
	over := len(c.jobs) + 1 - maxBackground - maxEndedJobs
	return slices.DeleteFunc(c.jobs, func(j *job) bool {
		if over <= 0 || j.running() || !j.told {
			return false
		}
		over--
		return true
	})
}

// report is what the model is told of a sub-agent that has ended.
func (c *Crew) report(ctx context.Context, j *job) (news string) {
	m := j.member
	begin := fmt.Sprintf("The background task of %s (%s) has ended", m.name, m.task.Description)
	defer func() {
		if p := recover(); p != nil {
			news = fmt.Sprintf("%s: it failed: %v", begin, p)
		}
	}()
	r, err := m.work(ctx, func(d tool.Display) { c.show(j, d) })
	c.show(j, r.Display)
	switch {
	case errors.Is(err, context.Canceled):
		begin += ": it was stopped"
	case err != nil:
		begin += fmt.Sprintf(": %v", err)
	}
	if len(r.Content) == 0 {
		return begin + ". It had not begun."
	}
	return tool.Cut(begin+". Its report:\n\n"+r.Text(), maxReport)
}

func (c *Crew) show(j *job, d tool.Display) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := d.(TaskDisplay); ok {
		j.shown = t
	}
}

// ended notes that a sub-agent in the background has ended.
func (c *Crew) ended(j *job, report string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.report = report
	delete(c.members, j.member.path)
	close(j.done)
	close(c.changed)
	c.changed = make(chan struct{})
}

// News are the reports of sub-agents in the background that have ended, each once, and not those that [Crew.Job] or
// [Crew.Stop] gave: for [Options].News.
func (c *Crew) News() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var news []string
	for _, j := range c.jobs {
		if !j.running() && !j.told {
			j.told = true
			news = append(news, j.report)
		}
	}
	return news
}

// Jobs are the sub-agents in the background, the ended ones too, the first one first.
func (c *Crew) Jobs() []Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Job
	for _, j := range c.jobs {
		all = append(all, j.state())
	}
	return all
}

// Job waits until a sub-agent in the background has ended, or ctx does, and tells how it is.
func (c *Crew) Job(ctx context.Context, id string) (Job, error) {
	j, err := c.job(id)
	if err != nil {
		return Job{}, err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	return c.tell(j), nil
}

// Stop ends a sub-agent in the background and all that it has begun, and gives what it said last.
func (c *Crew) Stop(ctx context.Context, id string) (Job, error) {
	j, err := c.job(id)
	if err != nil {
		return Job{}, err
	}
	j.cancel()
	select {
	case <-j.done:
		return c.tell(j), nil
	case <-ctx.Done():
		return Job{}, ctx.Err()
	}
}

// tell is a job for its parent, which then knows of its end.
func (c *Crew) tell(j *job) Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := j.state()
	j.told = j.told || !state.Running
	return state
}

func (c *Crew) job(id string) (*job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, j := range c.jobs {
		if strings.EqualFold(j.member.path, id) {
			return j, nil
		}
		names = append(names, j.member.path)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("sub-agent %s: none of this name is in the background; there are: %s", id, strings.Join(names, ", "))
}

// Await waits until there is news, and gives it; nil if nobody works in the background, or ctx has ended. It is for a
// front end that would end otherwise.
func (c *Crew) Await(ctx context.Context) []string {
	for {
		c.mu.Lock()
		busy, changed := c.behind() > 0, c.changed
		c.mu.Unlock()
		if news := c.News(); len(news) > 0 || !busy {
			return news
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Close ends the sub-agents in the background and waits for them.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	for _, j := range c.jobs {
		j.cancel()
	}
	c.mu.Unlock()
	c.atWork.Wait()
}
