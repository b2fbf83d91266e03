package model

import (
	"encoding/json"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Role is the author of a message.
type Role string

// The roles. The system prompt is not a message: see [Request].
const (
	User      Role = "user"      // Text and Media
	Assistant Role = "assistant" // Text, Thought, Call and Sealed
	Tool      Role = "tool"      // Response: one for each call of the assistant's message before it, in order
)

// Message is one message of a conversation.
type Message struct {
	Role  Role
	Parts []Part
}

// A Part is a piece of a message: [Text], [Thought], [Call], [Sealed], [Response] or [Media].
type Part interface{ part() }

// Text is text of a message. As an event it is its next piece.
type Text string

// Thought is reasoning of the model, for front ends. As an event it is its next piece. Adapters don't send it back: if
// a server requires that, the data is in a [Sealed] part.
type Thought string

// Sealed is data that must be sent back to a server unchanged, such as a signature or an encrypted thought. Only the
// adapter that made it understands it. It belongs to the part before it or stands alone. All other code keeps it
// unchanged in its position, and doesn't join the parts around it.
type Sealed struct {
	API   string // of the adapter, such as "anthropic"
	Model string // name of the model
	JSON  json.RawMessage
}

// For reports whether the data can be sent back to this model of this API. Others reject it.
func (s Sealed) For(api, model string) bool { return s.API == api && s.Model == model }

// Call is a tool call of the model. Its Args are as the model sent them, and may be invalid JSON.
type Call struct{ tool.Call }

// Response is the result of a call.
type Response struct {
	ID      string // of the call
	Name    string // of the tool
	Content []tool.Part
	IsError bool
	Denied  bool // the call did not run: a rule or the user denied it
}

// Media is an image, a sound or a document in the user's prompt.
type Media struct{ tool.Media }

func (Text) part()     {}
func (Thought) part()  {}
func (Call) part()     {}
func (Sealed) part()   {}
func (Response) part() {}
func (Media) part()    {}

// Prompt returns a user message with one text.
func Prompt(text string) Message {
	return Message{Role: User, Parts: []Part{Text(text)}}
}

// Text returns the message's text without thoughts, calls and responses.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(string(t))
		}
	}
	return b.String()
}

// Calls returns the message's calls, in order.
func (m Message) Calls() []tool.Call {
	var calls []tool.Call
	for _, p := range m.Parts {
		if c, ok := p.(Call); ok {
			calls = append(calls, c.Call)
		}
	}
	return calls
}

// Text returns the response's text, with a short note in place of each media part.
func (r Response) Text() string { return tool.Result{Content: r.Content}.Text() }
