package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strings"

	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/engine/otlp"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// The bounds that the conventions recommend.
var (
	seconds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokens  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26}
)

// provider returns the provider's name in the conventions.
func provider(apiName string) string {
	return cmp.Or(map[string]string{
		"openai-responses": "openai", "gemini": "gcp.gemini", "vertex-ai": "gcp.vertex_ai",
		"azure-openai": "azure.ai.openai",
	}[apiName], apiName)
}

// Stream sends a request to a model and reports it.
func (r *Run) Stream(ctx context.Context, p models.Place, m model.Model,
	q model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		about := []any{
			"gen_ai.operation.name", "chat", "gen_ai.provider.name", provider(p.API), "gen_ai.request.model", m.Name(),
		}
		if u, err := url.Parse(p.URL); err == nil {
			about = append(about, "server.address", u.Hostname())
		}
		r.mu.Lock()
		s := r.begin(r.next(), r.parent(q.By), "chat "+m.Name(), about[:len(about):len(about)]...)
		s.Kind = otlp.Client
		s.Add("gen_ai.conversation.id", r.session)
		r.message(s, "gen_ai.input.messages", model.User, prompt(q.Messages))
		r.mu.Unlock()
		var a answer
		defer func() { r.answered(s, m.Name(), about, a) }()
		for e, err := range m.Stream(ctx, q) {
			switch e := e.(type) {
			case model.Text:
				a.text = append(a.text, e...)
			case model.Usage:
				a.usage = e
			case model.End:
				a.end = e.Reason
			}
			a.err = err
			if !yield(e, err) {
				return
			}
		}
	}
}

// answer is what a model has answered.
type answer struct {
	text  []byte
	usage model.Usage
	end   model.Reason
	err   error
}

// prompt returns the last message of the user. Arguments and results are in the spans of calls.
func prompt(messages []model.Message) (text string) {
	for _, m := range messages {
		if m.Role == model.User {
			text = m.Text()
		}
	}
	return text
}

// message adds a message to a span, in the format of the conventions, if the user wants texts.
func (r *Run) message(s *otlp.Span, key string, role model.Role, text string) {
	if r.content && text != "" {
		raw, _ := json.Marshal([]any{map[string]any{"role": role, "parts": []any{ // strings
			map[string]any{"type": "text", "content": tool.Cut(r.mask(text), maxText)},
		}}})
		s.Add(key, string(raw))
	}
}

// errorType returns the class of an error of a model.
func errorType(err error) string {
	var known *model.Error
	if errors.As(err, &known) {
		return strings.ReplaceAll(string(known.Kind), " ", "_")
	}
	return "_OTHER"
}

// answered reports the end of an answer.
func (r *Run) answered(s *otlp.Span, name string, about []any, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := a.usage
	r.message(s, "gen_ai.output.messages", model.Assistant, string(a.text))
	s.Add("gen_ai.usage.input_tokens", u.Input, "gen_ai.usage.output_tokens", u.Output,
		"gen_ai.usage.cache_read.input_tokens", u.CacheRead,
		"gen_ai.usage.cache_creation.input_tokens", u.CacheCreation,
		"gen_ai.usage.reasoning.output_tokens", u.Reasoning)
	if p, priced := r.settings.Model.Pricing[name]; priced {
		cost := models.Cost(u, p)
		s.Add("adze.cost", cost)
		r.queue.Record("adze.cost", "{USD}", nil, cost, about...)
	}
	about = about[:len(about):len(about)]
	for kind, n := range map[string]int{"input": u.Input, "output": u.Output} {
		of := append(about, "gen_ai.token.type", kind)
		r.queue.Record("gen_ai.client.token.usage", "{token}", tokens, float64(n), of...)
	}
	if a.err != nil {
		s.Fail(errorType(a.err))
		about = append(about, "error.type", errorType(a.err))
	} else {
		s.Add("gen_ai.response.finish_reasons", []string{string(a.end)})
	}
	r.end(s.SpanID)
	r.queue.Record("gen_ai.client.operation.duration", "s", seconds, float64(s.EndNanos-s.StartNanos)/1e9, about...)
}
