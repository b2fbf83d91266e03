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

type initializeResult struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    agentCapabilities `json:"agentCapabilities"`
	AgentInfo       implementation    `json:"agentInfo"`
	AuthMethods     []authMethod      `json:"authMethods"`
}

type agentCapabilities struct {
	LoadSession bool                `json:"loadSession"`
	Prompt      promptCapabilities  `json:"promptCapabilities"`
	MCP         mcpCapabilities     `json:"mcpCapabilities"`
	Session     map[string]struct{} `json:"sessionCapabilities"`
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type mcpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
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

type sessionResult struct {
	SessionID string         `json:"sessionId,omitempty"`
	Modes     modeState      `json:"modes"`
	Options   []configOption `json:"configOptions"`
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

type modeState struct {
	Current   string        `json:"currentModeId"`
	Available []sessionMode `json:"availableModes"`
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

type sessionInfo struct {
	SessionID string   `json:"sessionId"`
	CWD       string   `json:"cwd"`
	AddDirs   []string `json:"additionalDirectories,omitempty"`
	Title     string   `json:"title,omitempty"`
	UpdatedAt string   `json:"updatedAt"`
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

// The updates of session/update; Kind is the name in the protocol.
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
	planUpdate struct {
		Kind    string      `json:"sessionUpdate"`
		Entries []planEntry `json:"entries"`
	}
	commandsUpdate struct {
		Kind     string         `json:"sessionUpdate"`
		Commands []slashCommand `json:"availableCommands"`
	}
	modeUpdate struct {
		Kind string `json:"sessionUpdate"`
		Mode string `json:"currentModeId"`
	}
	optionsUpdate struct {
		Kind    string         `json:"sessionUpdate"`
		Options []configOption `json:"configOptions"`
	}
	infoUpdate struct {
		Kind    string `json:"sessionUpdate"`
		Title   string `json:"title"`
		Updated string `json:"updatedAt"`
	}
	usageUpdate struct {
		Kind string `json:"sessionUpdate"`
		Used int    `json:"used"`
		Size int    `json:"size"`
		Cost *cost  `json:"cost,omitempty"`
	}
	notice struct {
		Kind     string `json:"sessionUpdate"`
		Severity string `json:"severity"`
		Title    string `json:"title"`
		About    string `json:"description,omitempty"`
	}
	compactionUpdate struct {
		Kind    string    `json:"sessionUpdate"`
		ID      string    `json:"compactionId"`
		Status  string    `json:"status"`
		Summary []content `json:"summary,omitempty"`
		Error   string    `json:"error,omitempty"`
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

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type slashCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}
