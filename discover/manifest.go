package discover

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// manifest is what a server offers, as it was last seen. It is kept on disk, so that the tools of a server are known
// before it runs.
type manifest struct {
	Version      int        `json:"version"`
	Hash         string     `json:"hash"` // of the configuration it was seen with
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
	Repeatable  bool            `json:"repeatable,omitempty"` // marked read-only or idempotent: may be replayed after a crash, nothing else
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
	manifestMax     = 32 << 20 // a file that is larger is not ours
)

func manifestPath(state, alias string) string {
	return filepath.Join(state, "manifests", fileName(alias)+".json")
}

// loadManifest reads a cached manifest. It is nil if there is none for this configuration.
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

// cacheName is what the manifest is kept under. Servers list other tools to a client that offers its model, so that has
// one of its own.
func (l *link) cacheName() string {
	if l.opt.Sample != nil {
		return l.alias + " with a model"
	}
	return l.alias
}

// loadCached is the server's manifest of an earlier run. Where there is only one that it gave to a client without a
// model, that will do for now, and whole is false.
func (l *link) loadCached() (m *manifest, whole bool) {
	if m := loadManifest(l.state(), l.cacheName(), l.hash); m != nil {
		return m, true
	}
	return loadManifest(l.state(), l.alias, l.hash), false
}

// save keeps the manifest for the next start.
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

// writeFile replaces a file at once, readable by its owner only.
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
