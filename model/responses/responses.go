// Package responses implements the Responses API of OpenAI, and of the servers that offer it too.
//
//	m, err := responses.Open(ctx, responses.Options{Key: key, Model: "gpt-5.5"})
//	…
//	defer m.Close()
//	for e, err := range m.Stream(ctx, model.Request{Messages: messages}) { … }
//
// The server stores nothing: each request has the whole conversation, with the model's reasoning as the server
// encrypted it. If the server rejects the reasoning, the reasoning of the conversation so far is removed, and a
// [model.Retry] reports it.
package responses

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/internal/sealed"
)

// Name is the API's name.
const Name = "openai-responses"

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options configure a model. The zero value, with a Key and a Model, is for OpenAI's own server.
type Options = api.Options

var service = api.API{
	Name: Name, BaseURL: DefaultBaseURL, Version: "/v1", TryPlain: true, Models: "/models",
	ModelVariable: "OPENAI_MODEL",
	NextByte:      300 * time.Second, // the server is silent while the model thinks
	Header:        api.KeyHeader("Authorization", "Bearer "),
}

// Model is a model behind a server with the Responses API.
type Model struct {
	client *api.Client
	name   string
	kept   api.Kept

	mu       sync.Mutex
	quirks   quirks
	rejected sealed.Rejected // reasoning that the server rejects
}

var _ model.Model = (*Model)(nil)

// Open checks the options and, if they name no model, requests the server's list and takes its first one. Otherwise it
// sends nothing.
func Open(ctx context.Context, o Options) (*Model, error) {
	client, name, err := api.Open(ctx, o, service)
	if err != nil {
		return nil, err
	}
	return &Model{client: client, name: name, rejected: sealed.Rejected{}}, nil
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
		Path:   "/responses",
		Encode: func() ([]byte, error) { return m.encode(r) },
		Merged: true,
		Decode: func(out *api.Output) api.Decoder { return newAnswer(out, m.name) },
		Effort: r.Effort,
		Learn:  func(f *api.Failure) bool { return m.learn(f, r.Messages) },
	})
}
