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
	maxReport    = 25_000 // characters of a background report for the model
	maxEndedJobs = 32     // finished jobs whose reports are kept
)

// Job is the state of a background subagent.
type Job struct {
	ID      string // its name: "explore-1"
	Running bool
	Display TaskDisplay // progress
	Report  string      // once it has finished: how, and its last message
}

// job is a background subagent. Except for the first three fields, the crew's mutex guards it.
type job struct {
	member *member
	cancel context.CancelFunc
	done   chan struct{}
	shown  TaskDisplay
	report string
	told   bool // the model knows that it finished
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

// runInBackground runs a subagent while its parent continues. It outlives the turn, not the crew.
func (c *Crew) runInBackground(ctx context.Context, m *member) (tool.Result, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.background() >= maxBackground {
		cancel()
		delete(c.members, m.path)
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "task: %d subagents are already running in the "+
			"background. Wait for one to finish, or stop one.", c.background())
	}
	j := &job{member: m, cancel: cancel, done: make(chan struct{}), shown: m.display(statusBackground, "")}
	c.jobs = append(c.pruned(), j)
	c.atWork.Go(func() {
		defer cancel()
		c.ended(j, c.report(own, j))
	})
	said := fmt.Sprintf("Started %s in the background. You'll receive its report in a later turn; don't "+
		"duplicate its work.", m.name)
	return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: j.shown}, nil
}

// background counts the running background subagents.
func (c *Crew) background() int {
	n := 0
	for _, j := range c.jobs {
		if j.running() {
			n++
		}
	}
	return n
}

// pruned returns the jobs without the oldest finished ones whose reports the model has.
func (c *Crew) pruned() []*job {
	over := len(c.jobs) + 1 - maxBackground - maxEndedJobs
	return slices.DeleteFunc(c.jobs, func(j *job) bool {
		if over <= 0 || j.running() || !j.told {
			return false
		}
		over--
		return true
	})
}

// report returns the message to the model about a finished subagent.
func (c *Crew) report(ctx context.Context, j *job) (news string) {
	m := j.member
	begin := fmt.Sprintf("Background subagent %s (%s) finished", m.name, m.task.Description)
	defer func() {
		if p := recover(); p != nil {
			news = fmt.Sprintf("%s: failed: %v", begin, p)
		}
	}()
	r, err := m.work(ctx, func(d tool.Display) { c.show(j, d) })
	c.show(j, r.Display)
	switch {
	case errors.Is(err, context.Canceled):
		begin += ": stopped"
	case err != nil:
		begin += fmt.Sprintf(": %v", err)
	}
	if len(r.Content) == 0 {
		return begin + ". It had not started."
	}
	return tool.Cut(begin+". Report:\n\n"+r.Text(), maxReport)
}

func (c *Crew) show(j *job, d tool.Display) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := d.(TaskDisplay); ok {
		j.shown = t
	}
}

// ended records that a background subagent has finished.
func (c *Crew) ended(j *job, report string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.report = report
	delete(c.members, j.member.path)
	close(j.done)
	close(c.changed)
	c.changed = make(chan struct{})
	if c.o.Ended != nil {
		c.o.Ended()
	}
}

// News returns the reports of background subagents that have finished, each once, except those that [Crew.Job] or
// [Crew.Stop] returned. It is for [Options].News.
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

// Jobs returns the background subagents, oldest first, including finished ones.
func (c *Crew) Jobs() []Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Job
	for _, j := range c.jobs {
		all = append(all, j.state())
	}
	return all
}

// Job waits until a background subagent has finished or ctx ends, and returns its state.
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

// Stop stops a background subagent and everything it started, and returns its state.
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

// tell returns a job's state for its parent, which then knows if it has finished.
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
	return nil, fmt.Errorf("no background subagent %q (running or finished: %s)", id, strings.Join(names, ", "))
}

// Await waits for news and returns it; nil if no background subagent is running or ctx has ended. It is for a front end
// that would exit otherwise.
func (c *Crew) Await(ctx context.Context) []string {
	for {
		c.mu.Lock()
		busy, changed := c.background() > 0, c.changed
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

// Close stops the background subagents and waits for them.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	for _, j := range c.jobs {
		j.cancel()
	}
	c.mu.Unlock()
	c.atWork.Wait()
}
