package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Place is a name in a line of a file.
type Place struct {
	Path string
	Line int    // from 1; 0: wherever the file declares the name
	Name string // the last identifier in it is meant, so that it may have more of the line
}

// Found is a place that a server answered with.
type Found struct {
	Path  string
	Line  int    // from 1
	Text  string // the line
	Label string // such as "func Open"; may be empty
	Depth int    // of a symbol in others
}

// Answer is what a server found.
type Answer struct {
	Found  []Found
	Hidden int    // places that are left out
	Text   string // of a hover
}

// AmbiguousError means that a name stands for several things.
type AmbiguousError struct {
	Name       string
	Candidates []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is ambiguous. Pass line, and as name one of:\n%s", e.Name, strings.Join(e.Candidates, "\n"))
}

// Operation is a question about a place.
type Operation string

// The operations.
const (
	Definition      Operation = "definition"
	References      Operation = "references"
	Implementations Operation = "implementations"
	Hover           Operation = "hover"
	Callers         Operation = "callers"
)

// ErrNoServer means that no server is for a file.
var ErrNoServer = errors.New("no language server for this file")

// maxAnswers is how many places of an answer are looked at.
const maxAnswers = 10_000

// ask runs a question about a file with the turn of its server.
func (s *Servers) ask(ctx context.Context, path string, wait bool,
	run func(context.Context, *client, *document) error) error {
	r := s.of(path)
	if r == nil {
		return ErrNoServer
	}
	c, err := r.get(ctx, path, wait)
	if err != nil {
		return err
	}
	r.used()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err = c.enter(ctx); err == nil {
		defer c.leave()
		c.syncAll(func(name string) bool { return name == path })
		var d *document
		if d, err = c.sync(path); err == nil {
			err = run(ctx, c, d)
		}
	}
	var said *ResponseError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s didn't answer within %d s", r.Name, int(answerTime.Seconds()))
	case errors.As(err, &said):
		return fmt.Errorf("%s: %s", r.Name, cut(said.Message, 500))
	}
	return err
}

// Ask asks about a place. With wait, it waits until the server is ready.
func (s *Servers) Ask(ctx context.Context, op Operation, p Place, wait bool) (a Answer, err error) {
	err = s.ask(ctx, p.Path, wait, func(ctx context.Context, c *client, d *document) error {
		at, err := c.position(ctx, d, p)
		if err != nil {
			return err
		}
		for try := 0; ; try++ {
			if a, err = c.answer(ctx, op, d, at); err != nil || try == 2 || !c.stale(a.Found) {
				return err
			}
		}
	})
	return a, err
}

// answer asks a question once.
func (c *client) answer(ctx context.Context, op Operation, d *document, at Position) (Answer, error) {
	params := map[string]any{"textDocument": map[string]string{"uri": uriOf(d.path)}, "position": at}
	method, can := "textDocument/definition", c.can.DefinitionProvider
	switch op {
	case Callers:
		return c.callers(ctx, params)
	case Hover:
		if !offered(c.can.HoverProvider) {
			return Answer{}, c.cannot(op)
		}
		var h struct{ Contents json.RawMessage }
		err := c.call(ctx, "textDocument/hover", params, &h)
		return Answer{Text: textOf(h.Contents)}, err
	case References:
		method, can = "textDocument/references", c.can.ReferencesProvider
		params["context"] = map[string]bool{"includeDeclaration": true}
	case Implementations:
		method, can = "textDocument/implementation", c.can.ImplementationProvider
	}
	if !offered(can) {
		return Answer{}, c.cannot(op)
	}
	var list locations
	if err := c.call(ctx, method, params, &list); err != nil {
		return Answer{}, err
	}
	k := c.collect()
	for _, l := range list {
		if l.TargetURI != "" {
			l.URI, l.Range = l.TargetURI, l.TargetSelectionRange
		}
		k.add(l.URI, l.Range.Start, "", 0)
	}
	return k.Answer, nil
}

func (c *client) cannot(op Operation) error {
	return fmt.Errorf("%s doesn't offer %s", c.server.Name, op)
}

