package builtin

import "github.com/adze-dev/adze/tool"

// Personal reports whether a tool belongs to the conversation between a person and the first agent: it asks questions of
// its own or changes the mode. A sub-agent is not given it, and is refused if it calls it all the same.
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
