package cli

import (
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/tool"
)

// output prints what happens while a prompt is worked on.
type output interface {
	Event(agent.Event)
	Below(agent.Member, agent.Event) // of subagents, of several at a time
	End(agent.Answer, error) error
}

func newOutput(env Env, o *options, s *session.Session, commands *slash.Commands, side *console.Screen,
	modelName string) output {
	switch o.format {
	case formatJSON, formatStreamJSON:
		p := newPrinter(env, o, s, commands, modelName)
		p.Begin()
		return p
	}
	return console.NewText(env.streams(), side, o.hasSchema)
}

func newPrinter(env Env, o *options, s *session.Session, commands *slash.Commands,
	modelName string) *headless.Printer {
	return headless.NewPrinter(headless.PrinterOptions{
		W: env.Stdout, Session: s, Commands: commands, Model: modelName, Version: env.Version,
		Stream: o.format == formatStreamJSON, Partial: o.partial, Structured: o.hasSchema,
	})
}

// commandTail shows the end of the output of the user's own command while it runs. Its whole output is printed
// afterwards.
type commandTail struct {
	show func(agent.Event)

	mu    sync.Mutex
	ended bool
}

// observe takes an event of the command. The one that ends it is omitted: it would be printed as a call of the model.
func (t *commandTail) observe(e tool.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended && (e.Stage == tool.Running || e.Stage == tool.Showing) {
		t.show(agent.Step{Event: e})
	}
}

// end drops events that arrive late.
func (t *commandTail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}
