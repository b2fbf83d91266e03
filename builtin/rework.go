package builtin

import (
	"encoding/json"

	"github.com/adze-dev/adze/tool"
)

// rework returns the arguments of a call whose text the user edited.
func rework[A any](args A) json.RawMessage {
	raw, _ := json.Marshal(args) // A has only strings and numbers
	return raw
}

// FirstLine returns the line, from 1, that r starts reading at; 0: it reads from the start, or doesn't read a file.
func FirstLine(r tool.Request) int {
	var args readFileArgs
	if r.Declaration.Origin != "" || r.Declaration.Kind != tool.Read || json.Unmarshal(r.Call.Args, &args) != nil ||
		args.Offset <= 0 {
		return 0
	}
	return args.Offset + 1
}
