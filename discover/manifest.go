package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// manifest is what a server offers: its tools, prompts and resources. It is stored on disk, so that the tools of a
// server are known before it runs.
type manifest struct {
	Version      int        `json:"version"`
	Hash         string     `json:"hash"` // hash of the server's configuration
	Seen         time.Time  `json:"seen"`
	Instructions string     `json:"instructions,omitempty"`
	Tools        []remote   `json:"tools"`
	Prompts      []Prompt   `json:"prompts,omitempty"`
	Resources    []Resource `json:"resources,omitempty"`
	Warnings     []string   `json:"warnings,omitempty"`
}

// remote is a tool as its server describes it.
type remote struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	// marked read-only or idempotent: can be repeated after a crash
	Repeatable bool `json:"repeatable,omitempty"`
}

// Prompt is a prompt that a server offers.
type Prompt struct {
	Server      string           `json:"-"`
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is a resource, or a template of resources, that a server offers.
type Resource struct {
	Server      string `json:"-"`
	URI         string `json:"uri"`
	Template    bool   `json:"template,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

const (
	manifestVersion = 1
	manifestMax     = 32 << 20 // larger files are ignored
)

func manifestPath(state, alias string) string {
	return filepath.Join(state, "manifests", fileName(alias)+".json")
}

// loadManifest reads a cached manifest. It returns nil if this configuration has none.
func loadManifest(state, alias, hash string) *manifest {
	if state == "" {
		return nil
	}
	path := manifestPath(state, alias)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > manifestMax {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var m manifest
	if json.Unmarshal(raw, &m) != nil || m.Version != manifestVersion || m.Hash != hash {
		return nil
	}
	return &m
}

// cacheName returns the name of the manifest's file. Servers may list other tools to a client that offers a model, so
// that has its own.
func (l *link) cacheName() string {
	if l.opt.Sample != nil {
		return l.alias + " with a model"
	}
	return l.alias
}

// loadCached returns the server's manifest from an earlier run. If the only one is for a client without a model, it
// returns that with whole false.
func (l *link) loadCached() (m *manifest, whole bool) {
	if m := loadManifest(l.state(), l.cacheName(), l.hash); m != nil {
		return m, true
	}
	return loadManifest(l.state(), l.alias, l.hash), false
}

// save stores the manifest for the next start.
func (m *manifest) save(state, alias string) error {
	if state == "" {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(manifestPath(state, alias), raw)
}

// writeFile replaces a file atomically, readable only by its owner.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

const (
	maxPages = 200
	maxItems = 1000 // tools, prompts or resources of one server
)

var errTooMany = errors.New("too many")

// pages calls list with one cursor after another. It stops at repeated cursors, and after too many pages or items.
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

// list reads everything that a server offers. It requests only lists that the server advertises.
func (s *session) list(ctx context.Context) (*manifest, error) {
	m := &manifest{Version: manifestVersion, Hash: s.link.hash, Seen: time.Now().UTC()}
	init := s.cs.InitializeResult()
	m.Instructions, _ = clean.Text(init.Instructions, clean.MaxText)
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

// warn records a failure that doesn't affect tools.
func (m *manifest) warn(what string, err error) {
	switch {
	case errors.Is(err, errTooMany):
		m.Warnings = append(m.Warnings, fmt.Sprintf("it lists more than %d %s, or its pagination loops; the "+
			"rest is ignored", maxItems, what))
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
				m.Warnings = append(m.Warnings, fmt.Sprintf("%s is listed more than once; using the first",
					humanize.Shorten(t.Name, 100)))
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

// addTool adds a tool, with bounded texts and without invisible characters.
func (m *manifest) addTool(t *mcp.Tool) {
	if t.Meta[stdio.TaskKey] != nil {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s is ignored: it can only be called as a task, which Adze "+
			"doesn't support", t.Name))
		return
	}
	r := remote{Name: t.Name, Title: t.Title}
	var hidden int
	r.Description, hidden = clean.Text(t.Description, clean.MaxText)
	input, more := clean.Schema(t.InputSchema)
	r.Input = input
	if hidden += more; hidden > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s: removed %d invisible characters from its texts", t.Name,
			hidden))
	}
	if t.OutputSchema != nil {
		r.Output, _ = json.Marshal(t.OutputSchema)
	}
	if a := t.Annotations; a != nil {
		r.Title, _ = clean.Text(cmp.Or(r.Title, a.Title), 200)
		r.Repeatable = a.IdempotentHint || a.ReadOnlyHint && (a.DestructiveHint == nil || !*a.DestructiveHint)
	}
	r.Title, _ = clean.Text(r.Title, 200)
	m.Tools = append(m.Tools, r)
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
			out.Description, _ = clean.Text(p.Description, clean.MaxText)
			for _, a := range p.Arguments {
				text, _ := clean.Text(a.Description, clean.MaxText)
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
			r.Description, _ = clean.Text(r.Description, clean.MaxText)
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
			add(Resource{
				URI: r.URITemplate, Template: true, Name: r.Name, Title: r.Title, Description: r.Description,
				MIMEType: r.MIMEType,
			})
		}
		return res.NextCursor, len(m.Resources) >= maxItems, nil
	})
}

// indent writes JSON for users.
func indent(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}
