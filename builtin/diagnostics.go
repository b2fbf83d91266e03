package builtin

import (
	"context"
	"strings"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/lsp"
)

// newServers prepares the language servers. None is started.
func newServers(o Options, f *files, sh *command.Shell) *servers {
	mask := func(text string) string { return f.values.Mask().String(text) }
	s := &servers{wait: o.AllRead, mask: mask, root: f.ws.Project()}
	if len(o.Servers) == 0 || o.Imagined {
		return s
	}
	var installed []lsp.Server
	for _, one := range o.Servers {
		installed = append(installed, lsp.Server(one))
	}
	l, never := o.Sandbox.Limits, func() bool { return false }
	s.Servers = lsp.New(lsp.Options{
		Servers: installed, Root: s.root,
		Start: func(one lsp.Server) (lsp.Process, error) { return sh.StartServer(one, o.WithoutSandbox) },
		Hide: func(path string) bool {
			_, secret := f.secret(path)
			p, err := f.ws.Resolve(path)
			denied := l != nil && l.Hide != nil && l.Hide(path, never)
			return secret || denied || err != nil || p.Abs != path || !p.Inside() ||
				f.ignore.Check(path, ignore.File).State != ignore.Clear
		},
	})
	return s
}

// LanguageServers are the language servers of the project; nil: there are none.
func (s *Set) LanguageServers() *lsp.Servers { return s.lsp.Servers }

// The limits of diagnostics in a result.
const (
	maxDiagnostics     = 10
	maxDiagnosticBytes = 2 << 10
)

// Diagnosed describes, for the model, how errors and warnings changed since the last call of it; "": they didn't, as
// far as is known. With wait, it waits for those of all changes until the context ends.
func (s *Set) Diagnosed(ctx context.Context, wait bool) string {
	n := s.lsp.News(ctx, wait)
	var parts []string
	if len(n.New) > 0 {
		parts = append(parts, "New since this change:\n"+s.lsp.list(n.New, maxDiagnostics, maxDiagnosticBytes))
	}
	if len(n.Fixed) > 0 {
		const fixed = 3 // they need no work
		left := maxDiagnosticBytes - len(strings.Join(parts, ""))
		parts = append(parts, "No longer reported:\n"+s.lsp.list(n.Fixed, fixed, max(left, 200)))
	}
	return strings.Join(parts, "\n")
}
