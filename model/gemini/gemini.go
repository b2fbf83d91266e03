// Package gemini implements the Gemini API of Google: streamGenerateContent with server-sent events.
//
//	m, err := gemini.Open(ctx, gemini.Options{Key: key, Model: "gemini-2.5-pro"})
//	…
//	defer m.Close()
//	for e, err := range m.Stream(ctx, model.Request{Messages: messages}) { … }
//
// The model signs its thoughts. A signature is sent back in the part it came in; calls from other models get one that
// turns the server's check off. An answer that breaks off is an error, never a shorter answer.
package gemini

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/internal/sealed"
)

// Name is the API's name.
const Name = "gemini"

// DefaultBaseURL is Google's own server.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Options configure a model. The zero value, with a Key and a Model, is for Google's own server.
type Options = api.Options

var service = api.API{
	Name: Name, BaseURL: DefaultBaseURL, Version: "/v1beta", Models: "/models?pageSize=1000",
	ModelVariable: "GEMINI_MODEL",
	Header:        api.KeyHeader("X-Goog-Api-Key", ""),
}

// Model is a model behind a server with the Gemini API.
type Model struct {
	client *api.Client
	name   string
	kept   api.Kept

	mu       sync.Mutex
	quirks   quirks
	rejected sealed.Rejected // sealed data whose signature the server rejected
}

var _ model.Model = (*Model)(nil)

// Open checks the options and, if they name no model, requests the server's list and takes its first one. Otherwise it
// sends nothing.
func Open(ctx context.Context, o Options) (*Model, error) {
	client, name, err := api.Open(ctx, o, service)
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, name: name, rejected: sealed.Rejected{}}
	m.quirks.budgets = strings.Contains(name, "gemini-2") // saves a rejected request
	return m, nil
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
		Path:   m.path() + ":streamGenerateContent?alt=sse",
		Encode: func() ([]byte, error) { return m.encode(r) },
		Merged: true,
		Decode: func(out *api.Output) api.Decoder { return &answer{out: out, name: m.name} },
		Effort: r.Effort,
		Learn:  func(f *api.Failure) bool { return m.learn(f, r) },
	})
}

// path returns the model's path. Its name may include the collection, as in the server's list.
func (m *Model) path() string {
	for _, collection := range []string{"models/", "tunedModels/"} {
		if strings.HasPrefix(m.name, collection) {
			return "/" + m.name
		}
	}
	return "/models/" + m.name
}
