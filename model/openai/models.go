package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/adze-dev/adze/model"
)

// modelsTimeout bounds the question for a name: it is asked before a person has seen anything.
const modelsTimeout = 30 * time.Second

// firstModel asks the server which models it has.
func (m *Model) firstModel(ctx context.Context) (string, error) {
	again := retries{Retry: m.o.Retry}
	again.Budget = min(again.Budget, modelsTimeout)
	for {
		name, f := m.askModels(ctx)
		if f == nil {
			return name, nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		wait, ok := again.next(f)
		if !ok {
			return "", f.err
		}
		if err := sleep(ctx, wait); err != nil {
			return "", err
		}
	}
}

func (m *Model) askModels(ctx context.Context) (string, *failure) {
	ctx, p := newPatience(ctx, modelsTimeout, modelsTimeout)
	defer p.stop()
	resp, f := m.send(ctx, http.MethodGet, "/models", nil)
	if f != nil {
		return "", f
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(body{resp.Body, ctx, p}, maxEvent))
	if err != nil {
		return "", dialFailure("GET "+m.base.Redacted()+"/models", err)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return "", &failure{err: model.Errorf(model.ErrWire, "invalid model list from %s: %w: %s", m.base.Redacted(), err, excerpt(data))}
	}
	for _, d := range list.Data {
		if d.ID != "" {
			return d.ID, nil
		}
	}
	return "", &failure{err: model.Errorf(model.ErrRejected, "%s has no model loaded\nLoad a model in the server, or set OPENAI_MODEL.", m.base.Redacted())}
}
