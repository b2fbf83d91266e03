// Package model is what Adze needs of a language model: a conversation goes in, a stream of events comes out.
//
//	for e, err := range m.Stream(ctx, model.Request{Messages: []model.Message{model.Prompt("hello")}}) {
//		if err != nil {
//			return err // errors.Is(err, model.ErrCredentials), …
//		}
//		if t, ok := e.(model.Text); ok {
//			fmt.Print(t)
//		}
//	}
//
// Messages are plain data and keep their shape in JSON, so that a transcript or a recording can be read back. The
// package speaks to no server: that is for model/openai and its siblings, and model/replay plays recordings. It runs
// no tools: that is package agent.
package model

import (
	"context"
	"iter"

	"github.com/adze-dev/adze/tool"
)

// A Model answers a conversation.
type Model interface {
	// Name is the model's own name, as its server knows it.
	Name() string
	// Stream sends the conversation and yields events as they arrive. The last one is an End; an error ends the
	// stream too. It may be ranged over once. Breaking off the range ends the request. A Call is yielded when it is
	// complete; only the last one of an answer that ends with Length may lack its end.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Request is one turn's question: all that was said so far, and what the model may call.
type Request struct {
	System    string
	Messages  []Message
	Tools     []tool.Declaration
	MaxTokens int // of the answer; 0: as many as the server lets it
}
