package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/atomicfile"
	"github.com/adze-dev/adze/internal/edit"
	"github.com/adze-dev/adze/tool"
)

// approved is the version of an external tool that the user approved.
type approved struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	When        time.Time       `json:"when"`
}

// approvals remember what external tools were like when they were allowed, by their fingerprints, so that a user
// who is asked again can be shown what has changed. They grant nothing: that is for rules, which hold the fingerprint.
type approvals struct {
	path string // a file that is lost costs only the comparison

	mu    sync.Mutex // several questions may be open
	known map[string]approved
}

// maxApprovals is how many are kept, the newest.
const maxApprovals = 1000

// Asking wraps ask: it first shows what has changed of a tool since the user approved it, and saves approvals that the
// user wants to keep.
func (s *Session) Asking(ask tool.Asker) tool.Asker {
	a := &approvals{path: filepath.Join(s.Folder.MCPState(), "approved.json")}
	return func(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
		s.tracker.Prepare(context.WithoutCancel(ctx), r.Access)
		shown := r
		if old := s.Policy.Outdated(r); old != "" && !r.MustAsk {
			shown.Confirm = tool.Literal(a.changes(old, r.Declaration) + plainText(r.Confirm))
		}
		d, err := s.hooks.asking(ctx, shown, why, ask)
		if err == nil && d.Remember != "" && r.Declaration.Fingerprint != "" {
			a.add(r.Declaration)
		}
		return d, err
	}
}

func plainText(d tool.Display) string {
	switch d := d.(type) {
	case nil:
		return ""
	case tool.Literal:
		return string(d)
	}
	return d.Markdown()
}

// changes describes how a tool differs from the version that the user approved.
func (a *approvals) changes(print string, now tool.Declaration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load()
	for full, before := range a.known {
		if !strings.HasPrefix(full, print) {
			continue
		}
		if diff := edit.Compare(describe(before.Description, before.Parameters), describe(now.Description, now.Parameters)).Unified("allowed", "now"); diff != "" {
			return "This tool changed since you approved it:\n" + diff + "\nThis call:\n"
		}
		return "This tool's server changed since you approved it: its command, URL or environment.\n\nThis call:\n"
	}
	return "This tool changed since you approved it (the previous version isn't available).\n\nThis call:\n"
}

// describe is the description and the parameters of a tool, one per line.
func describe(description string, parameters json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, parameters, "", "  ") != nil {
		b.Reset()
		b.Write(parameters)
	}
	return fmt.Sprintf("%s\n%s\n", strings.TrimRight(description, "\n"), b.String())
}

// load reads what was kept. What cannot be read is as good as nothing.
func (a *approvals) load() {
	if a.known != nil {
		return
	}
	a.known = map[string]approved{}
	if raw, err := os.ReadFile(a.path); err == nil {
		if json.Unmarshal(raw, &a.known) != nil || a.known == nil {
			a.known = map[string]approved{}
		}
	}
}

// add keeps a tool as it is.
func (a *approvals) add(d tool.Declaration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = nil // another process may have written it meanwhile
	a.load()
	a.known[d.Fingerprint] = approved{d.Name, d.Description, d.Parameters, time.Now().UTC()}
	for len(a.known) > maxApprovals {
		oldest := ""
		for print, one := range a.known {
			if oldest == "" || one.When.Before(a.known[oldest].When) {
				oldest = print
			}
		}
		delete(a.known, oldest)
	}
	raw, err := json.MarshalIndent(a.known, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(a.path), 0o700) == nil {
		_, _ = atomicfile.Write(a.path, raw, atomicfile.Options{Mode: 0o600})
	}
}
