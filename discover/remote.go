package discover

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// print returns a fingerprint of a tool: a hash of its command and of everything that a model or user sees.
func (r remote) print(config string) string {
	r.Repeatable, r.Output = false, nil
	raw, err := json.Marshal(r)
	if err != nil { // can't happen: it was decoded from JSON
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

// tool returns the tool that a server offers.
func (l *link) tool(r remote) tool.Tool {
	name, print := clean.Name(l.alias, r.Name), r.print(l.conf.Identity())
	aliases := []string{long + name}
	if written := long + l.alias + "__" + r.Name; written != aliases[0] {
		aliases = append(aliases, written)
	}
	if l.set.alone {
		aliases = append(aliases, r.Name)
	}
	return &remoteTool{
		link: l, remote: r, print: print,
		declaration: tool.Declaration{
			Name: name, DisplayName: fmt.Sprintf("%s (%s)", cmp.Or(r.Title, r.Name), l.alias),
			Description: cmp.Or(r.Description, cmp.Or(r.Title, r.Name)), Parameters: r.Input,
			Kind: tool.Other, Aliases: aliases, Origin: Origin(l.alias), Fingerprint: print,
		},
	}
}

// Origin returns the Origin of the tools of a server.
func Origin(alias string) string { return origin + alias }

const (
	origin = "mcp:"
	long   = "mcp__"
)

// LongName returns the name of a tool in protocols and hooks: those of MCP servers are mcp__server__tool there.
func LongName(d tool.Declaration) string {
	if strings.HasPrefix(d.Origin, origin) {
		return long + strings.TrimPrefix(d.Name, long)
	}
	return d.Name
}

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

// run calls the tool. A call that was lost with its connection is repeated if that is safe: if its request was never
// sent, or the server marks the tool as repeatable.
func (t *remoteTool) run(ctx context.Context, live *tool.Live, args json.RawMessage) (tool.Result, error) {
	for first := true; ; first = false {
		s, err := t.link.acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return tool.Result{}, ctx.Err()
			}
			return tool.Result{}, tool.Errorf(FailedMCP, "%s: MCP server %s failed to start: %w", t.remote.Name,
				t.link.alias, err)
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
			return tool.Result{}, tool.Errorf(tool.ExecutionTimeout, "%s on %s timed out after %s without a response "+
				"or progress. "+
				"The call may still have taken effect; check before retrying.", t.remote.Name, t.link.alias,
				t.link.conf.timeout(t.link.opt.call()))
		case errors.As(err, &login):
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: %w", t.remote.Name, t.link.alias, login)
		case errors.As(err, &rpc) && rpc.Code != codeRejected && !errors.Is(err, mcp.ErrConnectionClosed):
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s failed: %s", t.remote.Name, t.link.alias,
				rpc.Message)
		}
		if s.alive() && unread(err) {
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: the call ran, but its response can't be read: %v",
				t.remote.Name, t.link.alias, err)
		}
		t.link.drop(s, withFate(err, s.fate()))
		if first && (!left || t.remote.Repeatable) {
			continue
		}
		if !left {
			return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s was not called: connection lost: %w", t.remote.Name,
				t.link.alias, plainly(err))
		}
		return tool.Result{}, tool.Errorf(FailedMCP, "%s on %s: the server stopped before it responded%s. "+
			"The call may still have taken effect; check before retrying.", t.remote.Name, t.link.alias,
			because(s.fate()))
	}
}

// unread reports whether an error is about an invalid response, not about the transport. The SDK has no type for it.
func unread(err error) bool {
	text := err.Error()
	return strings.Contains(text, "unmarshal") || strings.Contains(text, "unrecognized content type") ||
		strings.Contains(text, "illegal base64")
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
		return tool.Errorf(FailedMCP, "MCP server %s no longer has a tool %s; it was not called", t.link.alias,
			t.remote.Name)
	}
	return tool.Errorf(FailedMCP, "MCP server %s changed its tool %s, so it was not called. "+
		"Read its new description and call it again.", t.link.alias, t.remote.Name)
}

// answer converts the server's response to a result.
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
	return r, tool.Errorf(FailedMCP, "%s", humanize.Shorten(text, 4000))
}

// outputSchema checks structured results, if the schema is valid.
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

// FailedMCP is the documented error type of an MCP tool that failed.
const FailedMCP tool.ErrorType = "mcp_tool_error"

// parts converts MCP content for the model.
func parts(content []mcp.Content) []tool.Part {
	var out []tool.Part
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			out = append(out, tool.Text(c.Text))
		case *mcp.ImageContent:
			out = append(out, tool.Media{MIMEType: c.MIMEType, Data: c.Data})
		case *mcp.AudioContent:
			out = append(out, tool.Media{MIMEType: c.MIMEType, Data: c.Data})
		case *mcp.EmbeddedResource:
			out = append(out, resourceParts(c.Resource)...)
		case *mcp.ResourceLink:
			out = append(out, tool.Text(linkText(c)))
		default:
			out = append(out, tool.Text(fmt.Sprintf("[unsupported content type: %T]", c)))
		}
	}
	return out
}

