package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed list_directory.md
var listDirectoryText string

type listDirectoryArgs struct {
	Path   string         `json:"path" alias:"absolute_path,dir_path,directory" description:"Absolute path of the directory."`
	Ignore []string       `json:"ignore,omitempty" description:"Names to omit; * and ? are wildcards."`
	Filter filterArgument `json:"file_filtering_options,omitzero" description:"Ignore options. AI ignore files (.qwenignore, …) always apply."`
}

// filterArgument is the documented parameter that includes git-ignored files.
type filterArgument struct {
	Git *bool `json:"respect_git_ignore,omitempty" description:"Skip git-ignored entries." default:"true"`
	AI  *bool `json:"respect_qwen_ignore,omitempty" declared:"false" ignored:"respect_gemini_ignore"`
}

func (a filterArgument) showsIgnored() bool { return a.Git != nil && !*a.Git }

// notes returns notes about unsupported options.
func (a filterArgument) notes() []string {
	if a.AI == nil || *a.AI {
		return nil
	}
	return []string{"respect_qwen_ignore was taken as true: what an AI ignore file names is never shown"}
}

// maxListed is the maximum number of entries shown.
const maxListed = 1000

func listDirectory(f *files) tool.Tool {
	return tool.Define(tool.Def[listDirectoryArgs]{
		Name: "list_directory", DisplayName: "ListFiles",
		Summary:     "List a directory",
		Description: strings.TrimSpace(listDirectoryText), RuleNames: []string{"LS", "LSTool", "ReadFolder"},
		Kind: tool.Search,
		Prepare: func(ctx context.Context, a listDirectoryArgs) (*tool.Invocation, error) {
			p, err := f.at(toList, "path", a.Path, ignore.Directory)
			inv := &tool.Invocation{Description: "list " + p.Rel, Access: reads(below(p.Abs)), Notes: a.Filter.notes()}
			if err != nil {
				return inv, err
			}
			if err := f.checkDirectory(p); err != nil {
				return inv, err
			}
			l := directoryListing{files: f, dir: p, without: a.Ignore, showIgnored: a.Filter.showsIgnored()}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) { return l.run(ctx) }
			return inv, nil
		},
	})
}

func (f *files) checkDirectory(p workspace.Path) error {
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.notFound(toList, p)
	case err != nil:
		return toList.failure(p, err)
	case !info.IsDir():
		return toList.errorf(notADirectory, p, "it is %s, not a directory%s", workspace.Kind(info.Mode()),
			f.offer.hint("read_file", "; use read_file to see a file"))
	}
	return nil
}

// directoryListing reads one directory.
type directoryListing struct {
	files       *files
	dir         workspace.Path
	without     []string
	showIgnored bool

	rules           *ignore.Dir
	shown           []listed
	hidden, refused int
	excluded        int
}

// listed is an entry that is shown.
type listed struct {
	name      string
	entry     fs.DirEntry
	target    string // of a link
	at        workspace.Path
	lost      bool // a dangling link
	directory bool
	secret    bool // its size isn't shown
}

func (l directoryListing) run(ctx context.Context) (tool.Result, error) {
	entries, err := l.dir.ReadDir()
	if err != nil {
		return tool.Result{}, toList.failure(l.dir, err)
	}
	l.rules, _ = l.files.ignore.Start(l.dir.Abs) // the content of a hidden directory is shown if the directory is named
	for i, e := range entries {
		if i%256 == 0 && ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		if !atomicfile.IsTemp(e.Name()) { // a temporary file of this program
			l.add(e)
		}
	}
	sorted.By(l.shown, func(a, b listed) int {
		switch {
		case a.directory == b.directory:
			return 0 // they are sorted by name
		case a.directory:
			return -1
		}
		return 1
	})
	return l.result(), nil
}

