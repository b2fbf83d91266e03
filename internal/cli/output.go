package cli

import (
	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/headless"
	"github.com/adze-dev/adze/internal/session"
)

// output prints what happens while a prompt is worked on.
type output interface {
	event(agent.Event)
	below(agent.Member, agent.Event) // of subagents, of several at a time
	end(agent.Answer, error) error
}

// jsonOutput is output for a program.
type jsonOutput struct{ *headless.Printer }

func (j jsonOutput) event(e agent.Event)                 { j.Event(e) }
func (j jsonOutput) below(m agent.Member, e agent.Event) { j.Below(m, e) }
func (j jsonOutput) end(a agent.Answer, err error) error { return j.End(a, err) }

func newOutput(env Env, o *options, s *session.Session, side *screen, modelName string) output {
	switch o.format {
	case "json", "stream-json":
		p := newPrinter(env, o, s, modelName)
		p.Begin()
		return jsonOutput{p}
	}
	t := newTextOutput(env, side)
	t.quiet = o.hasSchema
	return t
}

func newPrinter(env Env, o *options, s *session.Session, modelName string) *headless.Printer {
	return headless.NewPrinter(headless.PrinterOptions{
		W: env.Stdout, Session: s, Model: modelName, Version: env.Version, Stream: o.format == "stream-json", Partial: o.partial, Structured: o.hasSchema,
	})
}
