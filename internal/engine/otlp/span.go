// Package otlp sends spans and metrics to an OpenTelemetry collector: OTLP over HTTP, as JSON.
//
//	x, err := otlp.New(endpoint, os.Getenv, "adze", version) // nil: no collector is configured
//	q := otlp.NewQueue(x, warn)
//	defer q.Close()
//	s := otlp.Begin(trace, otlp.ID(8, trace, "task"), "", "task", time.Now(), "adze.task", name)
//	…
//	q.Add(s.End(time.Now()))
//
// The official exporter brings gRPC and protocol buffers. Attributes are pairs of a name and a value: a string, a list
// of strings, an int or a float64.
package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Span is an OTLP span.
type Span struct {
	TraceID    string  `json:"traceId"`
	SpanID     string  `json:"spanId"`
	Parent     string  `json:"parentSpanId,omitempty"`
	Name       string  `json:"name"`
	Kind       int     `json:"kind"`
	StartNanos int64   `json:"startTimeUnixNano,string"`
	EndNanos   int64   `json:"endTimeUnixNano,string"`
	Attributes Pairs   `json:"attributes,omitempty"`
	Events     []Event `json:"events,omitempty"`
	Status     *Status `json:"status,omitempty"`
}

// Event is a moment of a span.
type Event struct {
	Nanos      int64  `json:"timeUnixNano,string"`
	Name       string `json:"name"`
	Attributes Pairs  `json:"attributes,omitempty"`
}

// Status is the status of a failed span.
type Status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Numbers of OTLP.
const (
	Internal    = 1 // the kind of most spans
	Client      = 3 // the kind of a request to a server
	statusError = 2
	cumulative  = 2
)

// Pairs are attributes: names, each followed by its value.
type Pairs []any

// MarshalJSON returns the attributes as OTLP has them. A 64-bit integer is a string there.
func (p Pairs) MarshalJSON() ([]byte, error) {
	list := []any{}
	for i := 0; i+1 < len(p); i += 2 {
		kind, value := "stringValue", p[i+1]
		switch v := value.(type) {
		case int:
			kind, value = "intValue", strconv.Itoa(v)
		case float64:
			kind = "doubleValue"
		case []string:
			var values []any
			for _, s := range v {
				values = append(values, map[string]string{"stringValue": s})
			}
			kind, value = "arrayValue", map[string]any{"values": values}
		}
		list = append(list, map[string]any{"key": p[i], "value": map[string]any{kind: value}})
	}
	return json.Marshal(list)
}

// ID returns the ID of a trace (16 bytes) or a span (8): the same for the same parts.
func ID(size int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:size])
}

// Begin returns a span that has started.
func Begin(trace, id, parent, name string, at time.Time, attributes ...any) *Span {
	return &Span{
		TraceID: trace, SpanID: id, Parent: parent, Name: name, Kind: Internal, StartNanos: at.UnixNano(),
		Attributes: attributes,
	}
}

// Traceparent returns the text by which other programs add spans below this one.
func (s *Span) Traceparent() string { return "00-" + s.TraceID + "-" + s.SpanID + "-01" }

// Add adds attributes.
func (s *Span) Add(attributes ...any) { s.Attributes = append(s.Attributes, attributes...) }

// Event adds a moment.
func (s *Span) Event(at time.Time, name string, attributes ...any) {
	s.Events = append(s.Events, Event{at.UnixNano(), name, attributes})
}

// Fail marks the span as failed, with a class of errors.
func (s *Span) Fail(kind string) {
	s.Add("error.type", kind)
	s.Status = &Status{statusError, kind}
}

// End ends the span. Clocks differ between machines: no span ends before it begins.
func (s *Span) End(at time.Time) *Span {
	s.EndNanos = max(at.UnixNano(), s.StartNanos)
	return s
}
