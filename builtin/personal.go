package builtin

import "github.com/adze-dev/adze/tool"

// Personal reports whether a tool belongs to the conversation between the user and the first agent: it asks questions of
// its own, changes the mode or ends the run. Subagents don't have it, and their calls of it are denied.
func Personal(d tool.Declaration) bool {
	if d.Origin != "" {
		return false
	}
	switch d.Name {
	case "ask_user_question", "enter_plan_mode", "exit_plan_mode", StructuredOutput:
		return true
	}
	return false
}

// Auxiliary reports whether a tool only serves other tools or the session. A list of the tools that a session has needs
// not name it.
func Auxiliary(d tool.Declaration) bool {
	switch d.Name {
	case "shell_output", "shell_stop", "enter_plan_mode", "exit_plan_mode", ToolSearch, StructuredOutput:
		return d.Origin == ""
	}
	return false
}
