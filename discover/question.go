package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// ask shows a server's question to the user, through the call that the question seems to belong to. The time of that call
// is paused meanwhile.
func (s *session) ask(ctx context.Context, q tool.Invocation) (*running, tool.Decision, error) {
	run := s.latest()
	if run == nil || run.live == nil || run.live.Ask == nil {
		return nil, tool.Decision{}, fmt.Errorf("%w: no call is running that the request could belong to", tool.ErrDenied)
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

// elicit answers a server's question for the user.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p := r.Params
	message, _ := clean(p.Message, maxDescription)
	q := tool.Invocation{
		Description: fmt.Sprintf("MCP server %s requests input: %s", s.link.alias, clip(message, 200)),
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
	}
	run, d, err := s.ask(ctx, q)
	switch {
	case errors.Is(err, context.Canceled):
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		s.link.log.printf("request declined: %s: %v", message, err)
		if run != nil {
			run.note("the server requested input (%q) and was denied: %v", clip(message, 200), err)
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
