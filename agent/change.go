package agent

import (
	"context"
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
	return a.current()
}

// current is settings with the lock held. The effort is that of the wanted model: others may not accept it.
func (a *Agent) current() settings {
	if a.standIn != nil {
		return settings{a.standIn, "", a.now.system}
	}
	return a.now
}

// substitute asks who answers in place of the wanted model, after err if it isn't nil, and reports whether that is
// another model than was asked.
func (a *Agent) substitute(ctx context.Context, err error) bool {
	if a.o.Substitute == nil || ctx.Err() != nil {
		return false
	}
	a.mu.Lock()
	wanted, asked := a.now.model, a.current().model
	a.mu.Unlock()
	next := a.o.Substitute(ctx, wanted, asked, err)
	if next == nil || next.Name() == asked.Name() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.standIn = next; next.Name() == wanted.Name() {
		a.standIn = nil
	}
	return true
}

// SetModel changes the model, from the next request on. The conversation continues: data that is sealed for another
// model isn't sent to it.
func (a *Agent) SetModel(m model.Model) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.model, a.standIn = m, nil
}

// SetEffort changes the effort, from the next request on: see [model.Request].
func (a *Agent) SetEffort(effort string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.effort = effort
}

// Reset replaces the conversation by another one, empty or not, with its own system prompt. It waits for a Run
// that has begun. IDs of calls stay unique: the executor has seen those of the old conversation.
func (a *Agent) Reset(system string, history []model.Message) {
	a.running.Lock()
	defer a.running.Unlock()
	a.mu.Lock()
	a.now.system = system
	a.mu.Unlock()
	a.stuck, a.room = stuck{}, room{}
	a.begin(history, nil)
}

// Replace replaces the conversation by an earlier state of it, with the user's prompts until then. The system prompt
// stays. It waits for a Run that has begun.
func (a *Agent) Replace(history []model.Message, prompts [][]model.Part) {
	a.Reset(a.settings().system, history)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prompts = prompts
}

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

// begin starts a conversation with a history, and the user's prompts in it; nil: its first message.
func (a *Agent) begin(history []model.Message, prompts [][]model.Part) {
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
	a.prompts = slices.Clone(prompts)
	if len(history) > 0 && history[0].Role == model.User && prompts == nil {
		a.prompts = [][]model.Part{history[0].Parts}
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
