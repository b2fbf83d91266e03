package session

import (
	"fmt"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/permission"
)

// changes are messages to the model about parts of its system prompt that no longer apply: context files, plan mode,
// the date. The system prompt itself doesn't change, because servers cache the start of a request.
type changes struct {
	session *Session

	first known  // what the system prompt says
	since string // how the system prompt of a resumed session differs; "": it doesn't

	mu    sync.Mutex
	known      // what the model knows by now
	stale bool // a context file may have changed

	waiting []string // messages for the next turn
}

// known is the changeable state that a model knows.
type known struct {
	memory string
	plan   bool
	day    string
}

// newChanges returns the system prompt of a conversation, and its changes.
func newChanges(s *Session) (system string, c *changes) {
	c = &changes{session: s}
	return c.restart(), c
}

// restart returns the system prompt of a new conversation, and resets the changes.
func (c *changes) restart() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := c.session, c.session.Env.Time()
	c.first = known{s.Definitions.Memory().Text, s.Policy.Mode() == permission.Plan, day(now)}
	c.known, c.stale = c.first, false
	c.since, c.waiting = "", nil
	return s.leading(c.memory, c.plan, now)
}

// begin returns the system prompt to start with, and how requests begin: as in the original session, if it is resumed.
// Changes since then are news.
func (c *changes) begin(from *recording.Resumed, system string) (string, *agent.Declared) {
	c.waiting = append(c.waiting, from.News...)
	if from.Declared.System == "" {
		return system, nil
	}
	c.since = sinceBegin(from.Declared.System, system)
	c.differs()
	return from.Declared.System, &from.Declared
}

// sinceBegin returns the message about parts of a resumed session's system prompt that no longer apply; "" if none.
func sinceBegin(before, now string) string {
	if before == now {
		return ""
	}
	return "This session was resumed. This is how the instructions at its start differ from the current ones:\n" +
		edit.Compare(before, now).Unified("at the start", "now")
}

// differs sends how the system prompt of a resumed session differs from the current one.
func (c *changes) differs() {
	if c.since != "" {
		c.waiting = append(c.waiting, c.since)
	}
}

// tell adds a message to the model's next turn.
func (c *changes) tell(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, text)
}

// remembered reports that a fact was saved to a context file.
func (c *changes) remembered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// forgotten reports that a summary replaced the messages about earlier changes, or that they were removed: they are
// sent again.
func (c *changes) forgotten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.stale = c.first, true
	c.differs()
	if nested := c.session.Definitions.Nested; nested != nil {
		nested.Forget()
	}
}

// news returns the changes since the last call, one message each.
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
	if today := day(c.session.Env.Time()); today != c.day {
		c.day = today
		news = append(news, fmt.Sprintf("The date is now %s.", today))
	}
	return news
}

// day returns a date as the system prompt has it.
func day(t time.Time) string { return t.Format("Monday, 2 January 2006") }
