package discover

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28; the servers of today use them.

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// Sampling is a server's request to the session's model.
type Sampling struct {
	Server      string
	System      string
	Messages    []SamplingMessage
	MaxTokens   int64
	Temperature float64
	Stop        []string
	Models      []string // names the server would like, best first
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

// offerSampling tells a server that it may ask the session's model.
func (s *session) offerSampling(o *mcp.ClientOptions) { o.CreateMessageHandler = s.sample }

const (
	maxSampling = 64 << 10 // bytes of a request, media aside: the user has to read it
	maxSampled  = 8192     // tokens of an answer
)

// sample lets the session's model answer a server, after the user approves the whole request.
func (s *session) sample(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	in := s.sampling(r.Params)
	shown := in.shown()
	if len(shown) > maxSampling {
		return nil, fmt.Errorf("sampling denied: the messages have %d bytes (limit: %d)", len(shown), maxSampling)
	}
	run, _, err := s.ask(ctx, tool.Invocation{
		Description: fmt.Sprintf("MCP server %s requests a model response (up to %d tokens)", s.link.alias, in.MaxTokens),
		Access:      []tool.Access{tool.Nothing},
		Confirm:     tool.Literal(shown),
	})
	if err != nil {
		s.link.log.printf("sampling denied: %v", err)
		if run != nil {
			run.note("the server requested a model response and was denied: %v", err)
		}
		return nil, fmt.Errorf("sampling denied: %w", err)
	}
	resume := run.limit.pause()
	defer resume()
	ctx, cancel := context.WithTimeout(ctx, s.link.opt.call())
	defer cancel()
	defer context.AfterFunc(run.ctx, cancel)() // the end of the call is the end of what it asked for
	out, err := s.link.opt.Sample(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("the model request failed: %w", err)
	}
	return &mcp.CreateMessageResult{
		Content: &mcp.TextContent{Text: out.Text}, Model: out.Model, Role: "assistant", StopReason: orElse(out.StopReason, "endTurn"),
	}, nil
}

// sampling is what a server wants, bounded.
func (s *session) sampling(p *mcp.CreateMessageParams) Sampling {
	in := Sampling{Server: s.link.alias, System: p.SystemPrompt, MaxTokens: p.MaxTokens, Temperature: p.Temperature, Stop: p.StopSequences}
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

// shown is all that the model would be told.
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
