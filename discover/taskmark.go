package discover

import (
	"bytes"
	"encoding/json"
)

// taskKey is where marked notes, in a tool's _meta, that the tool can only be called as a task.
const taskKey = "adze.dev/taskSupport"

// marked moves a tool's execution.taskSupport, of which the SDK knows nothing, to where the SDK passes it on. Tools that
// can only be called as tasks cannot be called here, so they are not offered.
func marked(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"taskSupport"`)) || !bytes.Contains(raw, []byte(`"required"`)) {
		return raw
	}
	var msg map[string]json.RawMessage
	var result map[string]json.RawMessage
	var tools []map[string]json.RawMessage
	if json.Unmarshal(raw, &msg) != nil || json.Unmarshal(msg["result"], &result) != nil || json.Unmarshal(result["tools"], &tools) != nil {
		return raw
	}
	for _, t := range tools {
		var execution struct {
			TaskSupport string `json:"taskSupport"`
		}
		if json.Unmarshal(t["execution"], &execution) != nil || execution.TaskSupport != "required" {
			continue
		}
		meta := map[string]any{}
		if t["_meta"] != nil && json.Unmarshal(t["_meta"], &meta) != nil {
			continue
		}
		meta[taskKey] = "required"
		if m, err := json.Marshal(meta); err == nil {
			t["_meta"] = m
		}
	}
	var err error
	if result["tools"], err = json.Marshal(tools); err != nil {
		return raw
	}
	b, err := json.Marshal(result)
	if err != nil {
		return raw
	}
	msg["result"] = b
	if b, err = json.Marshal(msg); err != nil {
		return raw
	}
	return b
}
