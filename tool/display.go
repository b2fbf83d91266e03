package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A Display is what a person sees of a call. It can say itself in Markdown; front ends may know its type better.
// It is never changed after it is handed over and is small: the tail of an output and its size, not the output.
// Markdown quotes foreign text with [Fence]. In a confirmation only the types of this package are rendered; of
// others the Markdown source is shown, as a Literal would be.
//
// In JSON a display is its Markdown as a string, unless it marshals itself (json.Marshaler) into an object.
type Display interface{ Markdown() string }

// Markdown is a display that is just that.
type Markdown string

// Markdown is the text itself.
func (m Markdown) Markdown() string { return string(m) }

// Literal is foreign text, shown to the letter: the arguments of an unknown tool, the output of a program.
type Literal string

// Markdown quotes the text.
func (l Literal) Markdown() string { return Fence("", string(l)) }

// Command is the confirmation of a shell command.
type Command struct {
	Line      string // the whole of it, to the byte
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

// Plan is the confirmation and the display of a plan: "plan_summary" in the documentation.
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

// Opaque is a display of a type that this program does not know, read back from a transcript. It keeps the JSON.
type Opaque struct{ JSON json.RawMessage }

// Markdown shows the JSON, quoted.
func (o Opaque) Markdown() string { return Fence("json", string(o.JSON)) }

// MarshalJSON gives back what was read.
func (o Opaque) MarshalJSON() ([]byte, error) { return o.JSON, nil }

// MarshalDisplay writes a display as results do: its Markdown as a string, or the object it marshals itself into.
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