// callers asks which functions call the one at a position.
func (c *client) callers(ctx context.Context, params map[string]any) (Answer, error) {
	if !offered(c.can.CallHierarchyProvider) {
		return Answer{}, c.cannot(Callers)
	}
	var items []json.RawMessage
	if err := c.call(ctx, "textDocument/prepareCallHierarchy", params, &items); err != nil {
		return Answer{}, err
	}
	k := c.collect()
	for _, item := range items[:min(len(items), 5)] {
		var calls []struct {
			From       symbol
			FromRanges []Range
		}
		if err := c.call(ctx, "callHierarchy/incomingCalls", map[string]any{"item": item}, &calls); err != nil {
			return Answer{}, err
		}
		for _, call := range calls {
			for _, r := range call.FromRanges {
				k.add(call.From.URI, r.Start, "in "+call.From.Name, 0)
			}
		}
	}
	return k.Answer, nil
}

// Symbols returns the symbols of a file.
func (s *Servers) Symbols(ctx context.Context, path string, wait bool) (a Answer, err error) {
	err = s.ask(ctx, path, wait, func(ctx context.Context, c *client, d *document) error {
		list, err := c.symbols(ctx, d)
		k := c.collect()
		k.symbols(d.path, list, 0)
		a = k.Answer
		return err
	})
	return a, err
}

func (c *client) symbols(ctx context.Context, d *document) (list []symbol, err error) {
	if !offered(c.can.DocumentSymbolProvider) {
		return nil, c.cannot("symbols")
	}
	err = c.call(ctx, "textDocument/documentSymbol", map[string]any{
		"textDocument": map[string]string{"uri": uriOf(d.path)},
	}, &list)
	return list, err
}

// FindSymbols searches the workspace for symbols by name, in all servers that are ready. starting are the names of the
// others.
func (s *Servers) FindSymbols(ctx context.Context, query string, wait bool) (a Answer, starting []string, err error) {
	for _, r := range s.all {
		c, err := r.get(ctx, "", wait)
		if late := (*StartingError)(nil); errors.As(err, &late) {
			starting = append(starting, late.Error())
		}
		if err != nil || !offered(c.can.WorkspaceSymbols) {
			continue
		}
		r.used()
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if err := c.enter(ctx); err != nil {
			return a, starting, err
		}
		c.syncAll(func(string) bool { return false })
		var list []symbol
		err = c.call(ctx, "workspace/symbol", map[string]string{"query": query}, &list)
		c.leave()
		if err != nil {
			return a, starting, fmt.Errorf("%s: %w", r.Name, err)
		}
		k := c.collect()
		k.symbols("", list, 0)
		a.Found, a.Hidden = append(a.Found, k.Found...), a.Hidden+k.Hidden
	}
	return a, starting, nil
}

// Diagnostics returns the current errors and warnings of a file.
func (s *Servers) Diagnostics(ctx context.Context, path string, wait bool) (list []Diagnostic, err error) {
	err = s.ask(ctx, path, wait, func(ctx context.Context, c *client, d *document) error {
		list, err = c.pull(ctx, d)
		return err
	})
	return list, err
}

// collector makes places of what a server answered.
type collector struct {
	Answer
	client *client
	texts  map[string]string
	seen   map[Found]bool
}

func (c *client) collect() *collector {
	return &collector{client: c, texts: map[string]string{}, seen: map[Found]bool{}}
}

// add adds a place, unless the file must not be read.
func (k *collector) add(uri string, at Position, label string, depth int) {
	path := pathOf(uri)
	if len(k.seen) >= maxAnswers {
		return
	}
	if path == "" || !below(path, k.client.options.Root) || k.client.options.Hide(path) {
		k.Hidden++
		return
	}
	text, ok := k.texts[path]
	if !ok {
		text, _ = Text(path)
		k.texts[path] = text
	}
	content, _, ok := line(text, at.Line)
	if !ok {
		k.Hidden++ // it has changed, or never had it
		return
	}
	f := Found{path, at.Line + 1, cut(strings.TrimSpace(content), 200), cut(label, 200), depth}
	if !k.seen[f] {
		k.seen[f] = true
		k.Found = append(k.Found, f)
	}
}

func (k *collector) symbols(path string, list []symbol, depth int) {
	if depth > 20 {
		return
	}
	for _, s := range list {
		uri, at := s.Location.URI, s.Location.Range.Start
		if uri == "" {
			uri, at = uriOf(path), s.SelectionRange.Start
		}
		k.add(uri, at, kindName(s.Kind)+" "+s.Name, depth)
		k.symbols(path, s.Children, depth+1)
	}
}

