package permission

import (
	"fmt"
	"slices"

	"github.com/adze-dev/adze/tool"
)

// Excluding returns a function that reports whether rules exclude a tool as a whole: "Shell", "run_shell_command",
// "mcp__github", "github__*". A rule with a specifier, such as "Shell(rm)", excludes none, and "Edit" excludes every
// built-in tool that edits files.
func Excluding(rules []string) (func(tool.Declaration) bool, error) {
	var whole []*rule
	for _, text := range rules {
		r, err := parseRule(text, true)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if r.whole {
			whole = append(whole, r)
		}
	}
	return func(d tool.Declaration) bool {
		return slices.ContainsFunc(whole, func(r *rule) bool { return r.excludes(&d) })
	}, nil
}

func (r *rule) excludes(d *tool.Declaration) bool {
	switch {
	case d.Origin != "":
		return r.ofTool(d, false)
	case r.verb == writing:
		return d.Kind == tool.Edit
	}
	return r.calls(d)
}
