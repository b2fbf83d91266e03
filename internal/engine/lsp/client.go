package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/text"
)

// Process is a server that runs.
type Process interface {
	io.Reader // its standard output
	io.Writer // its standard input
	// Log returns the end of what it printed elsewhere.
	Log() string
	// Outdated reports why the process must not be used any longer; "": it may.
	Outdated() string
	// Stop stops it and everything that it started. It may be called more than once.
	Stop()
}

const (
	maxText = 4 << 20 // of a file that a server gets
	maxOpen = 64      // documents
	maxKept = 1000    // diagnostics of a document
)

// client is a conversation with a server that was initialized.
type client struct {
	*conn
	server  Server
	process Process
	options Options
	can     capabilities
	turn    chan struct{} // has a token while nothing uses the documents

	mu    sync.Mutex
	docs  map[string]*document
	used  int           // a counter of uses
	news  chan struct{} // closed at the next publication
	began time.Time
	told  map[string]time.Time // when files changed of which the server learned

	compared comparing // used with the turn
}

// document is a file that the server knows from its client.
type document struct {
	path    string
	text    string
	version int
	used    int

	published int // the version whose diagnostics these are; 0: none
	list      []Diagnostic
}

// dial starts a conversation.
func dial(ctx context.Context, s Server, p Process, o Options) (*client, error) {
	c := &client{
		server: s, process: p, options: o, turn: make(chan struct{}, 1), docs: map[string]*document{},
		news: make(chan struct{}), told: map[string]time.Time{}, began: time.Now(), compared: newComparing(),
	}
	c.turn <- struct{}{}
	c.conn = talk(p, p, c.notified, c.asked)
	var answer struct {
		Capabilities capabilities `json:"capabilities"`
	}
	if err := c.call(ctx, "initialize", initialization(o.Root, s.Init), &answer); err != nil {
		return nil, err
	}
	c.can = answer.Capabilities
	c.notify("initialized", struct{}{})
	if len(s.Settings) > 0 {
		c.notify("workspace/didChangeConfiguration", map[string]any{"settings": s.Settings})
	}
	return c, nil
}

func (c *client) inBytes() bool { return c.can.PositionEncoding == "utf-8" }

// asked answers what a server asks: its settings. Everything else is refused, changes and commands too.
func (c *client) asked(method string, params json.RawMessage) (any, *ResponseError) {
	switch method {
	case "workspace/configuration":
		var p struct{ Items []struct{ Section string } }
		_ = json.Unmarshal(params, &p)
		values := make([]json.RawMessage, min(len(p.Items), 100))
		for i := range values {
			values[i] = c.server.Settings[p.Items[i].Section]
		}
		return values, nil
	case "workspace/workspaceFolders", "client/registerCapability", "client/unregisterCapability":
		return nil, nil // nothing is registered, and servers end without an answer
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "this client applies no edits"}, nil
	}
	return nil, &ResponseError{Code: methodNotFound, Message: "this client doesn't do that"}
}

func (c *client) notified(method string, params json.RawMessage) {
	if method != "textDocument/publishDiagnostics" {
		return
	}
	var p published
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path := pathOf(p.URI)
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.docs[path]
	if d == nil || p.Version == nil || *p.Version != d.version { // without a version, it may be about an older text
		return
	}
	d.published, d.list = d.version, c.diagnostics(path, p.Diagnostics)
	close(c.news)
	c.news = make(chan struct{})
}

// diagnostics returns errors and warnings, the errors first.
func (c *client) diagnostics(path string, all []diagnostic) []Diagnostic {
	var errs, rest []Diagnostic
	for _, d := range all {
		if len(errs)+len(rest) == maxKept {
			break
		}
		one := Diagnostic{
			Path: path, Line: max(0, d.Range.Start.Line) + 1, Error: d.Severity <= 1,
			Message: cut(textOf(d.Message), 2000), Source: cut(d.Source, 50),
		}
		if one.Error {
			errs = append(errs, one)
		} else if d.Severity == 2 {
			rest = append(rest, one)
		}
	}
	return append(errs, rest...)
}

// cut shortens a text from outside.
func cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// enter waits for the turn to use the documents; leave ends it.
func (c *client) enter(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	default:
	}
	select {
	case <-c.turn:
		return nil
	case <-c.done:
		return c.reason()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) leave() { c.turn <- struct{}{} }

// errTooLarge is for files that no server gets.
var errTooLarge = fmt.Errorf("it is larger than %d MB, and isn't sent to language servers", maxText>>20)

// Text returns the text of a file as servers get it: with \n as the line ending.
func Text(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it isn't a regular file")
	}
	if info.Size() > maxText {
		return "", errTooLarge
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	d, err := text.Decode(content)
	if err != nil {
		return "", err
	}
	return d.Text, nil
}

