package acp

import "encoding/json"

// The parts of the protocol's schema that are used here, with its names.

type initializeParams struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
}

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Session struct {
		Compaction *struct{} `json:"compaction"`
		Notices    *struct{} `json:"notices"`
	} `json:"session"`
	Elicitation struct {
		Form *struct{} `json:"form"`
	} `json:"elicitation"`
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

type listParams struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

// sessionID is the only parameter of some requests.
type sessionID struct {
	SessionID string `json:"sessionId"`
}

type promptParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

type modeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

type optionParams struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

// sessionParams are the parameters of session/new, session/load and session/resume.
type sessionParams struct {
	SessionID string      `json:"sessionId"`
	CWD       string      `json:"cwd"`
	AddDirs   []string    `json:"additionalDirectories"`
	Servers   []mcpServer `json:"mcpServers"`
}

type mcpServer struct {
	Type    string      `json:"type"`
	Name    string      `json:"name"`
	Command string      `json:"command"`
	Args    []string    `json:"args"`
	Env     []nameValue `json:"env"`
	URL     string      `json:"url"`
	Headers []nameValue `json:"headers"`
}

type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// promptResult is the response to session/prompt. Usage is not yet in the protocol's stable part.
type promptResult struct {
	Reason string `json:"stopReason"`
	Usage  *usage `json:"usage,omitempty"`
}

type usage struct {
	Total       int `json:"totalTokens"`
	Input       int `json:"inputTokens"`
	Output      int `json:"outputTokens"`
	CachedRead  int `json:"cachedReadTokens,omitempty"`
	CachedWrite int `json:"cachedWriteTokens,omitempty"`
}

type sessionMode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type configOption struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Category string        `json:"category"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Options  []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// named returns values that are their own names.
func named(values []string) (out []configValue) {
	for _, v := range values {
		out = append(out, configValue{Value: v, Name: v})
	}
	return out
}

type sessionInfo struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt"`
}

// content is a content block. Its fields depend on Type.
type content struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"`
}

func textContent(text string) content { return content{Type: "text", Text: &text} }

// update is an update of session/update that is made in one place, with the protocol's names; sessionUpdate is its
// kind.
type update map[string]any

// Updates that are made often; Kind is the name in the protocol.
type (
	chunk struct {
		Kind    string  `json:"sessionUpdate"` // user_message_chunk, agent_message_chunk, agent_thought_chunk
		Content content `json:"content"`
		ID      string  `json:"messageId,omitempty"`
	}
	callUpdate struct {
		Kind string `json:"sessionUpdate"` // tool_call, tool_call_update
		toolCall
	}
)

// toolCall is a call, or the changed fields of it.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Content   []toolContent   `json:"content,omitzero"` // empty: what was shown before is replaced by nothing
	Locations []location      `json:"locations,omitempty"`
	Input     json.RawMessage `json:"rawInput,omitempty"`
	Output    any             `json:"rawOutput,omitempty"`
	Title     string          `json:"title,omitempty"`
	Status    string          `json:"status,omitempty"`
}

type toolContent struct {
	Type    string   `json:"type"`
	Content *content `json:"content,omitempty"`
	Path    string   `json:"path,omitempty"`
	OldText *string  `json:"oldText,omitempty"`
	NewText *string  `json:"newText,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}
