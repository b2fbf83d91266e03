// Package model is the interface to language models: a conversation goes in, a stream of events comes out.
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
// # Messages
//
// A [Message] has a [Role] and [Part]s: [Text], [Thought], [Media], [Call] and [Response]. Messages are plain data and
// survive a round trip through JSON, so that transcripts and recordings can be read back. Data that only one provider
// understands, such as the signature of a thought, is a [Sealed] part.
//
// # Events
//
// A stream yields pieces of [Text] and [Thought] as they arrive, a [Call] when it is complete, the [Usage] of tokens,
// and a [Retry] if the request is sent again. The last event is an [End], with the [Reason] why the model stopped.
//
// # Errors
//
// Every failure has a [Kind], for errors.Is. [Errorf] makes one. [CutShort] reports whether an error ended an answer
// that was valid so far, such as a broken connection.
//
// # Implementations
//
// The package contacts no server and runs no tools. Packages openai, responses, anthropic and gemini implement the APIs
// of providers, package replay plays recordings, and package agent runs tools.
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
	// Stream sends the conversation and yields events as they arrive. The last one is an End; an error ends the stream
	// too. It can be ranged over once. Leaving the loop cancels the request. A Call is yielded when it is complete;
	// only the last one of an answer that ends with Length may be truncated.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Request is one request to a model: the conversation so far and the tools it can call.
type Request struct {
	System    string
	Messages  []Message
	Tools     []tool.Declaration
	MaxTokens int    // of the answer; 0: the server decides
	Effort    string // how long the model thinks, such as "low" or "high"; "": the server decides
	CacheKey  string // the same for all requests of one conversation, and for no other; "": unknown
	By        string // the subagent that asks, as in [tool.Call]; "": none. It isn't sent.
}
