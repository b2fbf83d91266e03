package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/tool"
)

// approved is the version of an external tool that the user approved.
type approved struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	When        time.Time       `json:"when"`
}

// Versions remember external tools as they were when they were allowed, by their fingerprints, to show the user what
// has changed. They grant nothing: rules do, which have the fingerprint.
type Versions struct {
	path string     // if the file is lost, only the comparison is
	mu   sync.Mutex // several questions may be open
}

// maxApprovals is the maximum number kept, the newest.
const maxApprovals = 1000

// OpenVersions returns the versions that a file has.
func OpenVersions(path string) *Versions { return &Versions{path: path} }

// Confirm returns what a call shows, after the changes of its tool since the user approved it with a fingerprint.
func (a *Versions) Confirm(print string, r tool.Request) tool.Display {
	return tool.Literal(a.changes(print, r.Declaration) + plainText(r.Confirm))
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
func (a *Versions) changes(print string, now tool.Declaration) string {
	for full, before := range a.load() {
		if !strings.HasPrefix(full, print) {
			continue
		}
		if diff := edit.Compare(describe(before.Description, before.Parameters),
			describe(now.Description, now.Parameters)).Unified("allowed", "now"); diff != "" {
			return "This tool changed since you approved it:\n" + diff + "\nThis call:\n"
		}
		return "This tool's server changed since you approved it: its command, URL or environment.\n\nThis call:\n"
	}
	return "This tool changed since you approved it (the previous version isn't available).\n\nThis call:\n"
}

// describe returns the description and the parameters of a tool, one per line.
func describe(description string, parameters json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, parameters, "", "  ") != nil {
		b.Reset()
		b.Write(parameters)
	}
	return fmt.Sprintf("%s\n%s\n", strings.TrimRight(description, "\n"), b.String())
}

// load reads the stored approvals. An invalid file counts as empty.
func (a *Versions) load() map[string]approved {
	known := map[string]approved{}
	raw, err := os.ReadFile(a.path)
	if err != nil || json.Unmarshal(raw, &known) != nil || known == nil {
		return map[string]approved{}
	}
	return known
}

// Add stores the current version of a tool.
func (a *Versions) Add(d tool.Declaration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.load()
	known[d.Fingerprint] = approved{d.Name, d.Description, d.Parameters, time.Now().UTC()}
	for len(known) > maxApprovals {
		delete(known, slices.MinFunc(slices.Collect(maps.Keys(known)), func(x, y string) int {
			return known[x].When.Compare(known[y].When)
		}))
	}
	raw, err := json.MarshalIndent(known, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(a.path), 0o700) == nil {
		_, _ = atomicfile.Write(a.path, raw, atomicfile.Options{Mode: 0o600})
	}
}
