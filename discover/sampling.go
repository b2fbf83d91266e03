package discover

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28; the servers of today use them.

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// Sampling is a server's wish that the session's model answers something.
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

// sample lets the session's model answer a server, after a yes.
func (s *session) sample(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	p := r.Params
	in := Sampling{
		Server: s.link.alias, System: p.SystemPrompt, MaxTokens: p.MaxTokens, Temperature: p.Temperature, Stop: p.StopSequences,
	}
	if p.ModelPreferences != nil {
		for _, h := range p.ModelPreferences.Hints {
			in.Models = append(in.Models, h.Name)
		}
	}
	var shown strings.Builder
	if in.System != "" {
		fmt.Fprintf(&shown, "system: %s\n", in.System)
	}
	for _, m := range p.Messages {
		for _, part := range parts([]mcp.Content{m.Content}) {
			in.Messages = append(in.Messages, SamplingMessage{string(m.Role), part})
			fmt.Fprintf(&shown, "%s: %s\n", m.Role, tool.Result{Content: []tool.Part{part}}.Text())
		}
	}
	run, _, err := s.ask(ctx, tool.Invocation{
		Description: fmt.Sprintf("the MCP server %s wants the model to answer for it", s.link.alias),
		Access:      []tool.Access{tool.Nothing},
		Confirm:     tool.Literal(shown.String()),
	})
	if err != nil {
		s.link.log.printf("sampling was refused: %v", err)
		return nil, fmt.Errorf("sampling was refused: %w", err)
	}
	resume := run.limit.pause()
	defer resume()
	out, err := s.link.opt.Sample(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("the model gave no answer: %w", err)
	}
	if out.StopReason == "" {
		out.StopReason = "endTurn"
	}
	return &mcp.CreateMessageResult{
		Content: &mcp.TextContent{Text: out.Text}, Model: out.Model, Role: "assistant", StopReason: out.StopReason,
	}, nil
}
