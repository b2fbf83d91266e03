package agent

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/tool"
)

// maxReport is how many characters of a background report the model is told.
const maxReport = 25_000

// leaveBehind lets a sub-agent work while its parent goes on. It outlives the turn, not the crew.
func (c *Crew) leaveBehind(ctx context.Context, m *member) (tool.Result, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.behind >= maxBackground {
		cancel()
		delete(c.members, m.path)
		return tool.Result{}, tool.Errorf(tool.ExecutionFailed, "task: %d sub-agents are at work in the background already; wait for one of them", c.behind)
	}
	c.behind++
	m.cancel = cancel
	c.atWork.Add(1)
	shown := m.display(statusBackground, "") // before others change what it shows
	go func() {
		defer c.atWork.Done()
		defer cancel()
		c.ended(m, c.report(own, m))
	}()
	said := fmt.Sprintf("%s works on this in the background. Its report will be told to you in a later turn; do not do its work meanwhile.", m.name)
	return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: shown}, nil
}

// report is what the model is told of a sub-agent that has ended.
func (c *Crew) report(ctx context.Context, m *member) (news string) {
	begin := fmt.Sprintf("The background task of %s (%s) has ended", m.name, m.task.Description)
	defer func() {
		if p := recover(); p != nil {
			news = fmt.Sprintf("%s: it failed: %v", begin, p)
		}
	}()
	r, err := m.work(ctx, nil)
	if err != nil {
		begin += fmt.Sprintf(": %v", err)
	}
	return tool.Cut(begin+". Its report:\n\n"+r.Text(), maxReport)
}

// ended notes that a sub-agent in the background has ended.
func (c *Crew) ended(m *member, news string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind--
	delete(c.members, m.path)
	c.news = append(c.news, news)
	close(c.changed)
	c.changed = make(chan struct{})
}

// News are the reports of sub-agents in the background that have ended since it was last called: for [Options].News.
func (c *Crew) News() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.news
	c.news = nil
	return news
}

// Await waits until there is news, and gives it; nil if nobody works in the background, or ctx has ended. It is for a
// front end that would end otherwise.
func (c *Crew) Await(ctx context.Context) []string {
	for {
		c.mu.Lock()
		busy, changed := c.behind > 0, c.changed
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
	for _, m := range c.members {
		if m.cancel != nil {
			m.cancel()
		}
	}
	c.mu.Unlock()
	c.atWork.Wait()
}
