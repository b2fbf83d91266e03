package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/models"
)

// handler handles one type of request.
type handler struct {
	// beside means that it may block: it runs while further lines are read. Prompts wait for earlier requests.
	beside bool
	run    func(h *host, ctx context.Context, request json.RawMessage) (response, error)
	then   func(*host) // called after a successful response
}

// response has the fields of a successful response, except for its subtype.
type response map[string]any

// with returns a handler that reads the fields of a request first.
func with[T any](handle func(*host, context.Context, T) (response, error)) func(*host, context.Context,
	json.RawMessage) (response, error) {
	return func(h *host, ctx context.Context, request json.RawMessage) (response, error) {
		var fields T
		if err := json.Unmarshal(request, &fields); err != nil {
			return nil, errors.New(discover.Misread(err))
		}
		return handle(h, ctx, fields)
	}
}

// handlers returns the handlers by subtype.
func handlers() map[string]handler {
	return map[string]handler{
		"initialize":           {run: (*host).initialize, then: (*host).connect},
		"interrupt":            {run: interrupt, then: func(h *host) { h.queue.interrupt() }},
		"continue_last_turn":   {run: (*host).continueLastTurn, then: (*host).continues},
		"set_model":            {beside: true, run: with((*host).setModel)},
		"set_permission_mode":  {run: with((*host).setPermissionMode)},
		"set_effort":           {run: with((*host).setEffort)},
		"supported_commands":   {run: (*host).supportedCommands},
		"mcp_server_status":    {run: (*host).serverStatus},
		"mcp_status":           {run: (*host).serverList},
		"mcp_message":          {run: with((*host).serverMessage)},
		"get_context_usage":    {run: with((*host).contextUsage)},
		"get_available_models": {beside: true, run: (*host).availableModels},
		"get_usage_info":       {beside: true, run: with((*host).usageInfo)},
	}
}

// requested handles a request.
func (h *host) requested(ctx context.Context, id, request json.RawMessage) {
	var r struct {
		Subtype string `json:"subtype"`
	}
	if len(id) == 0 || string(id) == "null" {
		h.reject(id, errors.New("control_request: request_id is missing"))
		return
	}
	if err := json.Unmarshal(request, &r); err != nil || r.Subtype == "" {
		h.reject(id, errors.New("control_request: request: expected an object with a subtype"))
		return
	}
	known := handlers()
	todo, ok := known[r.Subtype]
	if !ok {
		h.reject(id, fmt.Errorf("unknown control request %q (expected %s)", r.Subtype,
			strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		return
	}
	if !todo.beside {
		response, err := todo.run(h, ctx, request)
		if h.respond(id, r.Subtype, response, err); err == nil && todo.then != nil {
			todo.then(h)
		}
		return
	}
	own, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	w := &work{cancel}
	h.mu.Lock()
	h.handling[string(id)] = w
	h.setups = append(slices.DeleteFunc(h.setups, isClosed), done)
	h.mu.Unlock()
	h.began.Go(func() {
		defer close(done)
		defer cancel()
		response, err := todo.run(h, own, request)
		if h.handled(string(id), w) { // otherwise it was canceled, which has its own response
			h.respond(id, r.Subtype, response, err)
		}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// work is a request that is being handled.
type work struct{ cancel context.CancelFunc }

// handled removes a request, and reports whether it was still being handled.
func (h *host) handled(id string, w *work) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w == nil || h.handling[id] != w { // another request may have its ID by now
		return false
	}
	w.cancel()
	delete(h.handling, id)
	return true
}

// cancelled cancels a request of the program, or all of them without an ID.
func (h *host) cancelled(id string) {
	h.mu.Lock()
	chosen := map[string]*work{id: h.handling[id]}
	if id == "" || id == "null" {
		chosen = maps.Clone(h.handling)
	}
	h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(chosen)) {
		if h.handled(id, chosen[id]) {
			h.reject(json.RawMessage(id), errors.New("the request was cancelled"))
		}
	}
}

// respond answers a request.
func (h *host) respond(id json.RawMessage, subtype string, fields response, err error) {
	if err != nil {
		h.reject(id, fmt.Errorf("%s: %w", subtype, err))
		return
	}
	all := response{"subtype": subtype}
	maps.Copy(all, fields)
	h.out.Send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": id, "response": all,
	}})
}

// interrupt only responds: the prompt is stopped after the response, so that its result follows it.
func interrupt(*host, context.Context, json.RawMessage) (response, error) { return nil, nil }

// continueLastTurn reports whether there is an unfinished turn; it continues after the response.
func (h *host) continueLastTurn(context.Context, json.RawMessage) (response, error) {
	if h.queue.busy() {
		return nil, errors.New("a prompt is being answered")
	}
	if !h.session.Unanswered() {
		return nil, agent.ErrNothingToContinue
	}
	return nil, nil
}

// continues has the model answer without a prompt.
func (h *host) continues() {
	p := newPrompt(h.ctx, nil, nil)
	p.continues = true
	h.queue.add(p)
}

type modeRequest struct {
	Mode string `json:"mode"`
}

func (h *host) setPermissionMode(_ context.Context, r modeRequest) (response, error) {
	if strings.EqualFold(r.Mode, "auto") {
		r.Mode = "auto-edit" // the nearest stricter mode, as with --approval-mode
	}
	if err := h.session.SetMode(r.Mode); err != nil {
		return nil, fmt.Errorf("mode: %w", err)
	}
	return response{"status": "updated", "mode": h.session.Policy.Mode().String()}, nil
}

type modelRequest struct {
	Model string `json:"model"`
}

func (h *host) setModel(ctx context.Context, r modelRequest) (response, error) {
	if strings.TrimSpace(r.Model) == "" {
		return nil, errors.New("model: expected the name of a model")
	}
	m, err := h.session.Models.Switch(ctx, r.Model)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.talk != nil {
		h.talk.SetModel(m)
		h.out.SetModel(m.Name())
	}
	return response{"model": m.Name()}, nil
}

type effortRequest struct {
	Effort string `json:"effort"`
}

func (h *host) setEffort(_ context.Context, r effortRequest) (response, error) {
	effort, err := parseEffort(r.Effort)
	if err != nil {
		return nil, err
	}
	h.apply(effort)
	return response{"effort": effort, "applied": true, "override": nil}, nil
}

func parseEffort(s string) (string, error) {
	effort := strings.ToLower(strings.TrimSpace(s))
	if !slices.Contains(models.Efforts(), effort) {
		return "", fmt.Errorf("effort: expected %s, got %q", strings.Join(models.Efforts(), ", "), s)
	}
	return effort, nil
}

// apply sets the effort of the current conversation, or of the next one.
func (h *host) apply(effort string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.effort = effort
	if h.talk != nil {
		h.talk.SetEffort(effort)
	}
}
