package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxPages = 200
	maxItems = 1000 // tools, prompts and resources of one server, each
)

var errTooMany = errors.New("too many")

// pages calls list with one cursor after another. A server whose cursors go in a circle, or that has too many pages or
// items, is not followed for ever.
func pages(list func(cursor string) (next string, full bool, err error)) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		next, full, err := list(cursor)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case full || seen[next] || len(seen) >= maxPages:
			return errTooMany
		}
		seen[next] = true
		cursor = next
	}
}

// list asks a server for all that it offers. Only what it advertises is asked for: others answer with errors.
func (s *session) list(ctx context.Context) (*manifest, error) {
	m := &manifest{Version: manifestVersion, Hash: s.link.hash, Seen: time.Now().UTC()}
	init := s.cs.InitializeResult()
	m.Instructions, _ = clean(init.Instructions, maxDescription)
	caps := init.Capabilities
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	if caps.Tools != nil {
		if err := s.listTools(ctx, m); err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
	}
	if caps.Prompts != nil {
		m.warn("prompts", s.listPrompts(ctx, m))
	}
	if caps.Resources != nil {
		m.warn("resources", s.listResources(ctx, m))
	}
	return m, ctx.Err()
}

// warn notes a failure that costs no tool.
func (m *manifest) warn(what string, err error) {
	switch {
	case errors.Is(err, errTooMany):
		m.Warnings = append(m.Warnings, fmt.Sprintf("it lists more than %d %s, or its pagination loops; the rest is ignored", maxItems, what))
	case err != nil:
		m.Warnings = append(m.Warnings, fmt.Sprintf("listing its %s failed: %v", what, err))
	}
}

func (s *session) listTools(ctx context.Context, m *manifest) error {
	seen := map[string]bool{}
	err := pages(func(cursor string) (string, bool, error) {
		res, err := s.cs.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return "", false, err
		}
		for _, t := range res.Tools {
			if len(m.Tools) == maxItems {
				return "more", true, nil
			}
			if t == nil || t.Name == "" {
				if why := "ignored a tool that has no name or can't be read"; !slices.Contains(m.Warnings, why) {
					m.Warnings = append(m.Warnings, why)
				}
			} else if seen[t.Name] {
				m.Warnings = append(m.Warnings, fmt.Sprintf("%s is listed more than once; using the first", clip(t.Name, 100)))
			} else {
				seen[t.Name] = true
				m.addTool(t)
			}
		}
		return res.NextCursor, len(m.Tools) >= maxItems, nil
	})
	if errors.Is(err, errTooMany) {
		m.warn("tools", err)
		return nil
	}
	return err
}

// addTool notes a tool, its texts bounded and freed of what cannot be seen.
func (m *manifest) addTool(t *mcp.Tool) {
	if t.Meta[taskKey] != nil {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s is ignored: it can only be called as a task, which Adze doesn't support", t.Name))
		return
	}
	r := remote{Name: t.Name, Title: t.Title}
	var hidden int
	r.Description, hidden = clean(t.Description, maxDescription)
	input, more := cleanSchema(t.InputSchema)
	r.Input = input
	if hidden += more; hidden > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s: removed %d invisible characters from its texts", t.Name, hidden))
	}
	if t.OutputSchema != nil {
		r.Output, _ = json.Marshal(t.OutputSchema)
	}
	if a := t.Annotations; a != nil {
		r.Title, _ = clean(orElse(r.Title, a.Title), 200)
		r.Repeatable = a.IdempotentHint || a.ReadOnlyHint && (a.DestructiveHint == nil || !*a.DestructiveHint)
	}
	r.Title, _ = clean(r.Title, 200)
	m.Tools = append(m.Tools, r)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// maxSchema is how large a schema may be. A larger one is replaced by one that allows everything: the server checks.
const maxSchema = 256 << 10

// cleanSchema is a schema as JSON, its descriptions and titles freed of invisible characters.
func cleanSchema(schema any) (json.RawMessage, int) {
	hidden := 0
	cleanNode(schema, 0, &hidden)
	raw, err := json.Marshal(schema)
	if err != nil || !isObject(raw) || len(raw) > maxSchema {
		return json.RawMessage(`{"type":"object"}`), hidden
	}
	return raw, hidden
}

func cleanNode(v any, depth int, hidden *int) {
	if depth > 200 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if text, ok := child.(string); ok && (key == "description" || key == "title") {
				cleaned, n := clean(text, maxDescription)
				v[key] = cleaned
				*hidden += n
				continue
			}
			cleanNode(child, depth+1, hidden)
		}
	case []any:
		for _, child := range v {
			cleanNode(child, depth+1, hidden)
		}
	}
}

func (s *session) listPrompts(ctx context.Context, m *manifest) error {
	return pages(func(cursor string) (string, bool, error) {
		res, err := s.cs.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", false, err
		}
		for _, p := range res.Prompts {
			if p == nil || len(m.Prompts) == maxItems {
				continue
			}
			out := Prompt{Name: p.Name, Title: p.Title}
			out.Description, _ = clean(p.Description, maxDescription)
			for _, a := range p.Arguments {
				text, _ := clean(a.Description, maxDescription)
				out.Arguments = append(out.Arguments, PromptArgument{a.Name, text, a.Required})
			}
			m.Prompts = append(m.Prompts, out)
		}
		return res.NextCursor, len(m.Prompts) >= maxItems, nil
	})
}

func (s *session) listResources(ctx context.Context, m *manifest) error {
	add := func(r Resource) {
		if len(m.Resources) < maxItems {
			r.Description, _ = clean(r.Description, maxDescription)
			m.Resources = append(m.Resources, r)
		}
	}
	err := pages(func(cursor string) (string, bool, error) {
		res, err := s.cs.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return "", false, err
		}
		for _, r := range res.Resources {
			add(Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
		}
		return res.NextCursor, len(m.Resources) >= maxItems, nil
	})
	if err != nil {
		return err
	}
	return pages(func(cursor string) (string, bool, error) {
		res, err := s.cs.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return "", false, err
		}
		for _, r := range res.ResourceTemplates {
			add(Resource{URI: r.URITemplate, Template: true, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
		}
		return res.NextCursor, len(m.Resources) >= maxItems, nil
	})
}
