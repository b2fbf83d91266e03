package builtin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// offer knows which tools a set does not offer, so that no text sends a model to one of them. It does not change once
// the set is made.
type offer struct{ without map[string]bool }

// choose decides which of all tools are offered: those that were wired and that the options don't exclude.
func (o *offer) choose(all []tool.Tool, options Options) {
	o.without = map[string]bool{}
	for _, t := range all {
		d := t.Declaration()
		if !options.serves(d) || options.Exclude != nil && options.Exclude(d) {
			o.without[d.Name] = true
		}
	}
	// A tool whose only use is with another goes with it.
	if !o.has("exit_plan_mode") {
		o.without["enter_plan_mode"] = true
	}
	if !o.has("run_shell_command") && !o.has("task") {
		o.without["shell_output"], o.without["shell_stop"] = true, true
	}
}

// serves reports whether what a tool needs beside the executor is there.
func (o Options) serves(d tool.Declaration) bool {
	switch d.Name {
	case "enter_plan_mode", "exit_plan_mode":
		return o.HasUser && o.Mode != nil && o.SetMode != nil
	case ToolSearch:
		return o.FindTools != nil
	case "skill":
		return len(o.Skills) > 0
	case StructuredOutput:
		return o.Result != nil
	}
	switch d.Needs {
	case tool.NeedsUser:
		return o.HasUser
	case tool.NeedsModel:
		return o.Task != nil
	case tool.NeedsSession:
		return o.Session
	}
	return true
}

func (o *offer) has(name string) bool { return !o.without[name] }

// hint returns a formatted text that sends the model to a tool; "" if the tool is not offered.
func (o *offer) hint(name, format string, args ...any) string {
	if !o.has(name) {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// aside is a part of a declaration's text that names another tool: {{glob: Use glob to find files by name.}}
var aside = regexp.MustCompile(`\{\{(\w+):([^{}]*)\}\}`)

// worded is a tool whose texts name only tools that are offered.
type worded struct {
	tool.Tool
	declaration tool.Declaration
}

// Unwrap returns the tool with all texts.
func (w worded) Unwrap() tool.Tool { return w.Tool }

func (w worded) Declaration() tool.Declaration { return w.declaration }

// worded keeps the asides in a tool's texts that name offered tools, and removes the others.
func (o *offer) worded(t tool.Tool) tool.Tool {
	d := t.Declaration()
	if !strings.Contains(d.Description, "{{") && !strings.Contains(string(d.Parameters), "{{") {
		return t
	}
	d.Description = strings.TrimSpace(o.asides(d.Description))
	d.Parameters = []byte(o.asides(string(d.Parameters)))
	return worded{t, d}
}

func (o *offer) asides(text string) string {
	return aside.ReplaceAllStringFunc(text, func(s string) string {
		m := aside.FindStringSubmatch(s)
		if !o.has(m[1]) {
			return ""
		}
		return m[2]
	})
}
