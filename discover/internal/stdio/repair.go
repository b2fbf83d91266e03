package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// maxRepaired is the maximum length of a message that is checked for errors: it is parsed twice.
const maxRepaired = 1 << 20

// readable repairs responses with entries that the SDK can't parse, because it would drop the whole response. Such a
// tool becomes null, and such a piece of content a text about the error; content that is a string becomes a list with
// it.
func (p *Process) readable(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxRepaired || !bytes.Contains(raw, []byte(`"result"`)) {
		return raw
	}
	var msg struct {
		Version json.RawMessage            `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Result  map[string]json.RawMessage `json:"result"`
	}
	if json.Unmarshal(raw, &msg) != nil || msg.Result == nil {
		return raw
	}
	repaired := p.repairTools(msg.Result)
	if !p.repairContent(msg.Result) && !repaired {
		return raw
	}
	out, err := json.Marshal(msg)
	if err != nil {
		return raw
	}
	return out
}

// repairTools replaces invalid tools by null.
func (p *Process) repairTools(result map[string]json.RawMessage) bool {
	return repairEach(result, "tools", func(i int, one json.RawMessage) json.RawMessage {
		err := json.Unmarshal(one, &mcp.Tool{})
		if err == nil {
			return one
		}
		p.log.Printf("ignored tool %d, which can't be read: %s", i+1, clean.JSONError(err))
		return json.RawMessage("null")
	})
}

// repairContent replaces invalid pieces of content by a text with the error.
func (p *Process) repairContent(result map[string]json.RawMessage) bool {
	var text string
	if json.Unmarshal(result["content"], &text) == nil && len(result["content"]) > 0 && result["content"][0] == '"' {
		result["content"] = json.RawMessage(`[{"type":"text","text":` + string(result["content"]) + `}]`)
		return true
	}
	return repairEach(result, "content", func(i int, one json.RawMessage) json.RawMessage {
		var probe mcp.CallToolResult
		whole := append(append([]byte(`{"content":[`), one...), `]}`...)
		err := json.Unmarshal(whole, &probe)
		if err == nil {
			return one
		}
		p.log.Printf("part %d of a response can't be read: %v", i+1, err)
		note, _ := json.Marshal(fmt.Sprintf("[part %d of the response can't be read: %s]", i+1, contentKind(one)))
		return json.RawMessage(`{"type":"text","text":` + string(note) + `}`)
	})
}

// contentKind returns the type of a piece of content, if it has one.
func contentKind(one json.RawMessage) string {
	var m struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(one, &m) != nil || m.Type == "" {
		return "it has no type"
	}
	return fmt.Sprintf("its type is %q", humanize.Shorten(m.Type, 80))
}

// repairEach changes the entries of a list, and reports whether any was changed.
func repairEach(result map[string]json.RawMessage, key string, repair func(int, json.RawMessage) json.RawMessage) bool {
	var entries []json.RawMessage
	if len(result[key]) == 0 || json.Unmarshal(result[key], &entries) != nil {
		return false
	}
	repaired := false
	for i, one := range entries {
		if other := repair(i, one); !bytes.Equal(one, other) {
			entries[i], repaired = other, true
		}
	}
	if repaired {
		list, err := json.Marshal(entries)
		if err != nil {
			return false
		}
		result[key] = list
	}
	return repaired
}

// TaskKey is the key in a tool's _meta by which marked notes that the tool can only be called as a task.
const TaskKey = "adze.dev/taskSupport"

// marked moves a tool's execution.taskSupport, which the SDK doesn't know, to _meta, which the SDK passes on. Tools
// that can only be called as tasks are not supported, so they are not offered.
func marked(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"taskSupport"`)) || !bytes.Contains(raw, []byte(`"required"`)) {
		return raw
	}
	var msg map[string]json.RawMessage
	var result map[string]json.RawMessage
	var tools []map[string]json.RawMessage
	if json.Unmarshal(raw, &msg) != nil || json.Unmarshal(msg["result"], &result) != nil ||
		json.Unmarshal(result["tools"], &tools) != nil {
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
		meta[TaskKey] = "required"
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
