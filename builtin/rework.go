package builtin

import (
	"encoding/json"

	"github.com/adze-dev/adze/tool"
)

// Rework returns the arguments with which the call of r would write content to its file: for a user who edits the proposed
// text ([tool.FileDiff].New) before approving it, through [tool.Decision].Args. It is false for a call
// that has no such arguments.
func Rework(r tool.Request, content string) (json.RawMessage, bool) {
	diff, ok := r.Confirm.(tool.FileDiff)
	if !ok || r.Declaration.Origin != "" {
		return nil, false
	}
	var args map[string]any
	switch r.Declaration.Name {
	case "write_file":
		args = map[string]any{"file_path": diff.Path, "content": content}
	case "edit":
		old := ""
		if diff.Original != nil {
			old = *diff.Original
		}
		args = map[string]any{"file_path": diff.Path, "old_string": old, "new_string": content}
	default:
		return nil, false
	}
	raw, err := json.Marshal(args)
	return raw, err == nil
}
