package lsp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Diagnostic is an error or a warning of a server. Its texts are from outside.
type Diagnostic struct {
	Path    string
	Line    int // from 1
	Error   bool
	Message string
	Source  string
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
	maxCompared = 16 // documents whose diagnostics are compared besides the changed ones
	maxChanges  = 32 // changed files that are compared
	diagnoseFor = 30 * time.Second
)

// comparing are the diagnostics of a server's documents over time.
type comparing struct {
	known map[string][]Diagnostic // reported, or from before the first change
	now   map[string][]Diagnostic
	// fresh has the versions of the documents for which now was determined, unless something changed since
	fresh map[string]int
}

func newComparing() comparing {
	return comparing{map[string][]Diagnostic{}, map[string][]Diagnostic{}, map[string]int{}}
}

// base sets the diagnostics of a document before a change. What wasn't reported yet stays news.
func (k *comparing) base(d *document, list []Diagnostic) {
	if sameDiagnostics(k.known[d.path], k.now[d.path]) {
		k.known[d.path] = list
	}
	k.update(d, list)
}

// update sets the current diagnostics.
func (k *comparing) update(d *document, list []Diagnostic) {
	k.now[d.path], k.fresh[d.path] = list, d.version
}

// news returns what differs, and takes it as reported.
func (k *comparing) news() (n News) {
	for _, path := range slices.Sorted(maps.Keys(k.now)) {
		n.New = append(n.New, without(k.now[path], k.known[path])...)
		n.Fixed = append(n.Fixed, without(k.known[path], k.now[path])...)
		k.known[path] = k.now[path]
	}
	for _, list := range [][]Diagnostic{n.New, n.Fixed} {
		sorted.By(list, func(a, b Diagnostic) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return n
}

func rank(d Diagnostic) int {
	if d.Error {
		return 0
	}
	return 1
}

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
			continue
		}
		out = append(out, d)
	}
	return out
}

func sameDiagnostics(a, b []Diagnostic) bool {
	return len(a) == len(b) && len(without(a, b)) == 0
}

// compare determines the diagnostics before and after changes that are on disk already: where those before aren't
// known, the server gets the old texts once more. The caller has the turn.
func (c *client) compare(ctx context.Context, changes []Change) error {
	k := &c.compared
	kinds, changed := map[string]int{}, map[string]Change{}
	for _, one := range changes {
		kinds[one.Path] = 2
		if !c.options.Hide(one.Path) && c.server.language(one.Path) != "" && len(changed) < maxChanges {
			changed[one.Path] = one
		}
	}
	others, moved := c.syncAll(func(path string) bool { _, ok := changed[path]; return ok })
	// Those of other directories take long where much depends on the changed file. What a server that isn't asked has
	// on others may be older than the change.
	near := map[string]bool{}
	for path := range changed {
		near[filepath.Dir(path)] = c.pulls()
	}
	others = slices.DeleteFunc(others, func(d *document) bool { return !near[filepath.Dir(d.path)] })
	others = others[:min(len(others), maxCompared)]
	before := others
	for path, one := range changed {
		if one.Before == nil || len(*one.Before) > maxText {
			continue
		}
		was := c.version(path)
		d := c.open(path, *one.Before)
		moved = moved || d.version != was
		before = append(slices.Clip(before), d)
	}
	if moved {
		clear(k.fresh)
	}
	if err := c.pullAll(ctx, before, k.base); err != nil {
		return err
	}
	clear(k.fresh)
	var after []*document
	for path, one := range changed {
		d, err := c.sync(path)
		if errors.Is(err, fs.ErrNotExist) {
			kinds[path] = 3
			delete(k.known, path)
			delete(k.now, path)
		}
		if err != nil {
			continue
		}
		after = append(after, d)
		if one.Created {
			kinds[path] = 1
		}
	}
	c.changedFiles(kinds)
	return c.pullAll(ctx, append(after, others...), func(d *document, list []Diagnostic) {
		if _, known := k.known[d.path]; !known && !changed[d.path].Created {
			k.base(d, list) // what was there before isn't known
			return
		}
		k.update(d, list)
	})
}

// pullAll determines the diagnostics of documents where they aren't known.
func (c *client) pullAll(ctx context.Context, list []*document, take func(*document, []Diagnostic)) error {
	for _, d := range list {
		if c.compared.fresh[d.path] == d.version {
			continue
		}
		found, err := c.pull(ctx, d)
		if err != nil {
			return err
		}
		take(d, found)
	}
	return nil
}

// look opens a file, and determines its diagnostics before it changes. The caller has the turn.
func (c *client) look(ctx context.Context, path string) error {
	d, err := c.sync(path)
	if err != nil {
		return nil // the file's own problem
	}
	if c.compared.fresh[path] == d.version || !c.pulls() {
		return nil
	}
	return c.pullAll(ctx, []*document{d}, c.compared.base)
}
