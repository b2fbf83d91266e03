package model

import (
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Role is the author of a message.
type Role string

// The roles. The system prompt is not a message: see [Request].
const (
	User      Role = "user"      // Text and Media
	Assistant Role = "assistant" // Text, Thought and Call
	Tool      Role = "tool"      // Response: one for each call of the assistant's message before it, in order
)

// Message is one message of a conversation.
type Message struct {
	Role  Role
	Parts []Part
}

// A Part is a piece of a message: [Text], [Thought], [Call], [Response] or [Media].
type Part interface{ part() }

// Text is text of a message. As an event it is the next piece of it.
type Text string

// Thought is reasoning of the model. As an event it is the next piece of it. Front ends show it; an adapter sends it
// back only to the server that sent it, under the same name: some servers reject a call whose thought is missing, and
// others reject a field that they don't know.
type Thought struct {
	Text   string
	Server string // address of the server that takes it back; "" for none
	Field  string // name that the server gave it, such as "reasoning_content"
}

// Joins reports whether next continues t: both came from the same place.
func (t Thought) Joins(next Thought) bool { return t.Server == next.Server && t.Field == next.Field }

// Call is a tool call of the model. Its Args are as the model sent them, and may be invalid JSON.
type Call struct{ tool.Call }

// Response is the result of a call.
type Response struct {
	ID      string // of the call
	Name    string // of the tool
	Content []tool.Part
	IsError bool
}

// Media is an image, a sound or a document in the user's prompt.
type Media struct{ tool.Media }

func (Text) part()     {}
func (Thought) part()  {}
func (Call) part()     {}
func (Response) part() {}
func (Media) part()    {}

// Prompt returns a user message with one text.
func Prompt(text string) Message {
	return Message{Role: User, Parts: []Part{Text(text)}}
}

// Text is the message's text without thoughts, calls and responses.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(string(t))
		}
	}
	return b.String()
}

// Calls are the message's calls, in order.
func (m Message) Calls() []tool.Call {
	var calls []tool.Call
	for _, p := range m.Parts {
		if c, ok := p.(Call); ok {
			calls = append(calls, c.Call)
		}
	}
	return calls
}

// Text is the response's text, with a short note in place of each media part.
func (r Response) Text() string { return tool.Result{Content: r.Content}.Text() }
