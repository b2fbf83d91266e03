package headless

import (
	"encoding/json"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// speaking is an answer that is being streamed.
type speaking struct {
	id    string // of its message
	begun bool   // message_start was printed
	index int    // of the current block
	open  string // the type of the current block; "": none is open
}

// streamEvent is one piece of an answer.
type streamEvent struct {
	Type    string  `json:"type"`
	UUID    string  `json:"uuid"`
	Session string  `json:"session_id"`
	Parent  *string `json:"parent_tool_use_id"`
	Event   any     `json:"event"`
}

type messageStart struct {
	Type    string       `json:"type"`
	Message startMessage `json:"message"`
}

type startMessage struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Model   string `json:"model"`
	Content []any  `json:"content"`
}

type blockStart struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Block any    `json:"content_block"`
}

type blockDelta struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta any    `json:"delta"`
}

type blockStop struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type textPiece struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingPiece struct {
	Type     string `json:"type"`
	Thinking string `json:"thinking"`
}

type inputPiece struct {
	Type string `json:"type"`
	JSON string `json:"partial_json"`
}

type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// piece prints the pieces of an answer: message_start, then content_block_start, content_block_delta and
// content_block_stop for each block. The message itself follows, then message_stop.
func (j *Printer) piece(parent *string, e agent.Event) {
	switch e := e.(type) {
	case agent.Began:
		j.partial[key(parent)] = &speaking{id: record.NewID(), index: -1}
	case agent.Said:
		switch part := e.Event.(type) {
		case model.Text:
			s := j.block(parent, "text", func() any { return textPiece{Type: "text"} })
			j.stream(parent, blockDelta{"content_block_delta", s.index, textPiece{"text_delta", string(part)}})
		case model.Thought:
			s := j.block(parent, "thinking", func() any { return thinkingPiece{Type: "thinking"} })
			j.stream(parent, blockDelta{"content_block_delta", s.index, thinkingPiece{"thinking_delta", string(part)}})
		}
	case agent.Called:
		j.closeBlock(parent)
		s := j.block(parent, "tool_use", func() any {
			return toolUse{"tool_use", e.ID, j.toolName(e.Name), json.RawMessage("{}")}
		})
		j.stream(parent, blockDelta{"content_block_delta", s.index,
			inputPiece{"input_json_delta", string(input(e.Args))}})
		j.closeBlock(parent)
	case agent.Answered:
		j.closeBlock(parent)
	case agent.Step:
		j.progress(parent, e.Event)
	}
}

// key returns the call that started a subagent; "" for the first agent.
func key(parent *string) string {
	if parent == nil {
		return ""
	}
	return *parent
}

// speaking returns the answer that is being streamed.
func (j *Printer) speaking(parent *string) *speaking {
	s := j.partial[key(parent)]
	if s == nil {
		s = &speaking{id: record.NewID(), index: -1}
		j.partial[key(parent)] = s
	}
	return s
}

// block returns the answer with an open block of this type.
func (j *Printer) block(parent *string, kind string, empty func() any) *speaking {
	s := j.speaking(parent)
	if s.open == kind {
		return s
	}
	j.closeBlock(parent)
	if !s.begun {
		s.begun = true
		j.stream(parent, messageStart{"message_start", startMessage{s.id, "assistant", j.model, []any{}}})
	}
	s.index++
	s.open = kind
	j.stream(parent, blockStart{"content_block_start", s.index, empty()})
	return s
}

func (j *Printer) closeBlock(parent *string) {
	if s := j.speaking(parent); s.open != "" {
		s.open = ""
		j.stream(parent, blockStop{"content_block_stop", s.index})
	}
}

// messageID returns the ID of the message that an answer becomes: that of its message_start, if there was one.
func (j *Printer) messageID(parent *string) string {
	if j.o.Partial {
		return j.speaking(parent).id
	}
	return record.NewID()
}

// stop ends the pieces of an answer.
func (j *Printer) stop(parent *string) {
	if s := j.partial[key(parent)]; s != nil && s.begun {
		j.stream(parent, map[string]string{"type": "message_stop"})
	}
	delete(j.partial, key(parent))
}

func (j *Printer) stream(parent *string, event any) {
	j.print(streamEvent{"stream_event", record.NewID(), j.session, parent, event})
}

// progress prints the progress of an MCP tool call.
func (j *Printer) progress(parent *string, e tool.Event) {
	p, ok := e.Display.(discover.Progress)
	if e.Stage != tool.Showing || !ok {
		return
	}
	content := map[string]any{"type": "mcp_tool_progress", "progress": p.Progress}
	if p.Total > 0 {
		content["total"] = p.Total
	}
	if p.Message != "" {
		content["message"] = p.Message
	}
	j.stream(parent, map[string]any{"type": "tool_progress", "tool_use_id": e.Request.Call.ID, "content": content})
}
