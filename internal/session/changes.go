package session

import (
	"fmt"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/edit"
	"github.com/adze-dev/adze/permission"
)

// changes are messages to the model about what its system prompt says and no longer applies: context files, plan mode, the
// date. The system prompt itself stays as it is, because servers cache the start of a request.
type changes struct {
	session *Session

	begin known  // what the system prompt says
	since string // how that of a resumed session differs from begin; "": it doesn't

	mu    sync.Mutex
	known      // what the model knows by now
	stale bool // a context file may have changed

	waiting []string // messages for the next turn
}

// known is what a model knows of what can change.
type known struct {
	memory string
	plan   bool
	day    string
}

// newChanges returns the system prompt of a conversation, and the changes since.
func newChanges(s *Session) (system string, c *changes) {
	c = &changes{session: s}
	return c.restart(), c
}

// restart returns the system prompt of a conversation that starts now, and begins to look for changes again.
func (c *changes) restart() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := c.session, c.session.env.now()
	c.begin = known{s.Definitions.Memory().Text, s.Policy.Mode() == permission.Plan, day(now)}
	c.known, c.stale = c.begin, false
	c.since, c.waiting = "", nil
	return s.leading(c.memory, c.plan, now)
}

// differs sends how the system prompt of a resumed session differs from what applies.
func (c *changes) differs() {
	if c.since != "" {
		c.waiting = append(c.waiting, c.since)
	}
}

// remembered reports that a fact was saved to a context file.
func (c *changes) remembered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// observing is an observer that also notes when a summary replaced the messages about earlier changes: then they are sent again.
func (c *changes) observing(next func(agent.Event)) func(agent.Event) {
	return func(e agent.Event) {
		if done, ok := e.(agent.Compacted); ok && done.Summary != "" {
			c.forgotten()
		}
		if next != nil {
			next(e)
		}
	}
}

// forgotten reports that the messages about earlier changes are gone: they are sent again.
func (c *changes) forgotten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.stale = c.begin, true
	c.differs()
}

// news are the changes since the last call, one message each.
func (c *changes) news() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.waiting
	c.waiting = nil
	if c.stale {
		c.stale = false
		if memory := c.session.Definitions.Memory().Text; memory != c.memory {
			news = append(news, "The context files changed. This is the difference to the instructions above:\n"+
				edit.Compare(c.memory, memory).Unified("before", "now"))
			c.memory = memory
		}
	}
	if plan := c.session.Policy.Mode() == permission.Plan; plan != c.plan {
		c.plan = plan
		text := "Plan mode is off: calls that modify files are no longer denied."
		if plan {
			text = planText + c.session.planEnd()
		}
		news = append(news, text)
	}
	if today := day(c.session.env.now()); today != c.day {
		c.day = today
		news = append(news, fmt.Sprintf("The date is now %s.", today))
	}
	return news
}

// day is a date as the system prompt has it.
func day(t time.Time) string { return t.Format("Monday, 2 January 2006") }
