// Package trace turns the journal of a finished task into spans for an OpenTelemetry collector.
//
//	x, err := otlp.New(endpoint, os.Getenv, "adze-fleet", version)
//	…
//	err = x.Send(ctx, trace.Spans(run, task, entries))
//
// Spans have names, times, models, tokens and states. They have no prompts, arguments or results.
package trace

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/internal/engine/otlp"
	"github.com/adze-dev/adze/journal"
)

// builder makes the spans of one task.
type builder struct {
	trace string
	root  string
	last  time.Time // of the entries so far
	spans []*otlp.Span
	turns map[string]*otlp.Span // the running turn of each agent
	asked map[string]*otlp.Span // the running request of each agent
	calls map[string]*otlp.Span // the running calls by agent and ID
}

// Spans returns the spans of a task: the task itself, and in it turns with model requests and tool calls.
func Spans(run, task string, entries []journal.Entry) []*otlp.Span {
	if len(entries) == 0 {
		return nil
	}
	first, last := entries[0], entries[len(entries)-1]
	b := &builder{trace: otlp.ID(16, run, task, fmt.Sprint(first.At.UnixNano())), turns: map[string]*otlp.Span{}, asked: map[string]*otlp.Span{}, calls: map[string]*otlp.Span{}}
	root := b.open("", "task", otlp.Internal, first, "adze.run", run, "adze.task", task)
	b.root = root.SpanID
	for _, e := range entries {
		b.add(root, e)
		b.last = e.At
	}
	b.interrupt(last.At)
	root.End(last.At)
	return b.spans
}

// open begins a span with the time of an entry.
func (b *builder) open(parent, name string, kind int, e journal.Entry, attributes ...any) *otlp.Span {
	s := otlp.Begin(b.trace, otlp.ID(8, b.trace, fmt.Sprint(e.Seq, len(b.spans))), parent, name, e.At, attributes...)
	s.Kind = kind
	if e.By != "" {
		s.Add("gen_ai.agent.id", e.By)
	}
	b.spans = append(b.spans, s)
	return s
}

// interrupt ends all running spans: the worker is gone.
func (b *builder) interrupt(at time.Time) {
	for key, s := range b.calls {
		s.Fail("interrupted")
		s.End(at)
		delete(b.calls, key)
	}
	for by, s := range b.asked {
		s.Fail("interrupted")
		s.End(at)
		delete(b.asked, by)
	}
	for by, s := range b.turns {
		s.End(at)
		delete(b.turns, by)
	}
}

func (b *builder) add(root *otlp.Span, e journal.Entry) {
	var d struct {
		ID, Name, Model, Error, Worker string
		Turn                           int
		Usage                          struct{ Input, Output int }
		Outcome                        struct {
			Status string
			Error  *struct{ Type string }
		}
	}
	// Other entries have fields of other types with these names: use those that match.
	_ = json.Unmarshal(e.Data, &d)
	switch e.Type {
	case queue.TypeOwner:
		if !b.last.IsZero() {
			b.interrupt(b.last)
		}
		root.Event(e.At, "owner", "adze.worker", d.Worker)
	case journal.TypeAsked:
		b.endTurn(e)
		turn := b.open(b.root, "turn", otlp.Internal, e, "adze.turn", d.Turn)
		b.turns[e.By] = turn
		b.asked[e.By] = b.open(turn.SpanID, "chat", otlp.Client, e, "gen_ai.operation.name", "chat")
	case journal.TypeAnswer:
		if s := b.asked[e.By]; s != nil {
			s.Name = "chat " + d.Model
			s.Add("gen_ai.request.model", d.Model, "gen_ai.usage.input_tokens", d.Usage.Input,
				"gen_ai.usage.output_tokens", d.Usage.Output)
			if d.Error != "" {
				s.Fail("the request failed")
			}
			s.End(e.At)
			delete(b.asked, e.By)
		}
	case journal.TypeStarted:
		parent := b.root
		if turn := b.turns[e.By]; turn != nil {
			parent = turn.SpanID
		}
		b.calls[e.By+"\n"+d.ID] = b.open(parent, "execute_tool "+d.Name, otlp.Internal, e, "gen_ai.operation.name", "execute_tool",
			"gen_ai.tool.name", d.Name, "gen_ai.tool.call.id", d.ID)
	case journal.TypeFinished:
		if s := b.calls[e.By+"\n"+d.ID]; s != nil {
			s.Add("adze.status", d.Outcome.Status)
			if d.Outcome.Error != nil {
				s.Fail(d.Outcome.Error.Type)
			}
			s.End(e.At)
			delete(b.calls, e.By+"\n"+d.ID)
		}
	case journal.TypeResponses:
		b.endTurn(e)
	case queue.TypeDone:
		var done result.Done
		_ = json.Unmarshal(e.Data, &done)
		root.Add("adze.state", string(done.State), "adze.worker", done.Worker, "gen_ai.request.model", done.Model,
			"adze.turns", done.Turns, "adze.cost", done.Cost)
		if done.State != result.Passed && done.State != result.Unchanged {
			root.Fail(string(done.State))
		}
	}
}

// endTurn ends the running turn of an agent.
func (b *builder) endTurn(e journal.Entry) {
	if turn := b.turns[e.By]; turn != nil {
		turn.End(e.At)
		delete(b.turns, e.By)
	}
}
