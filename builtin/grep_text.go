package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/tool"
)

// grepBudget is the maximum number of characters of matches in one result.
const grepBudget = 20_000

// grepText formats search results like ripgrep with headings.
type grepText struct {
	args  grepSearchArgs
	where searchPlace
	res   *search.GrepResult
	notes []string

	out   strings.Builder
	size  int // characters so far
	told  int // matches in the result
	full  bool
	quote bool                 // a path was quoted
	shown []search.FileMatches // the matches in the result, which count as read
}

func (g *grepText) write() string {
	if g.args.OutputMode == "content" {
		g.content()
	} else {
		g.list()
	}
	head := g.summary()
	if from := g.args.Offset; g.told > 0 && (from > 0 || g.more()) {
		head += fmt.Sprintf(" These are %d to %d.", from+1, from+g.told)
	}
	if g.more() {
		head += fmt.Sprintf(" Use offset %d to continue.", g.args.Offset+g.told)
	}
	for _, n := range g.remarks() {
		head += "\n" + n
	}
	if g.out.Len() == 0 {
		return head
	}
	return head + "\n\n" + strings.TrimRight(g.out.String(), "\n") + "\n"
}

// summary returns the totals for the model.
func (g *grepText) summary() string {
	what := fmt.Sprintf("for %q in %s", g.args.Pattern, g.where.name)
	switch {
	case g.res.MatchedFiles == 0 && g.res.Incomplete != search.Complete:
		return fmt.Sprintf("No matches so far %s; there may be more.", what)
	case g.res.MatchedFiles == 0:
		return fmt.Sprintf("No matches %s.", what)
	}
	return fmt.Sprintf("Found %s %s.", g.found(), what)
}

// found describes the total.
func (g *grepText) found() string {
	atLeast := ""
	if g.res.Incomplete != search.Complete {
		atLeast = "at least "
	}
	switch {
	case g.res.MatchedFiles == 0 && g.res.Incomplete != search.Complete:
		return "no matches so far"
	case g.res.MatchedFiles == 0:
		return "no matches"
	case g.args.OutputMode == "files_with_matches":
		return atLeast + humanize.Count(g.res.MatchedFiles, "file")
	}
	return fmt.Sprintf("%s%s in %s", atLeast, humanize.Count(g.res.Matches, "matching line"),
		humanize.Count(g.res.MatchedFiles, "file"))
}

// total returns the number of results that limit and offset count.
func (g *grepText) total() int {
	if g.args.OutputMode == "content" {
		return g.res.Matches
	}
	return g.res.MatchedFiles
}

func (g *grepText) more() bool { return g.args.Offset+g.told < g.total() }

// remarks returns notes for the reader besides the matches.
func (g *grepText) remarks() []string {
	var out []string
	if g.res.Incomplete != search.Complete {
		out = append(out, fmt.Sprintf("The search did not finish: %s. Narrow path, glob or type.", g.res.Incomplete))
	}
	out = append(out, g.res.Notes...)
	if g.res.MatchedFiles == 0 {
		out = append(out, g.notes...)
	}
	if n := g.res.Refused; n > 0 && g.res.MatchedFiles == 0 {
		out = append(out, fmt.Sprintf("%s skipped (AI ignore file).", humanize.Count(n, "file or directory")))
	}
	var skipped []string
	if n := g.res.Withheld; n > 0 {
		skipped = append(skipped, humanize.Count(n, "file"))
	}
	if n := g.res.Closed; n > 0 {
		skipped = append(skipped, humanize.Count(n, "directory"))
	}
	if len(skipped) > 0 {
		out = append(out, strings.Join(skipped, " and ")+" skipped (may contain secrets); to search one, pass its "+
			"path, which needs approval.")
	}
	if n := g.res.Unreadable; n > 0 {
		p := g.res.Problems[0]
		out = append(out, fmt.Sprintf("%s could not be read, for example %s: %v.",
			humanize.Count(n, "file or directory"), g.path(p.Path), nofollow.Cause(p.Err)))
	}
	if n := g.res.Binary; n > 0 {
		out = append(out, fmt.Sprintf("Also matched %s.", humanize.Count(n, "binary file")))
	}
	if g.quote {
		out = append(out, quotedNote)
	}
	return out
}

