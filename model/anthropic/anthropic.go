// Package anthropic implements the Messages API of Anthropic, and of the servers that offer it too.
//
//	m, err := anthropic.Open(ctx, anthropic.Options{Key: key, Model: "claude-opus-4-7"})
//	…
//	defer m.Close()
//	for e, err := range m.Stream(ctx, model.Request{Messages: messages}) { … }
//
// Models think before they answer. Their thinking is signed: each block is sent back unchanged, in its position, to the
// model that wrote it. If the server rejects a signature, the thinking of the conversation so far is removed, and a
// [model.Retry] reports it.
//
// Caching needs no key: the request marks where the server may cache it. So [model.Request.CacheKey] isn't sent.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/internal/sealed"
)

// Name is the API's name.
const Name = "anthropic"

// DefaultBaseURL is Anthropic's own server.
const DefaultBaseURL = "https://api.anthropic.com"

// version is the version of the API, which each request names.
const version = "2023-06-01"

// Options configure a model. The zero value, with a Key and a Model, is for Anthropic's own server.
type Options = api.Options

var service = api.API{
	Name: Name, BaseURL: DefaultBaseURL, Version: "/v1", Models: "/models?limit=1000", ModelVariable: "ANTHROPIC_MODEL",
	Header: func(key string) http.Header {
		h := api.KeyHeader("X-Api-Key", "")(key)
		h.Set("Anthropic-Version", version)
		return h
	},
}

// Model is a model behind a server with the Messages API.
type Model struct {
	client *api.Client
	name   string
	kept   api.Kept

	mu       sync.Mutex
	quirks   quirks
	rejected sealed.Rejected // sealed data that the server rejects
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
	s := &sending{Request: r}
	return m.client.Stream(ctx, api.Exchange{
		Path:   "/messages",
		Encode: func() ([]byte, error) { return m.encode(s) },
		Merged: true,
		Decode: func(out *api.Output) api.Decoder { return newAnswer(out, m.name) },
		Effort: r.Effort,
		Learn:  func(f *api.Failure) bool { return m.learn(f, s) },
	})
}
