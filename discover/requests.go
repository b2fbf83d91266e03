package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// ask shows a server's question to the user, through the call that it probably belongs to. The timeout of that call is
// paused meanwhile.
func (s *session) ask(ctx context.Context, q tool.Invocation) (*running, tool.Decision, error) {
	run := s.latest()
	if run == nil || run.live == nil || run.live.Ask == nil {
		return nil, tool.Decision{}, fmt.Errorf("%w: no call is running that the request could belong to",
			tool.ErrDenied)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run.ctx, cancel)()
	resume := run.limit.pause()
	defer resume()
	q.MustAsk = true
	d, err := run.live.Ask(ctx, q)
	return run, d, err
}

// elicit answers a server's question to the user.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p := r.Params
	message, _ := clean.Text(p.Message, clean.MaxText)
	q := tool.Invocation{
		Description: fmt.Sprintf("MCP server %s requests input: %s", s.link.alias, humanize.Shorten(message, 200)),
		Access:      []tool.Access{tool.Nothing},
		Confirm:     tool.Literal(message),
	}
	if p.URL != "" {
		if err := checkURL(p.URL); err != nil {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		q.Confirm = tool.Literal(message + "\n\nIt asks to open this URL in your browser:\n" + p.URL)
	} else if p.RequestedSchema != nil {
		form, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, err
		}
		q.Form = form
		if raw, ok := p.Meta[formKey].(string); ok && json.Valid([]byte(raw)) {
			q.Form = json.RawMessage(raw)
		}
	}
	run, d, err := s.ask(ctx, q)
	switch {
	case errors.Is(err, context.Canceled):
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		s.link.log.Printf("request declined: %s: %v", message, err)
		if run != nil {
			run.note("the server requested input (%q) and was denied: %v", humanize.Shorten(message, 200), err)
		}
		return &mcp.ElicitResult{Action: "decline"}, nil
	case p.URL != "":
		if s.link.opt.OpenURL != nil {
			if err := s.link.opt.OpenURL(p.URL); err != nil {
				run.note("opening %s failed: %v", p.URL, err)
			}
		}
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	content := map[string]any{}
	if len(d.Answer) > 0 {
		if err := json.Unmarshal(d.Answer, &content); err != nil {
			return nil, fmt.Errorf("invalid form answer: not an object: %w", err)
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// Sampling is a server's request to the session's model.
type Sampling struct {
	Server      string
	System      string
	Messages    []SamplingMessage
	MaxTokens   int64
	Temperature float64
	Stop        []string
	Models      []string // model names that the server prefers, best first
}

// SamplingMessage is one message of a Sampling.
type SamplingMessage struct {
	Role    string // user or assistant
	Content tool.Part
}

// Sampled is the model's answer.
type Sampled struct {
	Text       string
	Model      string
	StopReason string // endTurn if empty
}

// offerSampling announces to a server that it may use the session's model.
func (s *session) offerSampling(o *mcp.ClientOptions) { o.CreateMessageHandler = s.sample }

const (
	maxSampling = 64 << 10 // bytes of a request without media: the user has to read it
	maxSampled  = 8192     // tokens of an answer
)

// sample has the session's model answer a server, after the user approves the whole request.
func (s *session) sample(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	in := s.sampling(r.Params)
	shown := in.shown()
	if len(shown) > maxSampling {
		return nil, fmt.Errorf("sampling denied: the messages have %d bytes (limit: %d)", len(shown), maxSampling)
	}
	run, _, err := s.ask(ctx, tool.Invocation{
		Description: fmt.Sprintf("MCP server %s requests a model response (up to %d tokens)", s.link.alias,
			in.MaxTokens),
		Access:  []tool.Access{tool.Nothing},
		Confirm: tool.Literal(shown),
	})
	if err != nil {
		s.link.log.Printf("sampling denied: %v", err)
		if run != nil {
			run.note("the server requested a model response and was denied: %v", err)
		}
		return nil, fmt.Errorf("sampling denied: %w", err)
	}
	resume := run.limit.pause()
	defer resume()
	ctx, cancel := context.WithTimeout(ctx, s.link.opt.call())
	defer cancel()
	defer context.AfterFunc(run.ctx, cancel)() // the request ends with the call
	out, err := s.link.opt.Sample(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("the model request failed: %w", err)
	}
	return &mcp.CreateMessageResult{
		Content: &mcp.TextContent{Text: out.Text}, Model: out.Model, Role: "assistant",
		StopReason: cmp.Or(out.StopReason, "endTurn"),
	}, nil
}

// sampling returns a server's request, bounded.
func (s *session) sampling(p *mcp.CreateMessageParams) Sampling {
	in := Sampling{
		Server: s.link.alias, System: p.SystemPrompt, MaxTokens: p.MaxTokens, Temperature: p.Temperature,
		Stop: p.StopSequences,
	}
	if in.MaxTokens <= 0 || in.MaxTokens > maxSampled {
		in.MaxTokens = maxSampled
	}
	if p.ModelPreferences != nil {
		for _, h := range p.ModelPreferences.Hints {
			if h != nil {
				in.Models = append(in.Models, h.Name)
			}
		}
	}
	for _, m := range p.Messages {
		if m == nil {
			continue
		}
		for _, part := range parts([]mcp.Content{m.Content}) {
			in.Messages = append(in.Messages, SamplingMessage{string(m.Role), part})
		}
	}
	return in
}

// shown returns everything that the model would receive.
func (in Sampling) shown() string {
	var b strings.Builder
	if in.System != "" {
		fmt.Fprintf(&b, "system: %s\n", in.System)
	}
	for _, m := range in.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, tool.Result{Content: []tool.Part{m.Content}}.Text())
	}
	return b.String()
}

// offerRootsAndLogging announces to a server that it may request directories, if there are any, and may log.
func (s *session) offerRootsAndLogging(o *mcp.ClientOptions) {
	if len(s.link.conf.Roots) > 0 {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	o.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) {
		s.link.log.Add(string(r.Params.Level), said(r.Params))
	}
}

// listen requests the server's log messages, to show them on demand. Errors are ignored.
func (s *session) listen(ctx context.Context) {
	if caps := s.cs.InitializeResult().Capabilities; caps != nil && caps.Logging != nil {
		s.cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"})
	}
}

// said returns a log message as text.
func said(p *mcp.LoggingMessageParams) string {
	if text, ok := p.Data.(string); ok {
		return text
	}
	raw, err := json.Marshal(p.Data)
	if err != nil { // can't happen: it was decoded from JSON
		return fmt.Sprint(p.Data)
	}
	return string(raw)
}

// announce sends the server the directories that the user configured as roots, and no others.
func (s *session) announce(roots []string) {
	var list []*mcp.Root
	for _, dir := range roots {
		list = append(list, &mcp.Root{URI: names.URI(dir), Name: filepath.Base(dir)})
	}
	if len(list) > 0 {
		s.client.AddRoots(list...)
	}
}