// path returns a path as the result shows it.
func (g *grepText) path(path string) string {
	shown := shownName(path)
	g.quote = g.quote || shown != path
	return shown
}

// content writes the lines of each file below its path.
func (g *grepText) content() {
	for i := range g.res.Files {
		if g.full {
			return
		}
		g.file(&g.res.Files[i])
	}
}

func (g *grepText) file(f *search.FileMatches) {
	told := *f
	told.Lines = nil
	head := g.path(f.Path) + "\n"
	if f.Binary {
		g.add(head + "(binary file matches)\n\n")
		g.told += f.Count
		return
	}
	for i, l := range f.Lines {
		text := line(l)
		if i > 0 && l.Number > f.Lines[i-1].Number+1 && (g.args.Context+g.args.Before+g.args.After > 0) {
			text = "--\n" + text
		}
		if !g.fits(head + text) {
			break
		}
		g.add(head + text)
		head = ""
		if l.Match {
			g.told++
		}
		told.Lines = append(told.Lines, l)
	}
	if len(told.Lines) > 0 {
		g.add("\n")
		g.shown = append(g.shown, told)
	}
}

func line(l search.Line) string {
	mark := "-"
	if l.Match {
		mark = ":"
	}
	text := strings.ToValidUTF8(l.Text, "\uFFFD")
	if l.Cut {
		text = "…" + text + "…"
	}
	return fmt.Sprintf("%d%s%s\n", l.Number, mark, text)
}

// list writes one path per line.
func (g *grepText) list() {
	for _, f := range g.res.Files {
		text := g.path(f.Path)
		if g.args.OutputMode == "count" {
			text += fmt.Sprintf(":%d", f.Count)
		}
		text += "\n"
		if !g.fits(text) {
			return
		}
		g.add(text)
		g.told++
	}
}

// fits reports whether there is room for s. Once there isn't, it always reports false.
func (g *grepText) fits(s string) bool {
	g.full = g.full || g.size > 0 && g.size+utf8.RuneCountInString(s) > grepBudget
	return !g.full
}

func (g *grepText) add(s string) {
	g.out.WriteString(s)
	g.size += utf8.RuneCountInString(s)
}

// searchPlace is the file or directory of a search.
type searchPlace struct {
	name   string // for users
	paths  []string
	access []tool.Access
	named  bool // a single file was named: searching it was approved
}

// placeKind is what may be searched.
type placeKind bool

const (
	anyPlace      placeKind = false
	directoryOnly placeKind = true
)

var toSearch = action{"search", "search_path_not_found"}

// quotedNote explains the paths that shownName quotes.
const quotedNote = `A path in quotes has special characters, shown as escapes: \n is a newline. To open one with a line break or with a byte such as \xff, use a command.`

// searchPlace resolves the path of a search; "" is the whole workspace.
func (f *files) searchPlace(name string, kind placeKind) (searchPlace, error) {
	if name == "" {
		w := searchPlace{name: "the workspace", paths: f.ws.Roots()}
		for _, root := range w.paths {
			w.access = append(w.access, reads(below(root))...)
		}
		return w, nil
	}
	p, err := f.at(toSearch, "path", name, ignore.Directory)
	w := searchPlace{name: shownName(p.Rel), paths: []string{p.Abs}, access: reads(p.Abs)}
	if err != nil {
		return w, err
	}
	info, err := p.Stat()
	switch {
	case err != nil:
		return w, tool.Errorf("search_path_not_found", "search %s: file not found%s", p.Rel,
			f.offer.hint("glob", "; use glob to find files by name"))
	case info.IsDir():
		w.access = reads(below(p.Abs))
	case kind == directoryOnly:
		return w, tool.Errorf("search_path_not_a_directory", "search %s: it is not a directory%s", p.Rel,
			f.offer.hint("read_file", "; use read_file"))
	default:
		w.named = true
	}
	return w, nil
}

// scope returns the scope for the engine. Files with secrets are not opened, unless the search names the one file,
// which policy has judged.
func (w searchPlace) scope(f *files, noIgnore, skipHidden bool) search.Scope {
	s := search.Scope{
		Paths: w.paths, Rules: f.ignore, NoIgnore: noIgnore, SkipHidden: skipHidden, Timeout: searchTime,
		Shared: f.shared,
	}
	if !w.named {
		s.Withhold = f.withheld()
	}
	return s
}
