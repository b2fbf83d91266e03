package builtin

import (
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/internal/search"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// searchPlace is where a search looks.
type searchPlace struct {
	name   string // for users
	paths  []string
	access []tool.Access
	named  bool // one file was named: searching it was approved
}

// placeKind says what may be searched.
type placeKind bool

const (
	anyPlace   placeKind = false
	folderOnly placeKind = true
)

var toSearch = action{"search", "search_path_not_found"}

// quotedNote explains the paths that shownName quotes.
const quotedNote = `A path in quotes has special characters, shown as escapes: \n is a newline. To open one with a line break or with a byte such as \xff, use a command.`

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
	w := searchPlace{name: shownName(p.Rel), paths: []string{p.Abs}, access: reads(p.Abs)}
	if err != nil {
		return w, err
	}
	info, err := p.Stat()
	switch {
	case err != nil:
		return w, tool.Errorf("search_path_not_found", "search %s: file not found%s", p.Rel, f.offer.hint("glob", "; use glob to find files by name"))
	case info.IsDir():
		w.access = reads(below(p.Abs))
	case kind == folderOnly:
		return w, tool.Errorf("search_path_not_a_directory", "search %s: it is not a directory%s", p.Rel, f.offer.hint("read_file", "; use read_file"))
	default:
		w.named = true
	}
	return w, nil
}

// scope is what the engine is given. Files with secrets are not reported, unless the one file was named, which policy
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
