package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Mode is how much runs without approval.
type Mode string

// The modes, strictest first. The zero value is Default.
const (
	Plan     Mode = "plan"      // change nothing
	Default  Mode = "default"   // changes require approval
	AutoEdit Mode = "auto-edit" // edits in the workspace run without approval
	Yolo     Mode = "yolo"      // everything runs without approval
)

// Modes lists the modes, strictest first.
func Modes() []Mode { return []Mode{Plan, Default, AutoEdit, Yolo} }

// ParseMode reads a mode from settings or flags. Qwen Code's auto_edit and autoEdit and Claude Code's acceptEdits are
// auto-edit, and Claude Code's bypassPermissions is yolo.
func ParseMode(s string) (Mode, error) {
	name := strings.ReplaceAll(strings.ToLower(s), "_", "-")
	switch name {
	case "autoedit", "acceptedits":
		name = string(AutoEdit)
	case "bypasspermissions":
		name = string(Yolo)
	}
	for _, m := range Modes() {
		if name == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("invalid approval mode %q (expected plan, default, auto-edit or yolo)", s)
}

// class is a row of the table: a class of accesses.
type class int

const (
	// nothing, or only an order of calls; reads of the workspace, system directories, own spill files
	harmless     class = iota
	otherRead          // reads of anything else, and of secrets
	insideWrite        // writes inside the workspace
	outsideWrite       // writes outside it, and to protected names
	unknown            // commands, and unknown effects
	host               // access to a host
	connection         // a command's connection to a host
	opening            // writes of a command to paths that its sandbox protects
)

// verdict is the table of modes: the verdict if no rule applies.
func (c class) verdict(m Mode) tool.Verdict {
	rows := [...][4]tool.Verdict{
		//             plan        default     auto-edit   yolo
		harmless:     {tool.Allow, tool.Allow, tool.Allow, tool.Allow},
		otherRead:    {tool.Ask, tool.Ask, tool.Ask, tool.Allow},
		insideWrite:  {tool.Deny, tool.Ask, tool.Allow, tool.Allow},
		outsideWrite: {tool.Deny, tool.Ask, tool.Ask, tool.Allow},
		unknown:      {tool.Deny, tool.Ask, tool.Ask, tool.Allow},
		host:         {tool.Ask, tool.Ask, tool.Ask, tool.Allow},
		connection:   {tool.Deny, tool.Ask, tool.Ask, tool.Ask}, // of a sandbox, which yolo mode doesn't open
		opening:      {tool.Deny, tool.Ask, tool.Ask, tool.Ask},
	}
	return rows[c][m.column()]
}

// column returns the column of the table; invalid modes have that of plan.
func (m Mode) column() int { return max(0, slices.Index(Modes(), cmp.Or(m, Default))) }

func (m Mode) String() string { return string(cmp.Or(m, Default)) }
