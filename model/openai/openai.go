// Package openai implements the chat completions API of OpenAI and of the many servers that offer it too: Ollama,
// llama.cpp, LM Studio, vLLM, OpenRouter, DashScope, DeepSeek and others.
//
//	m, err := openai.Open(ctx, openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//	…
//	defer m.Close()
//	for e, err := range m.Stream(ctx, model.Request{Messages: messages}) { … }
//
// Those servers differ in every field, so their answers are read leniently: pieces of calls without index or ID, a
// whole answer where a stream was requested, streams without their last event. An answer that breaks off is an error,
// never a shorter answer; the calls that were complete by then are emitted before the error.
package openai

import (
	"context"
	"iter"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// Name is the API's name.
const Name = "openai"

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options configure a model. The zero value, with a Key and a Model, is for OpenAI's own server.
type Options = api.Options

var service = api.API{
	Name: Name, BaseURL: DefaultBaseURL, Version: "/v1", TryPlain: true, Models: "/models",
	ModelVariable: "OPENAI_MODEL",
	Header:        api.KeyHeader("Authorization", "Bearer "),
}

// Model is a model behind a server with the chat completions API.
type Model struct {
	client *api.Client
	name   string
	kept   api.Kept

	mu     sync.Mutex
	quirks quirks
}

var _ model.Model = (*Model)(nil)

// Open checks the options and, if they name no model, requests the server's list and takes its first one. Otherwise it
// sends nothing.
func Open(ctx context.Context, o Options) (*Model, error) {
	client, name, err := api.Open(ctx, o, service)
	if err != nil {
		return nil, err
	}
	return &Model{client: client, name: name}, nil
}

// Name returns the model's name.
func (m *Model) Name() string { return m.name }

// Models requests the list of the server's models.
func (m *Model) Models(ctx context.Context) ([]api.Info, error) { return m.client.Models(ctx) }

// Close closes idle connections.
func (m *Model) Close() { m.client.Close() }

// Stream sends the conversation and yields the answer as it arrives.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return m.client.Stream(ctx, api.Exchange{
		Path:   "/chat/completions",
		Encode: func() ([]byte, error) { return m.encode(r) },
		Merged: true,
		Decode: func(out *api.Output) api.Decoder {
			return &answer{
				out: out, name: m.name, written: newWritten(r.Tools), thought: sealed{Server: m.client.Address()},
			}
		},
		Effort: r.Effort,
		Learn:  m.learn,
	})
}
