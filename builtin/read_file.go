package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed read_file.md
var readFileText string

type readFileArgs struct {
	Path   string `json:"absolute_path" alias:"file_path,path" description:"Absolute path of the file."`
	Offset int    `json:"offset,omitempty" description:"Line number to start from (0-based: offset 10 starts at line 11)." minimum:"0"`
	Limit  int    `json:"limit,omitempty" description:"Maximum number of lines to read." minimum:"1"`
	Pages  string `json:"pages,omitempty" description:"PDF pages to read, e.g. \"5\" or \"1-10\" (at most 20)."`
}

func readFile(f *files) tool.Tool {
	return tool.Define(tool.Def[readFileArgs]{
		Name: "read_file", DisplayName: "ReadFile",
		Summary:     "Read a text file, image, audio file, PDF or notebook",
		Description: strings.TrimSpace(readFileText), RuleNames: []string{"Read", "NotebookRead"}, Kind: tool.Read,
		Budget: -1,
		Prepare: func(ctx context.Context, a readFileArgs) (*tool.Invocation, error) {
			if _, err := document.ParsePages(strings.TrimSpace(a.Pages)); err != nil {
				return nil, tool.BadParam("pages", "%v", err)
			}
			if own, err := f.isHistory("absolute_path", a.Path); own || err != nil {
				return f.readHistory(a), err
			}
			p, err := f.at(toRead, "absolute_path", a.Path, ignore.File)
			inv := &tool.Invocation{Description: a.describe(p), Access: reads(p.Abs)}
			if err != nil {
				return inv, err
			}
			if err := f.checkFile(toRead, p); err != nil {
				return inv, err
			}
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				r, err := f.read(ctx, p, a, l.Call.Dialect)
				if err == nil && !filepath.IsAbs(a.Path) {
					r.Content = slices.Insert(r.Content, 0, tool.Part(tool.Text("File: "+p.Abs+"\n")))
				}
				return r, err
			}
			return inv, nil
		},
	})
}

func (a readFileArgs) describe(p workspace.Path) string {
	switch {
	case a.Pages != "":
		return fmt.Sprintf("read %s, pages %s", p.Rel, a.Pages)
	case a.Limit > 0:
		return fmt.Sprintf("read %s, lines %d-%d", p.Rel, a.Offset+1, a.Offset+a.Limit)
	case a.Offset > 0:
		return fmt.Sprintf("read %s from line %d", p.Rel, a.Offset+1)
	}
	return "read " + p.Rel
}

// checkFile returns an error if a path is not a regular file. It doesn't open the file.
func (f *files) checkFile(a action, p workspace.Path) error {
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.notFound(a, p)
	case err == nil && !info.Mode().IsRegular():
		err = &workspace.NotRegularError{Path: p.Abs, Kind: workspace.Kind(info.Mode())}
	}
	return a.failure(p, err)
}

func (f *files) read(ctx context.Context, p workspace.Path, a readFileArgs, dialect tool.Dialect) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	file, err := f.open(p)
	if err != nil {
		return tool.Result{}, toRead.failure(p, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return tool.Result{}, toRead.failure(p, err)
	}
	t, err := detect(p, file)
	if err != nil {
		return tool.Result{}, toRead.failure(p, err)
	}
	ranged := a.Offset > 0 || a.Limit > 0
	switch {
	case t.Kind != document.PDF && strings.TrimSpace(a.Pages) != "":
		return tool.Result{}, toRead.errorf(tool.InvalidParams, p,
			"pages is for PDF, and this is %s; use offset and limit", t.Name)
	case t.Kind == document.PDF && ranged:
		return tool.Result{}, toRead.errorf(tool.InvalidParams, p,
			"offset and limit are for text, and this is a PDF; use pages")
	case t.Kind == document.Text, t.Kind == document.SVG, t.Kind == document.Notebook && ranged:
		return f.readText(ctx, p, file, info.Size(), window{
			first: max(a.Offset, a.Offset+1), lines: a.Limit, anchors: dialect == tool.AnchorDialect,
		})
	}
	return f.readDocument(ctx, p, file, info.Size(), t, strings.TrimSpace(a.Pages))
}

// readText shows a file as text, and records what was shown. If a file is over the limit, its declarations follow.
func (f *files) readText(ctx context.Context, p workspace.Path, file *os.File, size int64, w window) (tool.Result,
	error) {
	x, err := readExcerpt(ctx, file, size, w)
	if errors.Is(err, text.ErrBinary) {
		f.seen.RecordOpaque(p.Abs)
		return cannotShow(p, "binary data, "+humanize.Bytes(size)), nil
	}
	if err != nil {
		return tool.Result{}, unshown(toRead, p, err)
	}
	x.record(f.seen, p.Abs)
	if shown := f.values.Mask().String(x.text); w.anchors && text.Lines(shown) == text.Lines(x.text) {
		x.text = edit.Anchored(x.all, shown, x.first)
	}
	res := x.result("")
	if w.first == 1 && x.last < x.total && (w.lines == 0 || x.last < w.lines) { // not the limit of the call
		if list := declarations(p.Abs, x.all); list != "" {
			res.Content = []tool.Part{tool.Text(res.Text() + "\n" + list)}
		}
	}
	return res, nil
}
