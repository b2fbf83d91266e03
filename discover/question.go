package discover

import (
	"context"
	"encoding/json"
	"errors"
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

// ask puts a server's question to a person, through the call on whose behalf the server seems to ask. The time of that
// call stands still meanwhile.
func (s *session) ask(ctx context.Context, q tool.Invocation) (*running, tool.Decision, error) {
	run := s.latest()
	if run == nil || run.live == nil || run.live.Ask == nil {
		return nil, tool.Decision{}, fmt.Errorf("%w: no call is running that the question could belong to", tool.ErrDenied)
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

// elicit answers a server that wants to know something of the person.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p := r.Params
	message, _ := clean(p.Message, maxDescription)
	q := tool.Invocation{
		Description: fmt.Sprintf("the MCP server %s asks: %s", s.link.alias, clip(message, 200)),
		Access:      []tool.Access{tool.Nothing},
		Confirm:     tool.Literal(message),
	}
	if p.URL != "" {
		if err := checkURL(p.URL); err != nil {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		q.Confirm = tool.Literal(message + "\n\nIt wants this address to be opened in a browser:\n" + p.URL)
	} else if p.RequestedSchema != nil {
		form, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, err
		}
		q.Form = form
	}
	run, d, err := s.ask(ctx, q)
	switch {
	case errors.Is(err, context.Canceled):
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		s.link.log.printf("a question was declined: %s: %v", message, err)
		if run != nil {
			run.note("the server asked %q, and the answer was no: %v", clip(message, 200), err)
		}
		return &mcp.ElicitResult{Action: "decline"}, nil
	case p.URL != "":
		if s.link.opt.OpenURL != nil {
			if err := s.link.opt.OpenURL(p.URL); err != nil {
				run.note("%s could not be opened: %v", p.URL, err)
			}
		}
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	content := map[string]any{}
	if len(d.Answer) > 0 {
		if err := json.Unmarshal(d.Answer, &content); err != nil {
			return nil, fmt.Errorf("the answer of the front end is no object: %w", err)
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

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
