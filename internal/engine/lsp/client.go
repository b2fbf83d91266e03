package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// Process is a server that runs.
type Process interface {
	io.Reader // its standard output
	io.Writer // its standard input
	// Log returns the end of what it printed elsewhere.
	Log() string
	// Outdated reports whether the process must not be used any longer.
	Outdated() bool
	// Stop stops it and everything that it started.
	Stop()
}

const (
	maxText = 4 << 20 // of a file that a server gets
	maxOpen = 64      // documents
	maxKept = 1000    // diagnostics of a document
)

// client is a conversation with a server. It belongs to one goroutine.
type client struct {
	*conn
	server  Server
	process Process
	options Options
	can     map[string]json.RawMessage
	changes int                  // of texts
	told    map[string]time.Time // when files were modified that the server has read; "": its start
	news    chan struct{}        // has a token if it published diagnostics

	docs    sync.Mutex  // of what the reader of messages uses too
	open    []*document // the latest first
	silent  bool        // it publishes no diagnostics with versions
	log     string      // the end of what it logged
	trouble string      // the last error that it logged while it started
	started bool
}

// document is a file that the server has from its client.
type document struct {
	path    string
	text    string
	version int

	published int // the version that the server published diagnostics of; 0: none
	list      []Diagnostic

	examined bool         // known is known
	due      bool         // they may have changed since they were reported
	known    []Diagnostic // reported, or there before the first change
	now      []Diagnostic
	asOf     int // the changes of texts before now
}

func newClient(ctx context.Context, s Server, p Process, o Options) *client {
	c := &client{
		server: s, process: p, options: o, told: map[string]time.Time{"": time.Now()}, news: make(chan struct{}, 1),
	}
	c.conn = talk(ctx, p, c.heard)
	return c
}

func (c *client) initialize() error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, startTime, errors.New("it didn't answer the initialization"))
	defer cancel()
	var answer struct {
		Capabilities map[string]json.RawMessage
	}
	err := c.call(ctx, "initialize", initialization(c.options.Root, c.server.Init), &answer)
	c.can = answer.Capabilities
	c.notify("initialized", struct{}{})
	if len(c.server.Settings) > 0 {
		c.notify("workspace/didChangeConfiguration", map[string]any{"settings": c.server.Settings})
	}
	return err
}

// heard answers what a server asks: its settings. Everything else is refused, changes and commands too.
func (c *client) heard(method string, params json.RawMessage) (answer any, known bool) {
	switch method {
	case "textDocument/publishDiagnostics":
		c.published(params)
	case "window/logMessage", "window/showMessage":
		c.logged(params)
	case "workspace/configuration":
		var p struct{ Items []struct{ Section string } }
		_ = json.Unmarshal(params, &p)
		values := make([]json.RawMessage, min(len(p.Items), 100))
		for i := range values {
			values[i] = c.server.Settings[p.Items[i].Section]
		}
		return values, true
	case "workspace/workspaceFolders", "client/registerCapability", "client/unregisterCapability":
		return nil, true // nothing is registered, and servers exit without an answer
	}
	return nil, false
}

// logged takes what the server has to say.
func (c *client) logged(params json.RawMessage) {
	var p struct {
		Type    int // 1: an error
		Message string
	}
	_ = json.Unmarshal(params, &p)
	c.docs.Lock()
	defer c.docs.Unlock()
	const most = 2 << 10
	c.log += strings.TrimSpace(p.Message) + "\n"
	c.log = c.log[max(0, len(c.log)-most):]
	if p.Type == 1 && !c.started {
		c.trouble = humanize.Cut(strings.TrimSpace(p.Message), 300)
	}
}

// messages returns the end of what the server logged, and why it may not know the whole project.
func (c *client) messages() (log, trouble string) {
	c.docs.Lock()
	defer c.docs.Unlock()
	return strings.TrimSpace(c.process.Log() + "\n" + strings.ToValidUTF8(c.log, "")), c.trouble
}

