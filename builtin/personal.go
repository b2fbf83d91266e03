package builtin

import "github.com/adze-dev/adze/tool"

// Personal reports whether a tool belongs to the conversation between the user and the first agent: it asks questions of
// its own or changes the mode. Subagents don't have it, and their calls of it are denied.
func Personal(d tool.Declaration) bool {
	if d.Origin != "" {
		return false
	}
	switch d.Name {
	case "ask_user_question", "enter_plan_mode", "exit_plan_mode":
		return true
	}
	return false
}
