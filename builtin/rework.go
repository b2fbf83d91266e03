package builtin

import (
	"encoding/json"

	"github.com/adze-dev/adze/tool"
)

// Rework returns the arguments with which the call of r would use a text that the user edited before approving it, through
// [tool.Decision].Args: the content of a file ([tool.FileDiff].New) or a command ([tool.Command].Line). It is false for a
// call that has no such arguments.
func Rework(r tool.Request, text string) (json.RawMessage, bool) {
	if r.Declaration.Origin != "" {
		return nil, false
	}
	args := map[string]any{}
	switch shown := r.Confirm.(type) {
	case tool.Command:
		if r.MustAsk || json.Unmarshal(r.Call.Args, &args) != nil || args["command"] == nil {
			return nil, false
		}
		args["command"] = text
	case tool.FileDiff:
		args["file_path"] = shown.Path
		switch r.Declaration.Name {
		case "write_file":
			args["content"] = text
		case "edit":
			args["old_string"], args["new_string"] = "", text
			if shown.Original != nil {
				args["old_string"] = *shown.Original
			}
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	raw, err := json.Marshal(args)
	return raw, err == nil
}

// FirstLine is the line, from 1, that the call of r reads a file from; 0: it reads the file from its start, or no file.
func FirstLine(r tool.Request) int {
	var args readFileArgs
	if r.Declaration.Origin != "" || r.Declaration.Kind != tool.Read || json.Unmarshal(r.Call.Args, &args) != nil || args.Offset <= 0 {
		return 0
	}
	return args.Offset + 1
}
