package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Diagnostic is an error or a warning of a server. Its texts are from outside.
type Diagnostic struct {
	Path    string
	Line    int // from 1
	Error   bool
	Message string
}

// Change is a change of a file.
type Change struct {
	Path    string
	Before  *string // its text before the change; nil: it didn't exist, or isn't known
	Created bool
}

// News are the diagnostics that appeared and disappeared since the last News, errors first.
type News struct{ New, Fixed []Diagnostic }

const (
	maxChanges = 32 // changed files that are diagnosed
	maxDue     = 48 // documents that are diagnosed after a change
	// diagnoseFor is the time for the diagnostics after a change.
	diagnoseFor = 30 * time.Second
	// publishFor is the time in which a server publishes them. Nothing else is asked meanwhile.
	publishFor = 10 * time.Second
)

// diagnosticsOf returns errors and warnings, the errors first.
func diagnosticsOf(path string, all []diagnostic) (list []Diagnostic) {
	for _, severity := range []int{1, 2} {
		for _, d := range all {
			if max(d.Severity, 1) == severity && len(list) < maxKept {
				list = append(list, Diagnostic{
					Path: path, Line: max(0, d.Range.Start.Line) + 1, Error: severity == 1,
					Message: humanize.Cut(textOf(d.Message), 2000),
				})
			}
		}
	}
	return list
}

// diagnose returns the diagnostics of the current text of a document.
func (c *client) diagnose(ctx context.Context, d *document) ([]Diagnostic, error) {
	if c.server.TSServer {
		return c.diagnoseTSServer(ctx, d.path)
	}
	if !c.answersDiagnostics() {
		return c.awaitPublished(ctx, d)
	}
	for try := 0; ; try++ {
		var report struct{ Items []diagnostic }
		err := c.call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": named(d.path)}, &report)
		var failed *failure
		if errors.As(err, &failed) && (failed.Code == serverCancelled || failed.Code == contentModified) && try < 3 {
			continue // it asks to be asked again
		}
		return diagnosticsOf(d.path, report.Items), err
	}
}

func (c *client) answersDiagnostics() bool {
	return c.server.TSServer || offered(c.can["diagnosticProvider"])
}

var errSilent = errors.New("the server doesn't say which text its diagnostics are for")

// awaitPublished waits for the diagnostics of the current version.
func (c *client) awaitPublished(ctx context.Context, d *document) ([]Diagnostic, error) {
	ctx, cancel := context.WithTimeout(ctx, publishFor)
	defer cancel()
	for {
		c.docs.Lock()
		c.silent = c.silent || ctx.Err() != nil
		current, list, silent := d.published == d.version, d.list, c.silent
		c.docs.Unlock()
		switch {
		case current:
			return list, nil
		case silent:
			return nil, errSilent
		}
		select {
		case <-c.news:
		case <-ctx.Done():
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
	}
}

// diagnoseTSServer asks TypeScript's own server, because what typescript-language-server publishes has no version.
func (c *client) diagnoseTSServer(ctx context.Context, path string) ([]Diagnostic, error) {
	var all []diagnostic
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var answer struct {
			Body []struct {
				Start          Position // from 1
				Text, Category string
			}
		}
		if err := c.call(ctx, "workspace/executeCommand", map[string]any{
			"command": "typescript.tsserverRequest", "arguments": []any{command, map[string]string{"file": path}},
		}, &answer); err != nil {
			return nil, err
		}
		for _, b := range answer.Body {
			if i := slices.Index([]string{"error", "warning"}, b.Category); i >= 0 {
				at := Range{Start: Position{Line: b.Start.Line - 1}}
				all = append(all, diagnostic{Range: at, Severity: i + 1, Message: b.Text})
			}
		}
	}
	return diagnosticsOf(path, all), nil
}

// examine determines the current diagnostics of documents. Those of the first time are no news.
func (c *client) examine(ctx context.Context, docs []*document) error {
	for _, d := range docs {
		list, err := c.diagnose(ctx, d)
		if err != nil {
			return err
		}
		if !d.examined {
			d.examined, d.known = true, list
		}
		d.now, d.asOf = list, c.changes
	}
	return nil
}

