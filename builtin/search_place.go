package builtin

import (
	"bytes"
	"crypto/sha256"
	"io"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/internal/search"
	"github.com/adze-dev/adze/internal/workspace"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// searchPlace is where a search looks.
type searchPlace struct {
	name   string // for people
	paths  []string
	access []tool.Access
	named  bool // one file was named: what it holds was asked about
}

// placeKind says what may be searched.
type placeKind bool

const (
	anyPlace   placeKind = false
	folderOnly placeKind = true
)

var toSearch = action{"search", "search_path_not_found"}

// searchPlace resolves the path of a search; none means the whole workspace.
func (f *files) searchPlace(name string, kind placeKind) (searchPlace, error) {
	if name == "" {
		w := searchPlace{name: "the workspace", paths: f.ws.Roots()}
		for _, root := range w.paths {
			w.access = append(w.access, reads(below(root))...)
		}
		return w, nil
	}
	if strings.HasPrefix(name, "~/") || !filepath.IsAbs(name) {
		name = filepath.Join(f.ws.Project(), name)
	}
	p, err := f.at(toSearch, "path", name, ignore.Folder)
	w := searchPlace{name: p.Rel, paths: []string{p.Abs}, access: reads(p.Abs)}
	if err != nil {
		return w, err
	}
	info, err := p.Stat()
	switch {
	case err != nil:
		return w, tool.Errorf("search_path_not_found", "search %s: there is no such file or folder; glob finds files by name", p.Rel)
	case info.IsDir():
		w.access = reads(below(p.Abs))
	case kind == folderOnly:
		return w, tool.Errorf("search_path_not_a_directory", "search %s: it is not a folder; read_file reads it", p.Rel)
	default:
		w.named = true
	}
	return w, nil
}

// scope is what the engine is given. Files with secrets are not told of, unless the one file was named, which policy
// has judged.
func (w searchPlace) scope(f *files, noIgnore, skipHidden bool) search.Scope {
	s := search.Scope{Paths: w.paths, Rules: f.ignore, NoIgnore: noIgnore, SkipHidden: skipHidden, Timeout: searchTime}
	if !w.named {
		s.Withhold = func(path string) bool {
			_, secret := names.Secret(path)
			return secret
		}
	}
	return s
}

// What is credited as read after a search: a few files, none of them huge.
const (
	creditFiles = 100
	creditSize  = 4 << 20
)

// credit notes the lines that a search showed as read, so that the files can be edited. A file that has changed since
// it was searched is left out: other lines were shown than are there now.
func (f *files) credit(shown []search.FileMatches) {
	for i := range shown[:min(len(shown), creditFiles)] {
		f.creditFile(&shown[i])
	}
}

func (f *files) creditFile(m *search.FileMatches) {
	if m.Encoding != "" {
		return // its lines were shown as another text than its bytes
	}
	p, err := f.ws.Resolve(m.Path)
	if err != nil {
		return
	}
	r, err := p.Open()
	if err != nil {
		return
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, creditSize+1))
	if err != nil || len(content) > creditSize {
		return
	}
	lines := bytes.Split(content, []byte("\n"))
	for _, l := range m.Lines {
		if l.Number > len(lines) || !l.Cut && string(bytes.TrimSuffix(lines[l.Number-1], []byte("\r"))) != strings.TrimSuffix(l.Text, "\r") {
			return
		}
	}
	total := len(lines)
	if len(lines[total-1]) == 0 {
		total--
	}
	var ranges []workspace.Range
	for _, s := range m.Shown() {
		ranges = append(ranges, workspace.Range{First: s.First, Last: s.Last})
	}
	if len(ranges) > 0 {
		f.seen.Record(p.Abs, sha256.Sum256(content), total, ranges...)
	}
}