// add shows or counts an entry.
func (l *directoryListing) add(e fs.DirEntry) {
	at := l.dir.Join(e.Name())
	item := listed{name: e.Name(), entry: e, directory: e.IsDir(), at: at}
	v := l.rules.Match(e.Name(), ignore.Kind(e.IsDir()))
	if e.Type()&fs.ModeSymlink != 0 && v.State != ignore.Refused {
		l.follow(&item)
		if item.at.Abs != at.Abs {
			if t := l.files.ignore.Check(item.at.Abs, ignore.Kind(item.directory)); t.State == ignore.Refused {
				v = t
			}
		}
	}
	item.secret = l.files.secrets.is(item.at)
	switch {
	case v.State == ignore.Refused:
		l.refused++
	case l.excludes(item):
		l.excluded++
	case v.State == ignore.Hidden && !l.showIgnored:
		l.hidden++
	default:
		l.shown = append(l.shown, item)
	}
}

// follow resolves a link.
func (l *directoryListing) follow(item *listed) {
	item.target, _ = os.Readlink(item.at.Abs)
	p, err := l.files.ws.Resolve(item.at.Abs)
	if err != nil || !p.Exists {
		item.lost = true
		return
	}
	info, err := p.Stat()
	item.at, item.directory, item.lost = p, err == nil && info.IsDir(), errors.Is(err, fs.ErrNotExist)
}

func (l *directoryListing) excludes(item listed) bool {
	for _, pattern := range l.without {
		name, onlyDirectories := strings.CutSuffix(pattern, "/")
		if (!onlyDirectories || item.directory) && matchName(name, item.name) {
			return true
		}
	}
	return false
}

// matchName matches a whole name. The only wildcards are * and ?.
func matchName(pattern, name string) bool {
	literal := strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(pattern)
	ok, err := path.Match(literal, name)
	return ok && err == nil
}

func (l *directoryListing) result() tool.Result {
	counts := l.counts()
	if len(l.shown) == 0 {
		return tool.Result{
			Content: []tool.Part{tool.Text(fmt.Sprintf("Directory %s is empty%s.", l.dir.Abs, counts))},
			Display: tool.Markdown("Directory is empty" + counts + "."),
		}
	}
	head := fmt.Sprintf("Listed %d item(s)", len(l.shown))
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s:\n---\n", head, l.dir.Abs)
	shown := l.shown[:min(len(l.shown), maxListed)]
	for _, item := range shown {
		b.WriteString(item.line() + "\n")
	}
	cut := ""
	if more := len(l.shown) - len(shown); more > 0 {
		fmt.Fprintf(&b, "---\n[%d of %d items truncated: use %signore to see the others]\n", more, len(l.shown),
			l.files.offer.hint("glob", "glob with a pattern, or "))
		cut = " (truncated)"
	}
	if counts != "" {
		b.WriteString("\n" + strings.TrimSpace(counts) + "\n")
	}
	return tool.Result{Content: []tool.Part{tool.Text(b.String())}, Display: tool.Markdown(head + counts + cut)}
}

// counts describes the entries that are not shown.
func (l *directoryListing) counts() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{l.hidden, "git-ignored"}, {l.refused, "denied by an AI ignore file"}, {l.excluded, "excluded by ignore"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// line shows an entry: "[DIR] src", "main.go (1.2 KB)", "old -> gone (dangling link)".
func (i listed) line() string {
	s := shownName(i.name)
	if i.target != "" {
		s += " -> " + shownName(filepath.ToSlash(i.target))
	}
	switch {
	case i.lost:
		return s + " (dangling link)"
	case i.directory:
		return "[DIR] " + s
	}
	if i.secret {
		return s + " (may contain secrets)"
	}
	info, err := i.at.Stat()
	switch {
	case err != nil:
		return s + " (unreadable)"
	case !info.Mode().IsRegular():
		return s + " (" + strings.TrimPrefix(workspace.Kind(info.Mode()), "a ") + ")"
	}
	return s + " (" + humanize.Bytes(info.Size()) + ")"
}

// shownName returns a name on one line. A name with invisible characters is quoted, with escapes, and so is one that
// begins with a quote.
func shownName(name string) string {
	if tool.Hidden(name) || strings.ContainsAny(name, "\n\t") || strings.HasPrefix(name, `"`) {
		return strconv.Quote(name)
	}
	return name
}
