package builtin

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/tool"
)

// offer knows which tools a set doesn't offer, so that no text mentions them. It doesn't change once the set is made.
type offer struct{ without map[string]bool }

// choose decides which tools are offered: those whose needs are met and that the options don't exclude.
func (o *offer) choose(all []tool.Tool, options Options) {
	o.without = map[string]bool{}
	for _, t := range all {
		d := t.Declaration()
		if !options.serves(d) || options.Exclude != nil && options.Exclude(d) {
			o.without[d.Name] = true
		}
	}
	// A tool that is only useful with another is omitted with it.
	if !o.has("exit_plan_mode") {
		o.without["enter_plan_mode"] = true
	}
	if !o.has("run_shell_command") && !o.has("task") {
		o.without["shell_output"], o.without["shell_stop"] = true, true
	}
}

// serves reports whether the options meet the needs of a tool.
func (o Options) serves(d tool.Declaration) bool {
	switch d.Name {
	case "enter_plan_mode", "exit_plan_mode":
		return o.HasUser && o.Mode != nil && o.SetMode != nil
	case ToolSearch:
		return o.FindTools != nil
	case "skill":
		return len(o.Skills) > 0
	case codeName:
		return len(o.Servers) > 0
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

// hint returns a formatted text that suggests a tool; "" if the tool is not offered.
func (o *offer) hint(name, format string, args ...any) string {
	if !o.has(name) {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// aside matches a part of a description that mentions another tool: {{glob: Use glob to find files by name.}}
var aside = lazy.Regexp(`\{\{(\w+):([^{}]*)\}\}`)

// worded is a tool whose texts mention only offered tools.
type worded struct {
	tool.Tool
	declaration tool.Declaration
}

// Unwrap returns the tool with all texts.
func (w worded) Unwrap() tool.Tool { return w.Tool }

func (w worded) Declaration() tool.Declaration { return w.declaration }

// worded keeps the parts of a tool's texts that mention offered tools, and removes the others.
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
	return aside().ReplaceAllStringFunc(text, func(s string) string {
		m := aside().FindStringSubmatch(s)
		if !o.has(m[1]) {
			return ""
		}
		return m[2]
	})
}

// oneLine returns a text as one visible line of at most n characters.
func oneLine(s string, n int) string { return tool.Visible(humanize.Line(s, n)) }
