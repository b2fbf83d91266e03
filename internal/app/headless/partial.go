package headless

import (
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

type blockEvent struct {
	Type  string    `json:"type"`
	Index int       `json:"index"`
	Block any       `json:"content_block,omitempty"`
	Delta *addition `json:"delta,omitempty"`
}

// addition is what a block gets; one of the texts. Maps would take a third of the time of a piece.
type addition struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Input    string `json:"partial_json,omitempty"`
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
			j.text(parent, "text", addition{Type: "text_delta", Text: string(part)})
		case model.Thought:
			j.text(parent, "thinking", addition{Type: "thinking_delta", Thinking: string(part)})
		}
	case agent.Called:
		j.closeBlock(parent)
		j.openBlock(parent, "tool_use", map[string]any{"id": e.ID, "name": j.toolName(e.Name), "input": struct{}{}})
		j.add(parent, addition{Type: "input_json_delta", Input: string(input(e.Args))})
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

// text adds to a block of text, which it opens unless it is open.
func (j *Printer) text(parent *string, kind string, a addition) {
	if j.speaking(parent).open != kind {
		j.closeBlock(parent)
		j.openBlock(parent, kind, map[string]any{kind: ""})
	}
	j.add(parent, a)
}

// openBlock begins a block of a type.
func (j *Printer) openBlock(parent *string, kind string, block map[string]any) {
	s := j.speaking(parent)
	if !s.begun {
		s.begun = true
		j.stream(parent, map[string]any{"type": "message_start", "message": map[string]any{
			"id": s.id, "role": "assistant", "model": j.model, "content": []any{},
		}})
	}
	s.index++
	s.open = kind
	block["type"] = kind
	j.stream(parent, blockEvent{Type: "content_block_start", Index: s.index, Block: block})
}

// add adds to the open block.
func (j *Printer) add(parent *string, a addition) {
	j.stream(parent, blockEvent{Type: "content_block_delta", Index: j.speaking(parent).index, Delta: &a})
}

func (j *Printer) closeBlock(parent *string) {
	if s := j.speaking(parent); s.open != "" {
		s.open = ""
		j.stream(parent, blockEvent{Type: "content_block_stop", Index: s.index})
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