// stale reports whether files of an answer changed on disk since the server learned about them, and tells it.
func (c *client) stale(found []Found) bool {
	kinds := map[string]int{}
	for _, f := range found {
		info, err := os.Stat(f.Path)
		if err != nil || kinds[f.Path] != 0 || c.version(f.Path) != 0 {
			continue
		}
		since, ok := c.told[f.Path]
		if !ok {
			since = c.began
		}
		if now := info.ModTime(); now.After(since) {
			kinds[f.Path], c.told[f.Path] = 2, now
		}
	}
	c.changedFiles(kinds)
	return len(kinds) > 0
}

// position finds a place in a document.
func (c *client) position(ctx context.Context, d *document, p Place) (Position, error) {
	if strings.TrimSpace(p.Name) == "" {
		return Position{}, errors.New("name is empty: pass an identifier of the line")
	}
	if p.Line == 0 {
		return c.declared(ctx, d, p.Name)
	}
	text, _, ok := line(d.text, p.Line-1)
	if !ok {
		return Position{}, fmt.Errorf("line %d: the file has %d lines", p.Line, strings.Count(d.text, "\n")+1)
	}
	places := occurrences(text, p.Name)
	if len(places) == 0 {
		return Position{}, fmt.Errorf("%q is not in line %d%s", p.Name, p.Line, elsewhere(d.text, p.Name))
	}
	at := func(i int) Position {
		return Position{p.Line - 1, units(text[:i], c.inBytes())}
	}
	if len(places) > 1 {
		same, err := c.sameThing(ctx, d, places, at)
		if err != nil {
			return Position{}, err
		}
		if !same {
			return Position{}, &AmbiguousError{p.Name, contexts(text, places, p.Name)}
		}
	}
	return at(places[0]), nil
}

// sameThing reports whether all occurrences have the same definition.
func (c *client) sameThing(ctx context.Context, d *document, places []int, at func(int) Position) (bool, error) {
	if len(places) > 8 || !offered(c.can.DefinitionProvider) {
		return false, nil
	}
	var first []Found
	for i, place := range places {
		a, err := c.answer(ctx, Definition, d, at(place))
		switch {
		case err != nil && ctx.Err() != nil:
			return false, err
		case err != nil || len(a.Found) == 0 || i > 0 && !slices.Equal(a.Found, first):
			return false, nil
		}
		first = a.Found
	}
	return true, nil
}

// declared finds the declaration of a name in a document.
func (c *client) declared(ctx context.Context, d *document, name string) (Position, error) {
	list, err := c.symbols(ctx, d)
	if err != nil {
		return Position{}, err
	}
	var found []Position
	var candidates []string
	var walk func([]symbol, int)
	walk = func(list []symbol, depth int) {
		for _, s := range list {
			own := s.Name[strings.LastIndexAny(s.Name, ".:#)")+1:]
			if at := s.SelectionRange.Start; s.Name == name || own == name {
				if s.Location.URI != "" {
					at = s.Location.Range.Start
				}
				if text, start, ok := line(d.text, at.Line); ok {
					if first := occurrences(text, own); s.Location.URI != "" && len(first) > 0 {
						at.Character = units(d.text[start:start+first[0]], c.inBytes())
					}
					found = append(found, at)
					candidates = append(candidates,
						fmt.Sprintf("line %d: %s", at.Line+1, cut(strings.TrimSpace(text), 100)))
				}
			}
			if depth < 20 {
				walk(s.Children, depth+1)
			}
		}
	}
	walk(list, 0)
	switch len(found) {
	case 0:
		return Position{}, fmt.Errorf("the file declares no %q%s", name, elsewhere(d.text, name))
	case 1:
		return found[0], nil
	}
	return Position{}, &AmbiguousError{name, candidates}
}

// occurrences returns where a name is in a line, as a whole word: the places of its last identifier.
func occurrences(text, name string) (out []int) {
	name = strings.TrimSpace(name)
	last := strings.LastIndexFunc(strings.TrimRightFunc(name, notInName), notInName) + 1
	for i := 0; name != ""; {
		j := strings.Index(text[i:], name)
		if j < 0 {
			break
		}
		i += j
		before, after := []rune(text[:i]), []rune(text[i+len(name):])
		first, end := []rune(name)[0], []rune(name)[len([]rune(name))-1]
		if !(len(before) > 0 && inName(before[len(before)-1]) && inName(first)) &&
			!(len(after) > 0 && inName(after[0]) && inName(end)) {
			out = append(out, i+last)
		}
		i += len(name)
	}
	return out
}

