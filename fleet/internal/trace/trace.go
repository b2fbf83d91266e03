// Package trace turns the journal of a finished task into spans, and sends them to an OpenTelemetry collector: OTLP over
// HTTP, as JSON.
//
//	x := trace.FromEnv(os.Getenv)
//	err := x.Send(ctx, trace.Spans(run, task, entries))
//
// Spans have names, times, models, tokens and states. They have no prompts, arguments or results.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/journal"
)

// Span is an OTLP span.
type Span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Status     *Status     `json:"status,omitempty"`
}

// Event is a moment of a span.
type Event struct {
	Time       string      `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a named value.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Value is a value: exactly one field is set.
type Value struct {
	String *string  `json:"stringValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"` // a 64-bit integer is a string in OTLP's JSON
	Double *float64 `json:"doubleValue,omitempty"`
}

// Status is the status of a failed span.
type Status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// Constants of OTLP.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

func text(key, value string) Attribute { return Attribute{key, Value{String: &value}} }

func number(key string, n int) Attribute {
	s := strconv.Itoa(n)
	return Attribute{key, Value{Int: &s}}
}

func amount(key string, f float64) Attribute { return Attribute{key, Value{Double: &f}} }

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// builder makes the spans of one task.
type builder struct {
	trace string
	root  string
	last  time.Time // of the entries so far
	spans []*Span
	turns map[string]*Span // the running turn of each agent
	asked map[string]*Span // the running request of each agent
	calls map[string]*Span // the running calls by agent and ID
}

// Spans returns the spans of a task: the task itself, and in it turns with model requests and tool calls.
func Spans(run, task string, entries []journal.Entry) []*Span {
	if len(entries) == 0 {
		return nil
	}
	first, last := entries[0], entries[len(entries)-1]
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", run, task, first.At.UnixNano()))
	b := &builder{trace: hex.EncodeToString(sum[:16]), turns: map[string]*Span{}, asked: map[string]*Span{}, calls: map[string]*Span{}}
	root := b.open("", "task", kindInternal, first, text("adze.run", run), text("adze.task", task))
	b.root = root.SpanID
	for _, e := range entries {
		b.add(root, e)
		b.last = e.At
	}
	b.interrupt(last.At)
	b.close(root, last.At)
	return b.spans
}

// open begins a span with the time of an entry.
func (b *builder) open(parent, name string, kind int, e journal.Entry, attributes ...Attribute) *Span {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", b.trace, e.Seq, len(b.spans)))
	s := &Span{TraceID: b.trace, SpanID: hex.EncodeToString(sum[:8]), Parent: parent, Name: name, Kind: kind, Start: nanos(e.At), Attributes: attributes}
	if e.By != "" {
		s.Attributes = append(s.Attributes, text("adze.agent", e.By))
	}
	b.spans = append(b.spans, s)
	return s
}

// close ends a span. Clocks of workers differ: no span ends before it begins.
func (b *builder) close(s *Span, at time.Time) {
	s.End = nanos(at)
	start, _ := strconv.ParseInt(s.Start, 10, 64)
	if at.UnixNano() < start {
		s.End = s.Start
	}
}

func fail(s *Span, message string) { s.Status = &Status{statusError, message} }

// interrupt ends all running spans: the worker is gone.
func (b *builder) interrupt(at time.Time) {
	for key, s := range b.calls {
		fail(s, "interrupted")
		b.close(s, at)
		delete(b.calls, key)
	}
	for by, s := range b.asked {
		fail(s, "interrupted")
		b.close(s, at)
		delete(b.asked, by)
	}
	for by, s := range b.turns {
		b.close(s, at)
		delete(b.turns, by)
	}
}

func (b *builder) add(root *Span, e journal.Entry) {
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
		root.Events = append(root.Events, Event{nanos(e.At), "owner", []Attribute{text("adze.worker", d.Worker)}})
	case journal.TypeAsked:
		b.endTurn(e)
		turn := b.open(b.root, "turn", kindInternal, e, number("adze.turn", d.Turn))
		b.turns[e.By] = turn
		b.asked[e.By] = b.open(turn.SpanID, "model", kindClient, e)
	case journal.TypeAnswer:
		if s := b.asked[e.By]; s != nil {
			s.Attributes = append(s.Attributes, text("gen_ai.request.model", d.Model), number("gen_ai.usage.input_tokens", d.Usage.Input),
				number("gen_ai.usage.output_tokens", d.Usage.Output))
			if d.Error != "" {
				fail(s, "the request failed")
			}
			b.close(s, e.At)
			delete(b.asked, e.By)
		}
	case journal.TypeStarted:
		parent := b.root
		if turn := b.turns[e.By]; turn != nil {
			parent = turn.SpanID
		}
		b.calls[e.By+"\n"+d.ID] = b.open(parent, "tool "+d.Name, kindInternal, e, text("gen_ai.tool.name", d.Name), text("gen_ai.tool.call.id", d.ID))
	case journal.TypeFinished:
		if s := b.calls[e.By+"\n"+d.ID]; s != nil {
			s.Attributes = append(s.Attributes, text("adze.status", d.Outcome.Status))
			if d.Outcome.Error != nil {
				fail(s, d.Outcome.Error.Type)
			}
			b.close(s, e.At)
			delete(b.calls, e.By+"\n"+d.ID)
		}
	case journal.TypeResponses:
		b.endTurn(e)
	case queue.TypeDone:
		var done result.Done
		_ = json.Unmarshal(e.Data, &done)
		root.Attributes = append(root.Attributes, text("adze.state", string(done.State)), text("adze.worker", done.Worker), text("gen_ai.request.model", done.Model),
			number("adze.turns", done.Turns), amount("adze.cost", done.Cost))
		if done.State != result.Passed && done.State != result.Unchanged {
			fail(root, string(done.State))
		}
	}
}

// endTurn ends the running turn of an agent.
func (b *builder) endTurn(e journal.Entry) {
	if turn := b.turns[e.By]; turn != nil {
		b.close(turn, e.At)
		delete(b.turns, e.By)
	}
}