// published takes diagnostics that the server sent by itself. Without a version, they may be about an older text.
func (c *client) published(params json.RawMessage) {
	var p struct {
		URI         string
		Version     int
		Diagnostics []diagnostic
	}
	_ = json.Unmarshal(params, &p)
	c.docs.Lock()
	defer c.docs.Unlock()
	if d := c.document(names.FromURI(p.URI)); d != nil && p.Version == d.version {
		d.published, d.list, c.silent = d.version, diagnosticsOf(d.path, p.Diagnostics), false
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
}

// document returns an open document; nil: it isn't open. The caller holds the lock, or is the client's goroutine.
func (c *client) document(path string) *document {
	if i := slices.IndexFunc(c.open, func(d *document) bool { return d.path == path }); i >= 0 {
		return c.open[i]
	}
	return nil
}

// Text returns the text of a file as servers get it: with \n as the line ending. A link isn't followed: it has appeared
// since the path was checked.
func Text(path string) (string, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(content) > maxText {
		err = fmt.Errorf("language servers read files of at most %d MB", maxText>>20)
	}
	if err != nil {
		return "", err
	}
	d, err := text.Decode(content)
	if err != nil {
		return "", err
	}
	return d.Text, nil
}

// give gives the server a text of a file: as a new document, or as the next version of it.
func (c *client) give(path, content string) *document {
	c.docs.Lock()
	defer c.docs.Unlock()
	d := c.document(path)
	switch {
	case d == nil:
		d = &document{path: path, text: content, version: 1}
		c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": names.URI(path), "languageId": c.server.language(path), "version": 1, "text": content,
		}})
	case d.text != content:
		c.changes++
		d.text, d.version = content, d.version+1
		c.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": names.URI(path), "version": d.version},
			"contentChanges": []map[string]string{{"text": content}},
		})
	}
	others := slices.DeleteFunc(c.open, func(other *document) bool { return other == d })
	c.open = slices.Insert(others, 0, d)
	return d
}

// shut closes a document: the server reads the file from then on.
func (c *client) shut(d *document) {
	c.docs.Lock()
	defer c.docs.Unlock()
	c.open = slices.DeleteFunc(c.open, func(other *document) bool { return other == d })
	c.notify("textDocument/didClose", map[string]any{"textDocument": named(d.path)})
}

// sync gives the server the text that a file has now.
func (c *client) sync(path string) (*document, error) {
	at := modified(path) // before it is read: what changes later is noticed
	content, err := Text(path)
	if err != nil {
		if d := c.document(path); d != nil {
			c.shut(d)
		}
		return nil, err
	}
	d := c.give(path, content)
	c.told[path] = at
	if len(c.open) > maxOpen {
		c.shut(c.open[maxOpen])
	}
	return d, nil
}

// modified returns when a file was modified; zero: it can't be read.
func modified(path string) (at time.Time) {
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	return at
}

// update tells the server which files changed since it could read them, and reports whether any did.
func (c *client) update(paths ...string) (stale bool) {
	var changes []Change
	for _, path := range paths {
		at := modified(path)
		was, known := c.told[path]
		if known && at.Equal(was) || !known && !at.After(c.told[""]) {
			continue
		}
		if stale = true; c.document(path) == nil {
			changes = append(changes, Change{Path: path})
		} else {
			_, _ = c.sync(path) // closed if it can't be read
		}
	}
	c.report(changes)
	return stale
}

// refresh gives the server the current texts of the open files that changed.
func (c *client) refresh() {
	for _, d := range slices.Clone(c.open) {
		c.update(d.path)
	}
}

// report tells the server which files changed on disk.
func (c *client) report(changes []Change) {
	const created, changed, deleted = 1, 2, 3
	var events []map[string]any
	for _, one := range changes {
		at, kind := modified(one.Path), changed
		switch {
		case one.Created:
			kind = created
		case at.IsZero():
			kind = deleted
		}
		events = append(events, map[string]any{"uri": names.URI(one.Path), "type": kind})
		if c.document(one.Path) == nil {
			c.told[one.Path] = at
		}
	}
	if events != nil {
		c.changes++
		c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
	}
}
