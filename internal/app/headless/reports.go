package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/model"
)

func (h *host) supportedCommands(context.Context, json.RawMessage) (response, error) {
	names := h.out.o.Commands.Names()
	slices.Sort(names)
	return response{"commands": names}, nil
}

func (h *host) serverStatus(context.Context, json.RawMessage) (response, error) {
	status := map[string]string{}
	errs := map[string]string{}
	for _, st := range h.session.Outside.List() {
		status[st.Alias] = serverStatus(st)
		if st.Err != nil {
			errs[st.Alias] = st.Err.Error()
		}
	}
	return response{"status": status, "errors": errs}, nil
}

// serverList is serverStatus for Claude's SDK.
func (h *host) serverList(context.Context, json.RawMessage) (response, error) {
	list := []map[string]any{}
	for _, st := range h.session.Outside.List() {
		one := map[string]any{"name": st.Alias, "status": serverStatus(st)}
		switch {
		case st.Err != nil:
			one["status"], one["error"] = "failed", st.Err.Error()
		case one["status"] == "connecting":
			one["status"] = "pending"
		}
		list = append(list, one)
	}
	return response{"mcpServers": list}, nil
}

// serverMessage handles a message that a server in the program sends by itself.
func (h *host) serverMessage(_ context.Context, m mcpMessage) (response, error) {
	if !isObject(m.Message) {
		return nil, errors.New("expected server_name and message")
	}
	h.mu.Lock()
	l := h.servers[m.Server]
	h.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("server_name: unknown MCP server %q", m.Server)
	}
	l.add(m.Message)
	return nil, nil
}

func (h *host) availableModels(ctx context.Context, _ json.RawMessage) (response, error) {
	list, errs := h.session.Models.List(ctx)
	if len(list) == 0 && len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	models := []map[string]any{}
	for _, m := range list {
		models = append(models, map[string]any{
			"id": m.ID, "label": m.ID, "authType": m.AuthType, "baseUrl": m.BaseURL,
			"contextWindowSize": m.ContextWindow,
		})
	}
	return response{"models": models}, nil
}

type contextRequest struct {
	Details bool `json:"show_details"`
}

func (h *host) contextUsage(_ context.Context, r contextRequest) (response, error) {
	h.mu.Lock()
	talk, last := h.talk, h.usage
	var history []model.Message
	if talk == nil {
		history = h.session.History() // that it continues
	}
	h.mu.Unlock()
	if talk != nil {
		history = talk.History()
	}
	u := slash.UsageOf(h.session, history)
	total := last.Total()
	free := max(u.Window-max(total, u.Estimated())-u.Reserved, 0)
	fields := response{
		"modelName": u.Model, "totalTokens": total, "contextWindowSize": u.Window,
		"isEstimated": total == 0, "showDetails": r.Details,
		"breakdown": map[string]any{
			"systemPrompt": u.System, "builtinTools": sum(u.Builtin), "mcpTools": sum(u.External),
			"memoryFiles": u.Memory,
			"skills":      0, "startupContext": 0, "messages": u.Messages, "unattributed": max(total-u.Estimated(), 0),
			"cachedTokens": last.CacheRead, "freeSpace": free, "autocompactBuffer": u.Reserved,
		},
		"builtinTools": []slash.ToolTokens{}, "mcpTools": []slash.ToolTokens{}, "memoryFiles": []any{},
		"skills": []any{},
	}
	if r.Details {
		fields["builtinTools"], fields["mcpTools"] = u.Builtin, u.External
	}
	return fields, nil
}

func sum(tools []slash.ToolTokens) int {
	total := 0
	for _, t := range tools {
		total += t.Tokens
	}
	return total
}