func resourceParts(r *mcp.ResourceContents) []tool.Part {
	switch {
	case r == nil:
		return nil
	case r.Blob == nil:
		return []tool.Part{tool.Text(fmt.Sprintf("Resource %s:\n%s", r.URI, r.Text))}
	case isMedia(r.MIMEType):
		return []tool.Part{tool.Text("Resource " + r.URI + ":"), tool.Media{MIMEType: r.MIMEType, Data: r.Blob}}
	}
	mime := r.MIMEType
	if mime == "" {
		mime = "application/octet-stream"
	}
	return []tool.Part{tool.Text(fmt.Sprintf("Resource %s: %d bytes of %s (binary, not shown)", r.URI, len(r.Blob),
		mime))}
}

// isMedia reports whether models accept this type of data.
func isMedia(mime string) bool {
	return strings.HasPrefix(mime, "image/") || strings.HasPrefix(mime, "audio/") || mime == "application/pdf"
}

func linkText(l *mcp.ResourceLink) string {
	name := l.Title
	if name == "" {
		name = l.Name
	}
	s := fmt.Sprintf("Resource link: %s at %s", name, l.URI)
	if l.MIMEType != "" {
		s += " (" + l.MIMEType + ")"
	}
	if l.Description != "" {
		s += ": " + l.Description
	}
	return s
}

// Progress is the display of a running call: "mcp_tool_progress" in the documentation.
type Progress struct {
	Progress float64
	Total    float64 // 0: unknown
	Message  string
}

// Markdown shows the progress of the call.
func (p Progress) Markdown() string {
	s := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		s = fmt.Sprintf("%g of %g", p.Progress, p.Total)
	}
	if p.Message != "" {
		s += ": " + tool.Visible(humanize.Shorten(p.Message, 500))
	}
	return s
}

// MarshalJSON writes the documented object.
func (p Progress) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type     string  `json:"type"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total,omitempty"`
		Message  string  `json:"message,omitempty"`
	}{"mcp_tool_progress", p.Progress, p.Total, p.Message})
}

// result converts a server's response to a result. Most servers repeat structured content as text, whole, in pieces, or
// wrapped; only the values that the text doesn't have are added, as JSON.
func result(res *mcp.CallToolResult) tool.Result {
	content := parts(res.Content)
	if res.StructuredContent == nil {
		return tool.Result{Content: content}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil { // can't happen: it was decoded from JSON
		return tool.Result{Content: content}
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return tool.Result{Content: content}
	}
	rest, left := heard(content).untold(value)
	if !left {
		return tool.Result{Content: content}
	}
	text, err := humanize.JSON(rest)
	if err != nil {
		return tool.Result{Content: content}
	}
	return tool.Result{Content: append(content, tool.Text(text))}
}

// words is the text of a result, to compare structured content with.
type words struct {
	blocks map[string]bool // whole texts, trimmed
	values []any           // texts that are JSON
	all    string
	effort int // remaining budget for comparisons; when it is used up, everything is added
}

// maxEffort bounds the time for a hostile response with many small values and a long text: some tenths of a second.
const maxEffort = 1 << 28

func heard(content []tool.Part) *words {
	s := &words{blocks: map[string]bool{}, effort: maxEffort}
	var all []string
	for _, p := range content {
		t, ok := p.(tool.Text)
		if !ok {
			continue
		}
		text := strings.TrimSpace(string(t))
		s.blocks[text] = true
		all = append(all, text)
		var v any
		if text != "" && strings.ContainsRune(`{["-0123456789tfn`, rune(text[0])) &&
			json.Unmarshal([]byte(text), &v) == nil {
			s.values = append(s.values, v)
		}
	}
	s.all = strings.Join(all, "\n")
	return s
}

// untold returns the part of a value that the text doesn't have, and whether there is any.
func (s *words) untold(v any) (rest any, left bool) {
	if s.effort -= 100 * len(s.values); s.effort > 0 {
		for _, told := range s.values {
			if reflect.DeepEqual(v, told) {
				return nil, false
			}
		}
	}
	switch v := v.(type) {
	case nil:
		return nil, false
	case string:
		return v, !s.saysText(v)
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if s.saysMember(key, member) {
				continue
			}
			if rest, left := s.untold(member); left {
				out[key] = rest
			}
		}
		return out, len(out) > 0
	case []any:
		return s.untoldList(v)
	}
	return v, true
}

// untoldList keeps the positions of a list's elements: those that the text has become null.
func (s *words) untoldList(list []any) (any, bool) {
	out, any := make([]any, len(list)), false
	for i, element := range list {
		if rest, left := s.untold(element); left {
			out[i], any = rest, true
		}
	}
	return out, any
}

// leastQuote is the minimum length of a text that counts as repeated within another: "ok" is in "look".
const leastQuote = 16

func (s *words) saysText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || s.blocks[text] {
		return true
	}
	if bare := unfenced(text); bare != text {
		return s.saysText(bare)
	}
	if len(text) < leastQuote {
		return false
	}
	s.effort -= len(s.all)
	return s.effort > 0 && strings.Contains(s.all, text)
}

// unfenced removes a Markdown code fence around a text.
func unfenced(text string) string {
	fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	first, rest, many := strings.Cut(text, "\n")
	if len(fence) < 3 || !many || strings.Contains(first[len(fence):], "`") {
		return text
	}
	body, ok := strings.CutSuffix(rest, fence)
	if !ok {
		return text
	}
	return strings.TrimSpace(body)
}

// saysMember reports whether a text that is a JSON object has this member.
func (s *words) saysMember(key string, value any) bool {
	for _, told := range s.values {
		if object, ok := told.(map[string]any); ok {
			if other, ok := object[key]; ok && reflect.DeepEqual(value, other) {
				return true
			}
		}
	}
	return false
}
