package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// session is the tools of one connection.
type session struct {
	server *Server
	peer   *mcp.ServerSession
	client Client
	x      *tool.Executor

	mu    sync.Mutex
	count int
	calls map[string]*running // by the id that the executor knows them by
}

// running is a call under way.
type running struct {
	ctx   context.Context // of the request: what is sent with it travels beside the answer
	token any             // of its progress; nil: the client does not want to know
	steps float64
}

// use makes the session's calls through x.
func (s *session) use(x *tool.Executor) {
	s.x = x
	if x.Ask == nil {
		x.Ask = s.ask
	}
	observe := x.Observe
	x.Observe = func(ev tool.Event) {
		s.observe(ev)
		if observe != nil {
			observe(ev)
		}
	}
}

// list are the tools that are offered.
func (s *session) list() []*mcp.Tool {
	tools := []*mcp.Tool{}
	for _, d := range s.x.Registry.Declarations(nil) {
		if s.offers(d.Name) {
			tools = append(tools, &mcp.Tool{
				Name: d.Name, Title: d.Title(), Description: d.Description, InputSchema: d.Parameters, Annotations: annotations(d, slices.Contains(s.server.opt.Abroad, d.Name)),
			})
		}
	}
	return tools
}

func (s *session) offers(name string) bool {
	return s.server.opt.Tools == nil || slices.Contains(s.server.opt.Tools, name)
}

// annotations say what is true of a tool by its kind; abroad it reaches beyond this machine whatever its kind says. Of
// what is not known the worst is said.
func annotations(d tool.Declaration, abroad bool) *mcp.ToolAnnotations {
	yes, no := true, false
	a := &mcp.ToolAnnotations{Title: d.Title(), DestructiveHint: &yes, OpenWorldHint: &yes}
	switch {
	case d.Origin != "":
	case d.Kind == tool.Read, d.Kind == tool.Search, d.Kind == tool.Think:
		a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint, a.OpenWorldHint = true, true, &no, &abroad
	case d.Kind == tool.Edit:
		a.OpenWorldHint = &no
	case d.Kind == tool.Fetch:
		a.DestructiveHint = &no
	}
	return a
}

// call runs one call through the executor.
func (s *session) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := req.Params
	t, err := s.x.Registry.Lookup(p.Name)
	if err != nil || !s.offers(t.Declaration().Name) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.unknown(p.Name)}
	}
	run := &running{ctx: ctx, token: p.GetProgressToken()}
	s.mu.Lock()
	s.count++
	id := fmt.Sprintf("mcp-%d", s.count)
	s.calls[id] = run
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
	}()
	b := s.x.Batch(ctx)
	b.Add(tool.Call{ID: id, Name: p.Name, Args: p.Arguments})
	return result(b.Wait()[0]), nil
}

// unknown teaches which tools are offered here: not those that the session has besides.
func (s *session) unknown(name string) string {
	var names []string
	for _, t := range s.list() {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("there is no tool %q; the tools are %s", name, strings.Join(names, ", "))
}

// observe tells the client how far its call is.
func (s *session) observe(ev tool.Event) {
	if ev.Stage != tool.Showing || ev.Display == nil {
		return
	}
	s.mu.Lock()
	run := s.calls[ev.Request.Call.ID]
	if run == nil || run.token == nil {
		s.mu.Unlock()
		return
	}
	run.steps++
	p := &mcp.ProgressNotificationParams{ProgressToken: run.token, Progress: run.steps, Message: lastLine(ev.Display.Markdown())}
	ctx := run.ctx
	s.mu.Unlock()
	s.peer.NotifyProgress(ctx, p) // one that does not arrive is no loss
}

// lastLine is the last line of a display that says something, for a place that shows one.
func lastLine(markdown string) string {
	lines := strings.Split(strings.TrimRight(markdown, "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		if utf8.RuneCountInString(line) > 200 {
			line = string([]rune(line)[:200]) + "…"
		}
		return line
	}
	return ""
}

// ask puts a question to the person at the client, if it can.
func (s *session) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	if !s.client.CanAsk {
		return tool.Decision{}, tool.Unapproved(r, why, "the MCP client can't ask the user")
	}
	s.mu.Lock()
	if run := s.calls[r.Call.ID]; run != nil {
		// A question travels beside the answer of its call, and is withdrawn with it.
		joined, cancel := context.WithCancel(run.ctx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		ctx = joined
	}
	s.mu.Unlock()
	form := r.Form
	if form == nil {
		form = yesForm(why.Offer)
	}
	res, err := s.peer.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: question(r, why), RequestedSchema: form})
	if errors.Is(err, context.Canceled) {
		return tool.Decision{}, err
	}
	if err != nil {
		return tool.Decision{}, tool.Unapproved(r, why, fmt.Sprintf("the MCP client couldn't ask the user: %v", err))
	}
	switch res.Action {
	case "accept":
	case "cancel":
		return tool.Decision{}, context.Canceled
	default:
		return tool.Decision{Verdict: tool.Deny}, nil
	}
	d := tool.Decision{Verdict: tool.Allow}
	if r.Form != nil {
		if d.Answer, err = json.Marshal(res.Content); err != nil {
			return tool.Decision{}, err
		}
		return d, nil
	}
	if rule, _ := res.Content["remember"].(string); slices.Contains(why.Offer, rule) {
		d.Remember = rule
	}
	return d, nil
}

// question is all of what a person should see before a yes.
func question(r tool.Request, why tool.Decision) string {
	text := r.Description
	if why.Reason != "" {
		text += "\n(" + why.Reason + ")"
	}
	if r.Confirm != nil {
		text += "\n\n" + r.Confirm.Markdown()
	}
	return text
}

// yesForm is a form of nothing but yes and no, and of the rules that a yes could become.
func yesForm(offer []string) json.RawMessage {
	if len(offer) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	choices, err := json.Marshal(append([]string{"only this once"}, offer...))
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return json.RawMessage(`{"type":"object","properties":{"remember":{"type":"string","title":"Allow","enum":` + string(choices) + `,"default":"only this once"}}}`)
}