func inName(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func notInName(r rune) bool { return !inName(r) }

// contexts returns what is around the occurrences of a name, to tell them apart.
func contexts(text string, places []int, name string) (out []string) {
	for _, i := range places {
		start := max(0, i-20)
		for start > 0 && text[start]&0xC0 == 0x80 {
			start--
		}
		out = append(out, strings.TrimSpace(text[start:i]+name[strings.LastIndexFunc(name, notInName)+1:]))
	}
	return out
}

// elsewhere says in which lines a name is.
func elsewhere(text, name string) string {
	var lines []string
	n := 0
	for l := range strings.Lines(text) {
		if n++; len(occurrences(l, name)) > 0 {
			lines = append(lines, fmt.Sprint(n))
		}
	}
	switch {
	case len(lines) == 0:
		return ", and nowhere in the file"
	case len(lines) > 10:
		lines = append(lines[:10], "…")
	}
	return ". It is in lines " + strings.Join(lines, ", ")
}

// Edit is a replaced part of a text, in bytes.
type Edit struct {
	Start, End int
	New        string
}

// FileEdit is the change of a file.
type FileEdit struct {
	Path  string
	Text  string // that the edits apply to
	Edits []Edit // ordered
}

// maxRenamed is how many files a rename may change.
const maxRenamed = 1000

// Rename returns the edits that rename what is at a place. The texts that they apply to are those on disk.
func (s *Servers) Rename(ctx context.Context, p Place, name string, wait bool) (out []FileEdit, err error) {
	err = s.ask(ctx, p.Path, wait, func(ctx context.Context, c *client, d *document) error {
		if !offered(c.can.RenameProvider) {
			return c.cannot("rename")
		}
		at, err := c.position(ctx, d, p)
		if err != nil {
			return err
		}
		// The server may have older texts of files. It gets the current ones, until all edits are for these.
		for range 4 {
			var edit workspaceEdit
			if err := c.call(ctx, "textDocument/rename", map[string]any{
				"textDocument": map[string]string{"uri": uriOf(d.path)}, "position": at, "newName": name,
			}, &edit); err != nil {
				return err
			}
			again := false
			if out, again, err = c.fileEdits(edit); err != nil || !again {
				return err
			}
		}
		return errors.New("the files changed meanwhile. Try again")
	})
	return out, err
}

// fileEdits reads an edit of several files. again reports that the server got newer texts.
func (c *client) fileEdits(edit workspaceEdit) (out []FileEdit, again bool, err error) {
	all := map[string][]textEdit{}
	for uri, edits := range edit.Changes {
		all[uri] = append(all[uri], edits...)
	}
	for _, e := range edit.DocumentChanges {
		if e.Kind != "" {
			return nil, false, fmt.Errorf("the server wants to %s files, which isn't supported", e.Kind)
		}
		all[e.TextDocument.URI] = append(all[e.TextDocument.URI], e.Edits...)
	}
	if len(all) > maxRenamed {
		return nil, false, fmt.Errorf("it would change %d files, and the limit is %d", len(all), maxRenamed)
	}
	for uri, edits := range all {
		path := pathOf(uri)
		if path == "" || !below(path, c.options.Root) {
			return nil, false, fmt.Errorf("it would change %s, which is outside the workspace", cut(uri, 200))
		}
		if c.options.Hide(path) {
			return nil, false, errors.New("it would change a file that must not be read")
		}
		was := c.version(path)
		d, err := c.sync(path)
		if err != nil {
			return nil, false, fmt.Errorf("read %s: %w", path, err)
		}
		again = again || d.version != was
		f := FileEdit{Path: path, Text: d.text}
		for _, e := range edits {
			start, err := offset(d.text, e.Range.Start, c.inBytes())
			end := 0
			if err == nil {
				end, err = offset(d.text, e.Range.End, c.inBytes())
			}
			if err != nil && !again {
				return nil, false, err
			}
			f.Edits = append(f.Edits, Edit{start, end, e.NewText})
		}
		sorted.By(f.Edits, func(a, b Edit) int { return a.Start - b.Start })
		for i, e := range f.Edits {
			if (e.End < e.Start || i > 0 && e.Start < f.Edits[i-1].End) && !again {
				return nil, false, fmt.Errorf("the server sent edits of %s that overlap", path)
			}
		}
		out = append(out, f)
	}
	sorted.By(out, func(a, b FileEdit) int { return strings.Compare(a.Path, b.Path) })
	return out, again, nil
}