// open gives the server a text of a file: as a new document, or as the next version of it. The caller has the turn.
func (c *client) open(path, content string) *document {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used++
	d := c.docs[path]
	if d == nil {
		d = &document{path: path, text: content, version: 1}
		c.docs[path] = d
		c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": uriOf(path), "languageId": c.server.language(path), "version": 1, "text": content,
		}})
	} else if d.text != content {
		d.text, d.version = content, d.version+1
		c.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uriOf(path), "version": d.version},
			"contentChanges": []map[string]string{{"text": content}},
		})
	}
	d.used = c.used
	return d
}

// version returns the version of a document; 0: it isn't open.
func (c *client) version(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.docs[path]; d != nil {
		return d.version
	}
	return 0
}

// shut closes a document: the server reads the file from then on.
func (c *client) shut(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.docs[path] != nil {
		delete(c.docs, path)
		c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": uriOf(path)}})
	}
}

// sync gives the server the text that a file has now.
func (c *client) sync(path string) (*document, error) {
	content, err := Text(path)
	if err != nil {
		c.shut(path)
		return nil, err
	}
	return c.open(path, content), nil
}

// syncAll gives the server the current texts of all documents, closes what is too much, and returns the others, the
// latest first. changed reports that a text was another one.
func (c *client) syncAll(except func(path string) bool) (list []*document, changed bool) {
	for i, d := range c.opened() {
		if i >= maxOpen {
			c.shut(d.path)
			continue
		}
		if except(d.path) {
			continue
		}
		before := d.version
		used := d.used
		if d, err := c.sync(d.path); err == nil {
			d.used = used
			changed = changed || d.version != before
			list = append(list, d)
		}
	}
	return list, changed
}

// opened returns the documents, the latest first.
func (c *client) opened() []*document {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.docs), func(a, b *document) int { return b.used - a.used })
}

// changedFiles reports files to the server that changed on disk. kind is 1 for created, 2 for changed, 3 for deleted.
func (c *client) changedFiles(kinds map[string]int) {
	type event struct {
		URI  string `json:"uri"`
		Type int    `json:"type"`
	}
	var events []event
	for path, kind := range kinds {
		events = append(events, event{uriOf(path), kind})
	}
	if events != nil {
		c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
	}
}

// pulls reports whether the server answers with the diagnostics of a document when it is asked.
func (c *client) pulls() bool { return c.server.TSServer || offered(c.can.DiagnosticProvider) }

// pull returns the current diagnostics of a document.
func (c *client) pull(ctx context.Context, d *document) ([]Diagnostic, error) {
	if c.server.TSServer {
		return c.pullTSServer(ctx, d.path)
	}
	if !offered(c.can.DiagnosticProvider) {
		return c.awaitPublished(ctx, d)
	}
	for try := 0; ; try++ {
		var report struct{ Items []diagnostic }
		err := c.call(ctx, "textDocument/diagnostic", map[string]any{
			"textDocument": map[string]string{"uri": uriOf(d.path)},
		}, &report)
		var failed *ResponseError
		if errors.As(err, &failed) && (failed.Code == serverCancelled || failed.Code == contentModified) && try < 3 {
			continue // it asks to be asked again
		}
		return c.diagnostics(d.path, report.Items), err
	}
}

// awaitPublished waits for the diagnostics of the current version.
func (c *client) awaitPublished(ctx context.Context, d *document) ([]Diagnostic, error) {
	for {
		c.mu.Lock()
		current, list, news := d.published == d.version, d.list, c.news
		c.mu.Unlock()
		if current {
			return list, nil
		}
		select {
		case <-news:
		case <-c.done:
			return nil, c.reason()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pullTSServer asks TypeScript's own server, because what typescript-language-server publishes has no version.
func (c *client) pullTSServer(ctx context.Context, path string) ([]Diagnostic, error) {
	var all []diagnostic
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var answer struct {
			Body []struct {
				Start    struct{ Line int }
				Text     string
				Category string
			}
		}
		if err := c.call(ctx, "workspace/executeCommand", map[string]any{
			"command": "typescript.tsserverRequest", "arguments": []any{command, map[string]string{"file": path}},
		}, &answer); err != nil {
			return nil, err
		}
		severities := map[string]int{"error": 1, "warning": 2}
		for _, b := range answer.Body {
			one := diagnostic{Severity: 3, Source: "ts"}
			if n, ok := severities[b.Category]; ok {
				one.Severity = n
			}
			one.Message, _ = json.Marshal(b.Text)
			one.Range.Start.Line = b.Start.Line - 1
			all = append(all, one)
		}
	}
	return c.diagnostics(path, all), nil
}
