package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// target is a path or pattern of a call, resolved.
type target struct {
	spec      string         // as given
	at        workspace.Path // the file, or the directory to search
	directory bool
	pattern   string // of paths below at; "": all
	refused   error
	missing   bool // the file doesn't exist: at is where it would be
	lines     lineRange
}

// lineRange are the lines of a file to read, from 1; zero: all.
type lineRange struct{ first, last int }

func (t target) access() tool.Access {
	if t.directory {
		return tool.Access{Verb: tool.Reads, Target: below(t.at.Abs)}
	}
	return tool.Access{Verb: tool.Reads, Target: t.at.Abs}
}

// targets resolves a path, absolute or relative to any root of the workspace, or a pattern. It returns at least one
// target.
func (f *files) targets(spec string) ([]target, error) {
	spec = filepath.FromSlash(strings.TrimSpace(spec))
	if spec == "" {
		return nil, errors.New("is empty; pass a file, a directory or a pattern")
	}
	var from []string
	if rest, ok := strings.CutPrefix(spec, "~"+string(filepath.Separator)); ok {
		if home, err := homedir.Dir(); err == nil {
			from = []string{filepath.Join(home, rest)}
		}
	} else if filepath.IsAbs(spec) {
		from = []string{spec}
	}
	if from == nil {
		for _, root := range f.ws.Roots() {
			from = append(from, root+string(filepath.Separator)+spec)
		}
	}
	var found []target
	for _, name := range from {
		t, ok, err := f.target(name)
		if err != nil {
			return nil, err
		}
		if ok {
			t.spec = spec
			found = append(found, t)
		}
	}
	if found == nil {
		base, _ := splitPattern(from[0])
		p, err := f.ws.Resolve(base)
		if err != nil {
			p = workspace.Path{Abs: filepath.Clean(base), Rel: filepath.Clean(base)}
		}
		found = []target{{spec: spec, at: p, missing: true}}
	}
	return found, nil
}

func (f *files) target(name string) (target, bool, error) {
	p, err := f.ws.Resolve(name)
	var bad *workspace.NameError
	if errors.As(err, &bad) {
		return target{}, false, bad
	}
	if err == nil && p.Exists {
		info, err := p.Stat()
		t := target{at: p, directory: err == nil && info.IsDir()}
		if v := f.refusal(p, ignore.Kind(t.directory)); v.State == ignore.Refused {
			t.refused = v
		}
		return t, true, nil
	}
	base, pattern := splitPattern(name)
	if pattern == "" {
		return target{}, false, nil
	}
	p, err = f.ws.Resolve(base)
	if err != nil || !p.Exists {
		return target{}, false, nil
	}
	t := target{at: p, directory: true, pattern: filepath.ToSlash(pattern)}
	if v := f.refusal(p, ignore.Directory); v.State == ignore.Refused {
		t.refused = v
	}
	return t, true, nil
}

// splitPattern splits a path before the first part with a wildcard.
func splitPattern(name string) (base, pattern string) {
	sep := string(filepath.Separator)
	parts := strings.Split(name, sep)
	for i, part := range parts {
		if strings.ContainsAny(part, "*?[{") {
			return strings.Join(parts[:i], sep) + sep, strings.Join(parts[i:], sep)
		}
	}
	return name, ""
}

// wish selects files of the targets.
type wish struct {
	exclude []string
	noGit   bool // include git-ignored files
	shallow bool // only files directly in a directory
	usual   bool // skip usuallySkipped
}

// usuallySkipped are patterns of files that are skipped in a named directory.
var usuallySkipped = []string{
	"node_modules", "bower_components", ".svn", ".hg", "dist", "build", "coverage", ".vscode", ".idea", "__pycache__",
	"*.pyc", "*.pyo", ".DS_Store",
}

// maxGathered is the maximum number of files; further ones are only counted.
const maxGathered = 1000

// gathered is the list of found files, without duplicates.
type gathered struct {
	files   []candidate
	skipped []skip
	more    int // further files
}

type candidate struct {
	path  workspace.Path
	named bool // named directly or by its type, so that it is included even if it isn't text
	lines lineRange
}

// skip is a skipped file, or several, with the reason.
type skip struct{ what, why string }

func (s skip) String() string { return s.what + ": " + s.why }

