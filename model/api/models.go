package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/model"
)

// Info describes a model that a server has.
type Info struct {
	ID            string
	ContextWindow int // tokens; 0: unknown
}

// modelsTimeout bounds the request for the list, which is sent at startup.
const modelsTimeout = 30 * time.Second

// Models requests the list of the server's models.
func (c *Client) Models(ctx context.Context) ([]Info, error) {
	again := retries{Retry: c.Options.Retry}
	again.Budget = min(again.Budget, modelsTimeout)
	for {
		list, f := c.askModels(ctx)
		if f == nil {
			return list, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.nextPrefix(f) {
			continue
		}
		wait, ok := again.next(f)
		if !ok {
			return nil, c.hidden(f.Err)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// Open returns a client and the name of its model: see [New] and [Client.ModelName].
func Open(ctx context.Context, o Options, a API) (*Client, string, error) {
	c, err := New(o, a)
	if err != nil {
		return nil, "", err
	}
	name, err := c.ModelName(ctx)
	if err != nil {
		c.Close()
		return nil, "", err
	}
	return c, name, nil
}

// KeyHeader returns a function for [API.Header] that sends the key, if there is one, in this header.
func KeyHeader(name, prefix string) func(key string) http.Header {
	return func(key string) http.Header {
		h := http.Header{}
		if key != "" {
			h.Set(name, prefix+key)
		}
		return h
	}
}

// ModelName returns the name in the options or, if they have none, that of the first model in the server's list.
func (c *Client) ModelName(ctx context.Context) (string, error) {
	if c.Options.Model != "" {
		return c.Options.Model, nil
	}
	if strings.TrimSpace(c.Options.BaseURL) == "" {
		return "", model.Errorf(model.ErrRejected, "no model name set for %s\nSet %s.", c.API.BaseURL,
			c.API.ModelVariable)
	}
	list, err := c.Models(ctx)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", model.Errorf(model.ErrRejected, "%s lists no models\nLoad a model in the server, or set %s.",
			c.Address(), c.API.ModelVariable)
	}
	return list[0].ID, nil
}

func (c *Client) askModels(ctx context.Context) ([]Info, *Failure) {
	ctx, p := newPatience(ctx, modelsTimeout, modelsTimeout)
	defer p.stop()
	prefix := c.currentPrefix()
	path := c.prefixes[prefix] + c.API.Models
	resp, f := c.send(ctx, http.MethodGet, path, nil)
	if f != nil {
		f.prefix = prefix
		return nil, f
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(unzipped(bufio.NewReader(body{resp.Body, ctx, p})), maxEvent))
	if err != nil {
		return nil, c.dialFailure("GET "+c.Address()+path, err)
	}
	list, err := readModels(data)
	if err != nil {
		err = &model.Error{Kind: model.ErrWire, Err: fmt.Errorf("invalid model list from %s: %w: %s", c.Address(), err,
			Excerpt(data))}
		if strings.HasPrefix(strings.TrimSpace(string(data)), "<") {
			err = errWebPage
		}
		return nil, &Failure{Err: err, prefix: prefix}
	}
	return list, nil
}

// readModels reads {"data":[{"id":…}]}, or Gemini's {"models":[{"name":"models/…"}]}.
func readModels(data []byte) ([]Info, error) {
	var list struct {
		Data []struct {
			ID            string `json:"id"`
			ContextLength int    `json:"context_length"`   // OpenRouter and others
			ContextWindow int    `json:"context_window"`   // Groq
			MaxModelLen   int    `json:"max_model_len"`    // vLLM
			MaxInput      int    `json:"max_input_tokens"` // Anthropic
			Meta          struct {
				Context int `json:"n_ctx_train"` // llama.cpp
			} `json:"meta"`
		} `json:"data"`
		Models []struct {
			Name    string   `json:"name"`
			Limit   int      `json:"inputTokenLimit"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if !IsNull(list.Error) {
		return nil, errors.New(readError(data).Message)
	}
	var out []Info
	for _, d := range list.Data {
		if d.ID != "" {
			out = append(out, Info{d.ID, cmp.Or(d.ContextLength, d.ContextWindow, d.MaxModelLen, d.MaxInput,
				d.Meta.Context)})
		}
	}
	if len(out) > 0 {
		return out, nil // llama.cpp has both lists
	}
	for _, m := range list.Models {
		name := strings.TrimPrefix(m.Name, "models/")
		if name != "" && (len(m.Methods) == 0 || slices.Contains(m.Methods, "generateContent")) {
			out = append(out, Info{name, m.Limit})
		}
	}
	return out, nil
}

// nameTimeout bounds the request for the names in an error.
const nameTimeout = 5 * time.Second

// withNames adds the server's names to an error about an unknown model.
func (c *Client) withNames(ctx context.Context, err error) error {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrUnknownModel || c.API.Models == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	list, f := c.askModels(ctx)
	if f != nil || len(list) == 0 || slices.ContainsFunc(list, func(i Info) bool { return i.ID == c.Options.Model }) {
		return withNextStep(err, "Check the model name.")
	}
	if near := Close(c.Options.Model, list); len(near) > 0 {
		return withNextStep(err, "Did you mean "+strings.Join(near, ", ")+"?")
	}
	return withNextStep(err, "Available: "+Names(list)+".")
}

// maxNames is the maximum number of models in an error.
const maxNames = 12

// Names lists models for an error text.
func Names(list []Info) string {
	var names []string
	for _, m := range list {
		names = append(names, m.ID)
	}
	return humanize.List(names, maxNames)
}

// Close returns at most three names similar to one that the server doesn't have, the closest first.
func Close(name string, list []Info) []string {
	type near struct {
		id       string
		distance int
	}
	name = strings.ToLower(name)
	var found []near
	for _, m := range list {
		id := strings.ToLower(m.ID)
		d := nearest.Distance(name, id)
		if len(name) > 3 && strings.Contains(id, name) {
			d = 1
		}
		if d <= max(len(name)/4, 1) {
			found = append(found, near{m.ID, d})
		}
	}
	sorted.By(found, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, f.id)
	}
	return out
}
