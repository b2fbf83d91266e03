package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// A Display shows a call to the user. Every Display has a Markdown form; front ends can render known types better. It
// is immutable and small: the tail of an output and its size, not the output. Markdown quotes untrusted text with
// [Fence]. In a permission prompt only the types of this package are rendered; others are shown as Markdown source,
// like a Literal.
//
// In JSON a display is its Markdown as a string, unless it marshals itself (json.Marshaler) into an object.
type Display interface{ Markdown() string }

// Markdown is a display in Markdown.
type Markdown string

// Markdown returns the text itself.
func (m Markdown) Markdown() string { return string(m) }

// Literal is untrusted text, shown unchanged: the arguments of an unknown tool, the output of a program.
type Literal string

// Markdown quotes the text.
func (l Literal) Markdown() string { return Fence("", string(l)) }

// Command is the permission prompt of a shell command.
type Command struct {
	Line      string // the complete command
	Shell     string // the shell that runs it, if it isn't bash, such as "cmd": it may read the line differently
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
	return humanize.JSON(planJSON{"plan_summary", p.Message, p.Text, p.Rejected})
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
	return humanize.JSON(d.Markdown())
}

// UnmarshalDisplay reads what MarshalDisplay wrote. A display of unknown type is an [Opaque].
func UnmarshalDisplay(b json.RawMessage) (Display, error) {
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

// FileDiff is the permission prompt and the display of a changed file, in the documented format.
type FileDiff struct {
	Diff     string    // unified diff, complete with whitespace and line endings
	File     string    // base name, for users
	Path     string    // absolute path
	Original *string   // nil: the file is new
	New      string    // the new content
	Stat     *DiffStat // nil: not counted
	Warnings []string  // what the user should know before approving

	// Files are the files of a change of several, which has no Path and New itself. A moved file is one, with both
	// names in File. They are not in its JSON.
	Files []FileDiff
}

// DiffStat counts what a change adds and removes: the model's proposal, and the user's edits of it.
type DiffStat struct {
	ModelAddedLines   int `json:"model_added_lines"`
	ModelRemovedLines int `json:"model_removed_lines"`
	ModelAddedChars   int `json:"model_added_chars"`
	ModelRemovedChars int `json:"model_removed_chars"`
	UserAddedLines    int `json:"user_added_lines"`
	UserRemovedLines  int `json:"user_removed_lines"`
	UserAddedChars    int `json:"user_added_chars"`
	UserRemovedChars  int `json:"user_removed_chars"`
}

type fileDiffJSON struct {
	Diff     string    `json:"fileDiff"`
	File     string    `json:"fileName"`
	Path     string    `json:"filePath,omitempty"`
	Original *string   `json:"originalContent"`
	New      string    `json:"newContent"`
	Stat     *DiffStat `json:"diffStat,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`

	Files []FileDiff `json:"-"`
}

// Markdown shows the diff.
func (d FileDiff) Markdown() string {
	s := Fence("diff", d.Diff)
	if d.Diff == "" {
		s = fmt.Sprintf("No change to %s.", code(d.File))
	}
	for _, w := range d.Warnings {
		s += "\nWarning: " + oneLine(w)
	}
	return s
}

// MarshalJSON writes the documented names.
func (d FileDiff) MarshalJSON() ([]byte, error) { return humanize.JSON(fileDiffJSON(d)) }

// UnmarshalJSON reads the documented names.
func (d *FileDiff) UnmarshalJSON(b []byte) error {
	var in fileDiffJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*d = FileDiff(in)
	return nil
}

// Preview prepares a call and judges it, without asking or running. The error is the one that the model would get.
func (x *Executor) Preview(ctx context.Context, c Call) (Request, Decision, error) {
	c.By = x.by
	found := x.Registry.Find(c)
	if found.Err != nil {
		return Request{Call: c}, Decision{}, found.Err
	}
	c = found.Call
	t, d := found.Tool, found.Tool.Declaration()
	inv, err := prepareSafely(ctx, t, d, c.Args)
	if typeOf(err) == InvalidParams {
		return Request{Call: c, Declaration: d}, Decision{}, err
	}
	r := Request{Call: c, Declaration: d, Invocation: *inv}
	r.Run, r.Trial = nil, nil
	about := Request{Call: c, Declaration: d, Invocation: *asReading(inv)}
	if x.judge(about, hooked{}).Verdict != Allow {
		// The caller may not read the targets, so neither a diff nor an error may reveal them.
		err = nil
		if slices.ContainsFunc(r.Access, holdsContent) {
			r.Confirm = nil
		}
	}
	if err != nil {
		return r, Decision{}, err
	}
	return r, x.judge(r, hooked{}), nil
}

// holdsContent reports whether a question about an access may show what is there. A question about a command or a host
// shows only the arguments.
func holdsContent(a Access) bool {
	return a == Anything || a.Verb == Reads || a.Verb == Writes
}

// TypeOf returns the documented type of an error, as in an outcome.
func TypeOf(err error) ErrorType { return typeOf(err) }
