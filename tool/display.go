package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A Display shows a call to the user. Every Display has a Markdown form; front ends can render known types better. It is
// immutable and small: the tail of an output and its size, not the output. Markdown quotes untrusted text with [Fence]. In
// a permission prompt only the types of this package are rendered; others are shown as Markdown source, like a Literal.
//
// In JSON a display is its Markdown as a string, unless it marshals itself (json.Marshaler) into an object.
type Display interface{ Markdown() string }

// Markdown is a display in Markdown.
type Markdown string

// Markdown is the text itself.
func (m Markdown) Markdown() string { return string(m) }

// Literal is untrusted text, shown unchanged: the arguments of an unknown tool, the output of a program.
type Literal string

// Markdown quotes the text.
func (l Literal) Markdown() string { return Fence("", string(l)) }

// Command is the permission prompt of a shell command.
type Command struct {
	Line      string // the complete command
	Directory string
	Purpose   string // what it is for, in the model's words
	Sandbox   string // the sandbox it would run in, or "off"
	Warnings  []string
}

// Markdown shows the whole command and where it would run.
func (c Command) Markdown() string {
	var b strings.Builder
	b.WriteString(Fence("sh", c.Line))
	if c.Directory != "" {
		fmt.Fprintf(&b, "\nin %s", code(c.Directory))
	}
	if c.Purpose != "" {
		fmt.Fprintf(&b, "\nThe model says: %s", oneLine(c.Purpose))
	}
	if c.Sandbox != "" {
		fmt.Fprintf(&b, "\nSandbox: %s", c.Sandbox)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "\nWarning: %s", oneLine(w))
	}
	return b.String()
}

// Plan is the permission prompt and the display of a plan: "plan_summary" in the documentation.
type Plan struct {
	Message  string
	Text     string
	Rejected bool
}

// Markdown shows the message and the plan's source.
func (p Plan) Markdown() string {
	if p.Message == "" {
		return Visible(p.Text)
	}
	return Visible(p.Message) + "\n\n" + Visible(p.Text)
}

type planJSON struct {
	Type     string `json:"type"`
	Message  string `json:"message"`
	Plan     string `json:"plan"`
	Rejected bool   `json:"rejected,omitempty"`
}

// MarshalJSON writes the documented plan_summary object.
func (p Plan) MarshalJSON() ([]byte, error) {
	return marshal(planJSON{"plan_summary", p.Message, p.Text, p.Rejected})
}

// Opaque is a display of unknown type, read back from a transcript. It keeps the JSON.
type Opaque struct{ JSON json.RawMessage }

// Markdown shows the JSON, quoted.
func (o Opaque) Markdown() string { return Fence("json", string(o.JSON)) }

// MarshalJSON returns the JSON unchanged.
func (o Opaque) MarshalJSON() ([]byte, error) { return o.JSON, nil }

// MarshalDisplay writes a display as in results: its Markdown as a string, or its own JSON object.
func MarshalDisplay(d Display) (json.RawMessage, error) {
	if m, ok := d.(json.Marshaler); ok {
		return m.MarshalJSON()
	}
	return marshal(d.Markdown())
}

func unMarshalDisplay(b json.RawMessage) (Display, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || string(b) == "null" {
		return nil, nil
	}
	if b[0] == '"' {
		var s string
		err := json.Unmarshal(b, &s)
		return Markdown(s), err
	}
	var probe struct {
		Type     string  `json:"type"`
		FileDiff *string `json:"fileDiff"`
	}
	if json.Unmarshal(b, &probe) != nil {
		return Opaque{bytes.Clone(b)}, nil
	}
	switch {
	case probe.FileDiff != nil:
		var d FileDiff
		err := json.Unmarshal(b, &d)
		return d, err
	case probe.Type == "plan_summary":
		var p planJSON
		err := json.Unmarshal(b, &p)
		return Plan{p.Message, p.Plan, p.Rejected}, err
	}
	return Opaque{bytes.Clone(b)}, nil
}
