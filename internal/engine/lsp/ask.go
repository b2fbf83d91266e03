package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Operation is what is asked.
type Operation string

// The operations.
const (
	Definition      Operation = "definition"
	References      Operation = "references"
	Implementations Operation = "implementations"
	Hover           Operation = "hover"
	Symbols         Operation = "symbols" // of a file or, without one, those of the workspace by name
	Callers         Operation = "callers"
	Rename          Operation = "rename"
	Diagnostics     Operation = "diagnostics"
)

// requests are the requests for operations, and what a server offers that has them.
var requests = map[Operation][2]string{
	Definition:      {"textDocument/definition", "definitionProvider"},
	References:      {"textDocument/references", "referencesProvider"},
	Implementations: {"textDocument/implementation", "implementationProvider"},
	Hover:           {"textDocument/hover", "hoverProvider"},
	Symbols:         {"textDocument/documentSymbol", "documentSymbolProvider"},
	Callers:         {"textDocument/prepareCallHierarchy", "callHierarchyProvider"},
	Rename:          {"textDocument/rename", "renameProvider"},
}

// Question is a question about a name in a file, or about the file.
type Question struct {
	Operation Operation
	Path      string
	Line      int    // from 1; 0: wherever the file declares the name
	Name      string // its last identifier is meant; "x.Open#2": the second x.Open in the line
	NewName   string // of a rename
	Wait      bool   // for a server that starts
}

// Found is a place that a server answered with.
type Found struct {
	Path  string
	Line  int    // from 1
	Text  string // the line
	In    string // the function that contains it, of a caller
	Depth int    // of a symbol in others
}

// Answer is what a server answered: one of these, by operation.
type Answer struct {
	Found       []Found
	Hidden      int      // places that are omitted
	Missing     []string // why it may be incomplete
	Text        string   // of a hover
	Diagnostics []Diagnostic
	Edits       []FileEdit // of a rename. The texts that they apply to are those on disk
	files       []string   // that it is about
	err         error
}

// maxAnswers is how many places of an answer are looked at, and maxRenamed how many files a rename may change.
const (
	maxAnswers = 10_000
	maxRenamed = 1000
)

// ask answers a question.
func (c *client) ask(ctx context.Context, q Question) (a Answer) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime,
		fmt.Errorf("%s didn't answer within %d s", c.server.Name, int(answerTime.Seconds())))
	defer cancel()
	c.refresh()
	for try := 0; ; try++ {
		a, a.err = c.request(ctx, q)
		if !c.update(a.files...) {
			break
		}
		if try == 3 {
			return Answer{err: errors.New("files change all the time. Try again")}
		}
	}
	if _, trouble := c.messages(); trouble != "" {
		a.Missing = append(a.Missing, c.server.Name+" reported: "+trouble)
	}
	if said := (*failure)(nil); errors.As(a.err, &said) {
		a.err = fmt.Errorf("%s: %s", c.server.Name, humanize.Cut(said.Message, 500))
	} else if a.err != nil && c.ctx.Err() != nil {
		a.err = fmt.Errorf("%s failed: %w", c.server.Name, a.err)
	}
	return a
}

// request asks a question once.
func (c *client) request(ctx context.Context, q Question) (a Answer, err error) {
	if q.Path == "" {
		if offered(c.can["workspaceSymbolProvider"]) {
			a, err = c.places(ctx, "workspace/symbol", map[string]any{"query": q.Name}, "")
		}
		return a, err
	}
	d, err := c.sync(q.Path)
	if err != nil {
		return a, err
	}
	if q.Operation == Diagnostics {
		a.Diagnostics, err = c.diagnose(ctx, d)
		return a, err
	}
	method, provider := requests[q.Operation][0], requests[q.Operation][1]
	if !offered(c.can[provider]) {
		return a, fmt.Errorf("%s doesn't offer %s", c.server.Name, q.Operation)
	}
	params := map[string]any{"textDocument": named(d.path)}
	if q.Operation != Symbols {
		if params["position"], err = c.position(ctx, d, q); err != nil {
			return a, err
		}
	}
	switch q.Operation {
	case Hover:
		var h struct{ Contents any }
		err = c.call(ctx, method, params, &h)
		a.Text = textOf(h.Contents)
		return a, err
	case Callers:
		return c.callers(ctx, method, params)
	case Rename:
		params["newName"] = q.NewName
		return c.rename(ctx, method, params, q)
	case References:
		params["context"] = map[string]bool{"includeDeclaration": true}
	}
	return c.places(ctx, method, params, d.path)
}

// places asks for places. Those that don't name a file are in path.
func (c *client) places(ctx context.Context, method string, params map[string]any, path string) (Answer, error) {
	var list items
	err := c.call(ctx, method, params, &list)
	k := c.collect()
	k.items(list, path, 0)
	return k.Answer, err
}