// look opens a file, and determines its diagnostics before it changes.
func (c *client) look(ctx context.Context, path string) {
	if d, err := c.sync(path); err == nil && !d.examined { // otherwise it is the file's own problem
		_ = c.examine(ctx, []*document{d})
	}
}

// warmUp waits until the server has read the project.
func (c *client) warmUp(ctx context.Context) {
	examined := slices.ContainsFunc(c.open, func(d *document) bool { return d.examined })
	if !examined && offered(c.can["workspaceSymbolProvider"]) {
		var none items
		_ = c.call(ctx, "workspace/symbol", map[string]string{"query": "adze"}, &none)
	}
	c.docs.Lock()
	defer c.docs.Unlock()
	c.started = true
}

// compare determines the diagnostics after changes that are on disk already. Where those before aren't known, the
// server gets the old texts again.
func (c *client) compare(ctx context.Context, changes []Change) {
	dirs := map[string]bool{}
	var own []Change
	var before []*document
	for _, one := range changes {
		if c.server.language(one.Path) == "" || c.options.Hide(one.Path) || len(own) == maxChanges {
			continue
		}
		own = append(own, one)
		dirs[filepath.Dir(one.Path)] = true
		d := c.document(one.Path)
		if one.Before != nil && len(*one.Before) <= maxText && (d == nil || !d.examined) {
			before = append(before, c.give(one.Path, *one.Before))
		}
	}
	err := c.examine(ctx, before)
	for _, one := range own {
		if d, err := c.sync(one.Path); err == nil {
			d.examined, d.due = d.examined || one.Created, true
		}
	}
	c.refresh()
	c.report(changes)
	if err == nil {
		_ = c.examine(ctx, c.due(dirs))
	}
}

// due returns the documents whose diagnostics may have changed since they were reported, the latest first: those that
// changed and, if the server is asked, others in some directories. What a server that isn't asked knows about them may
// be older than the change.
func (c *client) due(dirs map[string]bool) (list []*document) {
	for _, d := range c.open {
		d.due = d.due || d.examined && dirs[filepath.Dir(d.path)] && c.answersDiagnostics()
		if d.due && len(list) < maxDue {
			list = append(list, d)
		}
	}
	return list
}

// current returns the documents whose current diagnostics are known. A server that isn't asked may publish better ones.
func (c *client) current() (list []*document) {
	if c == nil {
		return nil
	}
	c.docs.Lock()
	defer c.docs.Unlock()
	for _, d := range c.open {
		if d.examined && d.asOf == c.changes {
			if list = append(list, d); d.published == d.version && !c.answersDiagnostics() {
				d.now = d.list
			}
		}
	}
	return list
}

// unreported returns what differs from what was reported, and a function that notes that this was.
func (c *client) unreported() (n News, reported func()) {
	docs := c.current()
	for _, d := range docs {
		n.New = append(n.New, without(d.now, d.known)...)
		n.Fixed = append(n.Fixed, without(d.known, d.now)...)
	}
	for _, list := range [][]Diagnostic{n.New, n.Fixed} {
		sorted.By(list, func(a, b Diagnostic) int { return strings.Compare(a.order(), b.order()) })
	}
	return n, func() {
		for _, d := range docs {
			d.known, d.due = d.now, false
		}
	}
}

// order is what diagnostics are sorted by: errors come first.
func (d Diagnostic) order() string { return fmt.Sprint(!d.Error, d.Path) }

// without returns the diagnostics of a list that aren't in another one. Lines don't count: a change moves them.
func without(list, other []Diagnostic) (out []Diagnostic) {
	count := map[Diagnostic]int{}
	for _, d := range other {
		d.Line = 0
		count[d]++
	}
	for _, d := range list {
		key := d
		if key.Line = 0; count[key] > 0 {
			count[key]--
		} else {
			out = append(out, d)
		}
	}
	return out
}