func (g *gathered) skip(what, format string, args ...any) {
	g.skipped = append(g.skipped, skip{what, fmt.Sprintf(format, args...)})
}

// gather finds the files of the targets, in order.
func (f *files) gather(ctx context.Context, targets []target, w wish) (*gathered, error) {
	g := &gathered{}
	once := map[string]bool{}
	for _, t := range targets {
		switch {
		case t.missing:
			g.skip(t.spec, "file not found")
		case t.refused != nil:
			g.skip(t.at.Rel, "%v", t.refused)
		case !t.directory && (t.lines != lineRange{} || !once[t.at.Abs]):
			once[t.at.Abs] = once[t.at.Abs] || t.lines == lineRange{}
			g.files = append(g.files, candidate{t.at, true, t.lines})
		case t.directory:
			if err := f.gatherDirectory(ctx, g, t, w, once); err != nil {
				return g, err
			}
		}
	}
	return g, nil
}

func (f *files) gatherDirectory(ctx context.Context, g *gathered, t target, w wish, once map[string]bool) error {
	req := search.FilesRequest{
		Scope: search.Scope{
			Paths: []string{t.at.Abs}, Rules: f.ignore, NoIgnore: w.noGit, Withhold: f.secrets.contents,
			Shared: f.shared,
		},
		Pattern: t.pattern, Order: search.ByPath, Limit: maxGathered,
	}
	if t.pattern == "" && w.shallow {
		req.Pattern = "*"
	}
	for _, e := range w.exclude {
		req.Globs = append(req.Globs, "!"+e)
	}
	if w.usual {
		for _, e := range usuallySkipped {
			req.Globs = append(req.Globs, "!"+e)
		}
	}
	res, err := search.Files(ctx, req)
	if err != nil {
		return err
	}
	g.more += res.Total - len(res.Files)
	if res.Ignored > 0 {
		g.skip(humanize.Count(res.Ignored, "path"), "git-ignored, in %s", t.at.Rel)
	}
	if res.Refused > 0 {
		g.skip(humanize.Count(res.Refused, "path"), "denied by an AI ignore file, in %s", t.at.Rel)
	}
	if res.Unreadable > 0 {
		g.skip(humanize.Count(res.Unreadable, "path"), "unreadable, in %s", t.at.Rel)
	}
	if res.Closed > 0 {
		g.skip(humanize.Count(res.Closed, "directory"), "may contain secrets, in %s; name a file to have it read",
			t.at.Rel)
	}
	for _, found := range res.Files {
		f.consider(g, t, found.Path, once)
	}
	return nil
}

// below returns the path of a file that a walk from a directory found. No directory between the two is a link, but the
// file itself may be one.
func (f *files) below(at workspace.Path, path string) (workspace.Path, bool) {
	info, err := os.Lstat(path)
	rel, outside := filepath.Rel(at.Abs, path)
	if err != nil || outside != nil || info.Mode()&os.ModeSymlink != 0 {
		p, err := f.ws.Resolve(path)
		return p, err == nil
	}
	return at.Join(rel), true
}

// consider adds a file that was found in a directory or by a pattern. Links out of the directory and files that may
// contain secrets must be named explicitly: reading them was not approved.
func (f *files) consider(g *gathered, t target, path string, once map[string]bool) {
	if atomicfile.IsTemp(filepath.Base(path)) {
		return
	}
	if len(g.files) >= maxGathered {
		g.more++
		return
	}
	p, ok := f.below(t.at, path)
	if !ok || once[p.Abs] {
		return
	}
	once[p.Abs] = true
	if !names.Below(p.Abs, t.at.Abs) {
		g.skip(path, "a symlink that points outside the directory; pass its path to read it")
		return
	}
	if v := f.refusal(p, ignore.File); v.State == ignore.Refused {
		g.skip(p.Rel, "%v", v)
		return
	}
	if why, secret := f.secret(p.Abs); secret {
		g.skip(p.Rel, "looks like a secret (%s); name it to have it read", why)
		return
	}
	ext := filepath.Ext(p.Abs)
	g.files = append(g.files, candidate{path: p, named: ext != "" && strings.HasSuffix(strings.ToLower(t.pattern),
		strings.ToLower(ext))})
}
