package discover

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMended is how long a message may be that is looked through for mistakes: it is parsed twice.
const maxMended = 1 << 20

// readable mends answers that the SDK could not read, and would give up for one bad entry. A tool in a list becomes
// null, a piece of content a text that says so; a content that is a text becomes a list of it.
func (p *process) readable(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxMended || !bytes.Contains(raw, []byte(`"result"`)) {
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

// repairTools puts null in the place of every tool that cannot be read.
func (p *process) repairTools(result map[string]json.RawMessage) bool {
	return repairEach(result, "tools", func(i int, one json.RawMessage) json.RawMessage {
		err := json.Unmarshal(one, &mcp.Tool{})
		if err == nil {
			return one
		}
		p.log.printf("ignored tool %d, which can't be read: %s", i+1, misread(err))
		return json.RawMessage("null")
	})
}

// repairContent says of every piece of content that cannot be read why.
func (p *process) repairContent(result map[string]json.RawMessage) bool {
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
		p.log.printf("part %d of a response can't be read: %v", i+1, err)
		note, _ := json.Marshal(fmt.Sprintf("[part %d of the response can't be read: %s]", i+1, contentKind(one)))
		return json.RawMessage(`{"type":"text","text":` + string(note) + `}`)
	})
}

// contentKind names what a piece of content is, as far as it says so.
func contentKind(one json.RawMessage) string {
	var m struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(one, &m) != nil || m.Type == "" {
		return "it has no type"
	}
	return fmt.Sprintf("its type is %q", clip(m.Type, 80))
}

// repairEach changes the entries of a list, and reports whether any is another one now.
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
