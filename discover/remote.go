package discover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// print is a fingerprint of a tool: of its command and of everything that a model or user sees of it.
func (r remote) print(config string) string {
	r.Repeatable, r.Output = false, nil
	raw, err := json.Marshal(r)
	if err != nil { // it came from JSON
		return ""
	}
	sum := sha256.Sum256(append([]byte(config+"\x00"), raw...))
	return hex.EncodeToString(sum[:])
}

// remoteTool is a tool of a server.
type remoteTool struct {
	link        *link
	remote      remote
	print       string
	declaration tool.Declaration
	input       lazySchema
	output      outputSchema
}

// tool makes a tool of what a server offers.
func (l *link) tool(r remote) tool.Tool {
	name, print := wireName(l.alias, r.Name), r.print(l.conf.Identity())
	aliases := []string{"mcp__" + l.alias + "__" + r.Name}
	if l.set.alone {
		aliases = append(aliases, r.Name)
	}
	return &remoteTool{
		link: l, remote: r, print: print,
		declaration: tool.Declaration{
			Name: name, DisplayName: fmt.Sprintf("%s (%s)", orElse(r.Title, r.Name), l.alias),
			Description: orElse(r.Description, orElse(r.Title, r.Name)), Parameters: r.Input,
			Kind: tool.Other, Aliases: aliases, Origin: Origin(l.alias), Fingerprint: print,
		},
	}
}

// Origin is the Origin of the tools of a server.
func Origin(alias string) string { return "mcp:" + alias }

// Declaration implements [tool.Tool].
func (t *remoteTool) Declaration() tool.Declaration { return t.declaration }

// Prepare implements [tool.Tool]. It starts nothing: the schema is known before the server runs.
func (t *remoteTool) Prepare(_ context.Context, raw json.RawMessage) (*tool.Invocation, error) {
	args, notes, err := t.input.arguments(t.remote.Input, raw)
	if err != nil {
		return nil, err
	}
	return &tool.Invocation{
		Description: fmt.Sprintf("call %s on MCP server %s", t.remote.Name, t.link.alias),
		Access:      []tool.Access{tool.Anything},
		Confirm:     tool.Literal(indent(args)),
		Notes:       notes,
		Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
			return t.run(ctx, l, args)
		},
	}, nil
}

// run calls the tool. A call that was lost with its connection is made again if that is safe: if its request never
// left, or the server says that repeating it does no harm.
func (t *remoteTool) run(ctx context.Context, live *tool.Live, args json.RawMessage) (tool.Result, error) {
	for first := true; ; first = false {
		s, err := t.link.acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return tool.Result{}, ctx.Err()
			}
			return tool.Result{}, tool.Errorf(FailedMCP, "%s: MCP server %s failed to start: %w", t.remote.Name, t.link.alias, err)
		}
		if err := t.unchanged(s); err != nil {
			return tool.Result{}, err
		}
		res, notes, left, err := s.call(ctx, live, t.remote.Name, args)
		if err == nil {
			return t.answer(res, notes)
		}
		var rpc *jsonrpc.Error
		var login *loginNeeded
		switch {
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case errors.Is(err, errIdle):
			return tool.Result{}, tool.Errorf(tool.ExecutionTimeout, "%s on %s timed out after %s without a response or progress. "+
				"The call may still have taken effect; check before retrying.", t.remote.Name, t.link.alias, t.link.conf.timeout(t.link.opt.call()))
		case errors.As(err, &login):
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: %w", t.remote.Name, t.link.alias, login)
		case errors.As(err, &rpc) && rpc.Code != codeRejected && !errors.Is(err, mcp.ErrConnectionClosed):
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s failed: %s", t.remote.Name, t.link.alias, rpc.Message)
		}
		if s.alive() && unread(err) {
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: the call ran, but its response can't be read: %v", t.remote.Name, t.link.alias, err)
		}
		t.link.drop(s, withFate(err, s.fate()))
		if first && (!left || t.remote.Repeatable) {
			continue
		}
		if !left {
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s was not called: connection lost: %w", t.remote.Name, t.link.alias, s.plainly(err))
		}
		return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: the server stopped before it responded%s. "+
			"The call may still have taken effect; check before retrying.", t.remote.Name, t.link.alias, because(s.fate()))
	}
}

// unread reports whether an error is about what was answered, and not about the way there. The SDK has no type for it.
func unread(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unmarshal") || strings.Contains(text, "unrecognized content type") || strings.Contains(text, "illegal base64")
}

// codeRejected is the SDK's code for a request that its transport did not send.
const codeRejected = -32005

func because(fate string) string {
	if fate == "" {
		return ""
	}
	return " (" + fate + ")"
}

// unchanged checks that the tool is still the one that was declared, and that the user may have approved.
func (t *remoteTool) unchanged(s *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.known[t.remote.Name] {
	case t.print:
		return nil
	case "":
		return tool.Errorf(FailedMCP, "MCP server %s no longer has a tool %s; it was not called", t.link.alias, t.remote.Name)
	}
	return tool.Errorf(FailedMCP, "MCP server %s changed its tool %s, so it was not called. "+
		"Read its new description and call it again.", t.link.alias, t.remote.Name)
}

// answer makes a result of what the server answered.
func (t *remoteTool) answer(res *mcp.CallToolResult, notes []string) (tool.Result, error) {
	r := result(res)
	if !res.IsError && res.StructuredContent != nil {
		if err := t.output.check(t.remote.Output, res.StructuredContent); err != nil {
			notes = append(notes, fmt.Sprintf("the structured result doesn't match the server's schema: %v", err))
		}
	}
	for _, n := range notes {
		r.Content = append(r.Content, tool.Text("Note: "+n))
	}
	if !res.IsError {
		return r, nil
	}
	text := r.Text()
	if text == "" {
		text = fmt.Sprintf("%s on %s reported an error without a message", t.remote.Name, t.link.alias)
	}
	return r, tool.Errorf(FailedMCP, "%s", clip(text, 4000))
}

// outputSchema checks structured results, as far as the schema can be read.
type outputSchema struct {
	once   sync.Once
	schema *jsonschema.Resolved
}

func (o *outputSchema) check(raw json.RawMessage, value any) error {
	o.once.Do(func() {
		var s jsonschema.Schema
		if len(raw) > 0 && json.Unmarshal(raw, &s) == nil {
			o.schema, _ = s.Resolve(nil)
		}
	})
	if o.schema == nil {
		return nil
	}
	return o.schema.Validate(value)
}
