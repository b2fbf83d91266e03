package agent

import (
	"slices"

	"github.com/adze-dev/adze/model"
)

// settings are the options that can change between two requests.
type settings struct {
	model  model.Model
	effort string
	system string
}

func (a *Agent) settings() settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// SetModel changes the model, from the next request on. The conversation continues: data that is sealed for another
// model isn't sent to it.
func (a *Agent) SetModel(m model.Model) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.model = m
}

// SetEffort changes the effort, from the next request on: see [model.Request].
func (a *Agent) SetEffort(effort string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.effort = effort
}

// Reset replaces the conversation by another one, empty or not, with a system prompt of its own. It waits for a Run
// that has begun. IDs of calls stay unique: the executor has seen those of the old conversation.
func (a *Agent) Reset(system string, history []model.Message) {
	a.running.Lock()
	defer a.running.Unlock()
	a.mu.Lock()
	a.now.system = system
	a.mu.Unlock()
	a.stuck, a.room = stuck{}, room{}
	a.begin(history)
}

// Replace replaces the conversation by another one, such as an earlier state of it. The system prompt stays. It waits
// for a Run that has begun.
func (a *Agent) Replace(history []model.Message) { a.Reset(a.settings().system, history) }

// Append adds messages to the conversation, such as those of a prompt that a server wrote. It waits for a Run that has
// begun.
func (a *Agent) Append(messages ...model.Message) {
	a.running.Lock()
	defer a.running.Unlock()
	a.ids.add(messages)
	for _, m := range messages {
		a.addTold(m, true)
	}
}

// begin starts a conversation with a history.
func (a *Agent) begin(history []model.Message) {
	a.view, a.shown = a.o.Catalog.at(a.o.Path, a.o.Executor.Registry), -1
	a.ids.add(history)
	for _, m := range history {
		for _, c := range m.Calls() { // tools found then are known
			a.view.revealed[c.Name] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history, a.cutOff = slices.Clone(history), false
	a.meter.restart(history)
	a.meter.forget()
	a.first = nil
	for _, m := range history {
		if m.Role == model.User && a.first == nil {
			a.first = m.Parts
		}
	}
}

func (c *Crew) settings() settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// SetModel changes the model of subagents that start from now on, unless their role names one.
func (c *Crew) SetModel(m model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.model = m
}

// SetEffort changes the effort of subagents that start from now on.
func (c *Crew) SetEffort(effort string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.effort = effort
}