// callers asks which functions call the one at a position.
func (c *client) callers(ctx context.Context, method string, params map[string]any) (Answer, error) {
	var functions []json.RawMessage
	err := c.call(ctx, method, params, &functions)
	k := c.collect()
	for _, f := range functions[:min(len(functions), 5)] {
		var calls []struct {
			From       item
			FromRanges []Range
		}
		if err = c.call(ctx, "callHierarchy/incomingCalls", map[string]any{"item": f}, &calls); err != nil {
			break
		}
		for _, call := range calls {
			for _, r := range call.FromRanges {
				k.place(names.FromURI(call.From.URI), r.Start, call.From.Name, 0)
			}
		}
	}
	return k.Answer, err
}

// collector makes places of what a server answered.
type collector struct {
	Answer
	client *client
	files  map[string][]string // their lines; nil: the file must not be read
	seen   map[Found]bool
}

func (c *client) collect() *collector {
	return &collector{client: c, files: map[string][]string{}, seen: map[Found]bool{}}
}

func (k *collector) items(list []item, file string, depth int) {
	for _, one := range list {
		path := file
		if l := one.Location; l != nil {
			one.URI, one.Range = l.URI, l.Range
		}
		if one.URI != "" {
			path = names.FromURI(one.URI)
		}
		if one.SelectionRange != nil {
			one.Range = *one.SelectionRange
		}
		if k.place(path, one.Range.Start, "", depth); depth < 20 {
			k.items(one.Children, path, depth+1)
		}
	}
}

// place adds a place, unless the file must not be read, or has changed and hasn't that line any longer.
func (k *collector) place(path string, at Position, in string, depth int) {
	lines, ok := k.files[path]
	if !ok && k.client.visible(path) {
		k.Answer.files = append(k.Answer.files, path)
		if text, err := Text(path); err == nil {
			lines = strings.Split(text, "\n")
		}
	}
	k.files[path] = lines
	if at.Line < 0 || at.Line >= len(lines) {
		k.Hidden++
		return
	}
	text := humanize.Cut(strings.TrimSpace(lines[at.Line]), 200)
	f := Found{path, at.Line + 1, text, humanize.Cut(in, 200), depth}
	if !k.seen[f] && len(k.Found) < maxAnswers {
		k.seen[f] = true
		k.Found = append(k.Found, f)
	}
}

// visible reports whether a file is in the workspace and may be read.
func (c *client) visible(path string) bool {
	return path != "" && names.Below(path, c.options.Root) && !c.options.Hide(path)
}

// FileEdit is the change of a file.
type FileEdit struct {
	Path  string
	Text  string      // that the edits apply to
	Edits []edit.Span // ordered
}

// rename asks for the edits that rename something. With an error, it returns those so far.
func (c *client) rename(ctx context.Context, method string, params map[string]any, q Question) (a Answer, err error) {
	var answer workspaceEdit
	if err = c.call(ctx, method, params, &answer); err != nil {
		return a, err
	}
	all := map[string][]textEdit{}
	for uri, edits := range answer.Changes {
		all[names.FromURI(uri)] = append(all[names.FromURI(uri)], edits...)
	}
	for _, e := range answer.DocumentChanges {
		if e.Kind != "" {
			return a, fmt.Errorf("the server wants to %s files, which isn't supported", e.Kind)
		}
		path := names.FromURI(e.TextDocument.URI)
		all[path] = append(all[path], e.Edits...)
	}
	if len(all) > maxRenamed {
		return a, fmt.Errorf("it would change %d files, and the limit is %d", len(all), maxRenamed)
	}
	for path, edits := range all {
		if !c.visible(path) {
			return a, fmt.Errorf("it would change %s, which is outside the project, ignored, or not readable for you",
				path)
		}
		f := FileEdit{Path: path}
		a.files = append(a.files, path)
		if f.Text, err = Text(path); err == nil {
			err = f.take(edits, identifier(q.Name), identifier(q.NewName))
		}
		if a.Edits = append(a.Edits, f); err != nil {
			return a, fmt.Errorf("%s: %w", path, err)
		}
	}
	sorted.By(a.Edits, func(a, b FileEdit) int { return strings.Compare(a.Path, b.Path) })
	return a, nil
}

// take adds edits that rename something. In other edits a server could change any code.
func (f *FileEdit) take(edits []textEdit, from, to string) error {
	for _, e := range edits {
		start, err := offset(f.Text, e.Range.Start)
		end, failed := offset(f.Text, e.Range.End)
		if err := cmp.Or(err, failed); err != nil {
			return err
		}
		f.Edits = append(f.Edits, edit.Span{Start: start, End: end, New: e.NewText})
	}
	sorted.By(f.Edits, func(a, b edit.Span) int { return a.Start - b.Start })
	last := 0
	for _, e := range f.Edits {
		if e.Start < last || e.End < e.Start {
			return errors.New("the server sent edits that overlap")
		}
		old := f.Text[e.Start:e.End]
		if old != "" && !strings.Contains(old, from) {
			return errors.New("the server has another text of the file")
		}
		if strings.Contains(old+e.New, "\n") || e.New != "" && !strings.Contains(e.New, to) {
			return errors.New("the server sent an edit that doesn't rename")
		}
		last = e.End
	}
	return nil
}
