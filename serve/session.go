package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// session is the tools of one connection.
type session struct {
	server *Server
	life   context.Context
	later  *later
	shared bool // by clients that can't be told apart, so that rules for the session would apply to all
	x      *tool.Executor

	mu    sync.Mutex
	count int
	calls map[string]*running // by the executor's ID
}

// caller is who sent a request.
type caller struct {
	peer          *mcp.ServerSession
	name, version string
	canAsk        bool // its client shows forms
	modern        bool // questions are results
}

// callerOf describes the client of a request.
func callerOf[P mcp.Params](r *mcp.ServerRequest[P]) caller {
	c := caller{peer: r.Session, modern: r.ProtocolVersion() >= modernVersion}
	if info := r.ClientInfo(); info != nil {
		c.name, c.version = info.Name, info.Version
	}
	if caps := r.ClientCapabilities(); caps != nil && caps.Elicitation != nil {
		c.canAsk = caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
	}
	return c
}

// running is a running call.
type running struct {
	cancel    context.CancelFunc
	done      chan struct{} // closed when there is an outcome
	outcome   tool.Outcome
	questions chan question // for clients of modern versions

	// Guarded by later.mu.
	asked question
	late  *time.Timer

	// Guarded by session.mu.
	from  caller
	ctx   context.Context // of the request, so that notifications belong to it; nil: the call waits for another
	token any             // for progress; nil: the client doesn't want it
	steps float64
	// unapproved means that the command runs or is tried without approval. Its output may have to be held back, so that
	// none of it is sent before it ends.
	unapproved bool
	skipped    bool // it would have run while it waited
}

// use sets the executor of the session's calls. While a call waits for an answer in a later request, a rule that the
// user approves for another one doesn't answer it, and it doesn't run: the client may never continue it.
func (s *session) use(x *tool.Executor) {
	s.x = x
	ask, around, observe := x.Ask, x.Around, x.Observe
	if ask == nil {
		ask = s.ask
	}
	x.Ask = func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		d, err := ask(ctx, r, why)
		s.mu.Lock()
		defer s.mu.Unlock()
		if run := s.calls[r.Call.ID]; run != nil && run.from.modern {
			d.Remember = ""
		}
		return d, err
	}
	x.Around = func(ctx context.Context, r tool.Request, d tool.Decision,
		run func(context.Context) tool.Outcome) tool.Outcome {
		switch {
		case s.skips(r.Call.ID):
			return tool.Outcome{Status: tool.StatusError, Result: tool.TextResult("not run: the client left the call")}
		case around == nil:
			return run(ctx)
		}
		return around(ctx, r, d, run)
	}
	x.Observe = func(ev tool.Event) {
		s.observe(ev)
		if observe != nil {
			observe(ev)
		}
	}
}

// skips reports whether a call waits for its client. Then it doesn't run anymore.
func (s *session) skips(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.calls[id]
	if run == nil || run.ctx != nil {
		return false
	}
	run.skipped = true
	return true
}

// list returns the tools that a client is offered. Deferred ones are among them if they are selected.
func (s *session) list(from caller) []*mcp.Tool {
	tools := []*mcp.Tool{}
	selected := func(name string) bool { return slices.Contains(s.server.opt.Tools, name) }
	for _, d := range s.x.Registry.Declarations(selected) {
		if s.offers(d, from) {
			tools = append(tools, &mcp.Tool{
				Name: d.Name, Title: d.Title(), Description: d.Description, InputSchema: d.Parameters,
				Annotations: annotations(d, slices.Contains(s.server.opt.Abroad, d.Name)), Meta: s.hints(d),
			})
		}
	}
	return tools
}

// hints tell Claude Code, which shows its model the names of tools alone, what to find a tool by, and which to declare
// at once: those that the user named, and those that agents have under their own names and are trained to use.
func (s *session) hints(d tool.Declaration) mcp.Meta {
	m := mcp.Meta{"anthropic/searchHint": d.Brief()}
	if s.server.opt.Tools != nil || len(d.RuleNames) > 0 {
		m["anthropic/alwaysLoad"] = true
	}
	return m
}

// offers reports whether the client is offered a tool: it is selected, and its needs are met.
func (s *session) offers(d tool.Declaration, from caller) bool {
	opt := s.server.opt
	met := d.Needs == "" || slices.Contains(opt.Meets, d.Needs) && (d.Needs != tool.NeedsUser || from.canAsk)
	return met && (opt.Tools == nil || slices.Contains(opt.Tools, d.Name))
}

// annotations returns hints about a tool by its kind; abroad means that it uses the network whatever its kind. Unknown
// properties get the worst value.
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

// call starts a call, or continues one with the answer to its question.
func (s *session) call(ctx context.Context, from caller, p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	t, err := s.x.Registry.Lookup(p.Name)
	if err != nil || !s.offers(t.Declaration(), from) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.unknown(p.Name, from)}
	}
	if !from.modern || p.RequestState == "" {
		return s.await(ctx, s.start(ctx, from, p), from, p), nil
	}
	run, err := s.later.take(p.RequestState, from, p)
	if err != nil {
		return nil, err
	}
	answer, ok := p.InputResponses[answerKey].(*mcp.ElicitResult)
	if !ok {
		if res := s.later.ask(run, run.asked, from, p); res != nil {
			return res, nil
		}
	}
	s.mu.Lock()
	run.from, run.ctx, run.token = from, ctx, p.GetProgressToken()
	skipped := run.skipped
	s.mu.Unlock()
	if skipped { // it was allowed meanwhile: it is judged again
		return s.await(ctx, s.start(ctx, from, p), from, p), nil
	}
	run.asked.answer <- answer
	return s.await(ctx, run, from, p), nil
}

// start runs a call through the executor. It ends with the connection.
func (s *session) start(ctx context.Context, from caller, p *mcp.CallToolParamsRaw) *running {
	life, cancel := context.WithCancel(s.life)
	run := &running{
		cancel: cancel, done: make(chan struct{}), questions: make(chan question),
		from: from, ctx: ctx, token: p.GetProgressToken(),
	}
	s.mu.Lock()
	s.count++
	id := fmt.Sprintf("mcp-%d", s.count)
	s.calls[id] = run
	s.mu.Unlock()
	go func() {
		defer cancel()
		run.outcome = s.x.Run(life, tool.Call{ID: id, Name: p.Name, Args: p.Arguments})
		close(run.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, id)
	}()
	return run
}

// wait waits until the calls have ended, with a limit: their context has.
func (s *session) wait() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.calls))
	s.mu.Unlock()
	late := time.After(stopWait)
	for _, run := range all {
		select {
		case <-run.done:
		case <-late:
			return
		}
	}
}

// await returns the outcome of a call, or its question. The call ends with the request.
func (s *session) await(ctx context.Context, run *running, from caller, p *mcp.CallToolParamsRaw) *mcp.CallToolResult {
	for ended := false; !ended; {
		select {
		case <-run.done:
			ended = true
		case q := <-run.questions:
			if res := s.later.ask(run, q, from, p); res != nil {
				s.mu.Lock()
				run.ctx, run.token = nil, nil // until the client calls again
				s.mu.Unlock()
				return res
			}
			q.answer <- nil
		case <-ctx.Done():
			run.cancel()
			<-run.done
			ended = true
		}
	}
	if from.modern {
		return typed(result(run.outcome), "complete")
	}
	return result(run.outcome)
}

// unknown returns the error text for an unknown tool name. It lists only the tools offered to the client.
func (s *session) unknown(name string, from caller) string {
	var names []string
	for _, t := range s.list(from) {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("unknown tool %q\nAvailable tools: %s", name, strings.Join(names, ", "))
}

// observe sends the client progress notifications.
func (s *session) observe(ev tool.Event) {
	s.mu.Lock()
	run := s.calls[ev.Request.Call.ID]
	if run != nil && (ev.Stage == tool.Trying || ev.Stage == tool.Running) {
		run.unapproved = ev.Stage == tool.Trying || ev.Request.Declaration.Kind == tool.Execute &&
			len(ev.Decision.Grant) > 0
	}
	if run == nil || run.token == nil || ev.Stage != tool.Showing || ev.Display == nil {
		s.mu.Unlock()
		return
	}
	run.steps++
	p := &mcp.ProgressNotificationParams{ProgressToken: run.token, Progress: run.steps}
	if !run.unapproved {
		p.Message = lastLine(ev.Display.Markdown())
	}
	ctx, peer := run.ctx, run.from.peer
	s.mu.Unlock()
	peer.NotifyProgress(ctx, p) // a lost notification doesn't matter
}

// lastLine returns the last line of a display with text, for a client that shows one line.
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

// rootsWait bounds the request for the client's roots.
const rootsWait = 2 * time.Second

// roots requests the client's roots. nil: it doesn't report any.
func roots(ctx context.Context, peer *mcp.ServerSession, caps *mcp.ClientCapabilities) []string {
	if caps.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWait)
	defer cancel()
	res, err := peer.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	dirs := []string{}
	for _, r := range res.Roots {
		if dir := names.FromURI(r.URI); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// metaChanges is the key of the changed files in _meta of a result: a [tool.Changes].
const metaChanges = "adze.dev/changes"

// result converts an outcome to MCP. It has no structuredContent: Claude Code and Codex send the model only that where
// it is present, so that the model would see neither text nor images of the content. Changed files are in _meta.
func result(o tool.Outcome) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: o.Status != tool.StatusSuccess, Content: []mcp.Content{}}
	for _, p := range o.Result.Content {
		switch p := p.(type) {
		case tool.Text:
			res.Content = append(res.Content, &mcp.TextContent{Text: string(p)})
		case tool.Media:
			res.Content = append(res.Content, media(p))
		}
	}
	if changes := o.Changes.Reported(); changes != nil {
		res.Meta = mcp.Meta{metaChanges: changes}
	}
	return res
}

func media(m tool.Media) mcp.Content {
	switch {
	case strings.HasPrefix(m.MIMEType, "image/"):
		return &mcp.ImageContent{MIMEType: m.MIMEType, Data: m.Data}
	case strings.HasPrefix(m.MIMEType, "audio/"):
		return &mcp.AudioContent{MIMEType: m.MIMEType, Data: m.Data}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "adze:result", MIMEType: m.MIMEType, Blob: m.Data,
	}}
}
