package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// detect returns the type of an open file.
func detect(p workspace.Path, file *os.File) (document.Type, error) {
	head := make([]byte, document.HeadSize)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return document.Type{}, err
	}
	return document.Detect(p.Abs, head[:n]), nil
}

// readDocument shows a file that isn't only text: a picture, a sound, pages, cells. If it can't be shown, the result
// names its type.
func (f *files) readDocument(ctx context.Context, p workspace.Path, file *os.File, size int64, t document.Type,
	pages string) (tool.Result, error) {
	if t.Kind != document.Notebook {
		f.seen.RecordOpaque(p.Abs)
	}
	switch t.Kind {
	case document.Image, document.Audio, document.PDF, document.Notebook:
	default:
		return cannotShow(p, t.Describe(size)), nil
	}
	if err := t.CheckSize(size); err != nil {
		return tool.Result{}, toRead.errorf(fileTooLarge, p, "%w", err)
	}
	data, err := io.ReadAll(io.LimitReader(file, size+1<<20))
	if err != nil {
		return tool.Result{}, toRead.failure(p, err)
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	switch t.Kind {
	case document.Image:
		return readImage(p, data, t), nil
	case document.PDF:
		return readPDF(ctx, p, data, pages)
	case document.Notebook:
		return f.readNotebook(p, data)
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(fmt.Sprintf("%s: %s", p.Rel, t.Describe(size))),
			tool.Media{MIMEType: t.MIME, Data: data}},
		Display: tool.Markdown(fmt.Sprintf("Read %s (%s)", p.Rel, t.Describe(size))),
	}, nil
}

func cannotShow(p workspace.Path, what string) tool.Result {
	said := fmt.Sprintf("Cannot display content of binary file: %s (%s)", p.Rel, what)
	return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: tool.Markdown(said)}
}

func readImage(p workspace.Path, data []byte, t document.Type) tool.Result {
	picture, err := document.ReadImage(data, document.ImageLimits{})
	if err != nil {
		return cannotShow(p, fmt.Sprintf("%s: %v", t.Describe(int64(len(data))), err))
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(fmt.Sprintf("%s: %s, %s", p.Rel, t.Name, picture)),
			tool.Media{MIMEType: picture.MIME, Data: picture.Data}},
		Display: tool.Markdown(fmt.Sprintf("Read %s (%s, %s)", p.Rel, t.Name, picture)),
	}
}

func readPDF(ctx context.Context, p workspace.Path, data []byte, pages string) (tool.Result, error) {
	wanted, err := document.ParsePages(pages)
	if err != nil {
		return tool.Result{}, toRead.errorf(tool.InvalidParams, p, "pages: %w", err)
	}
	found, err := document.ReadPDF(ctx, data, wanted)
	var many *document.TooManyPagesError
	var outside *document.PageRangeError
	switch {
	case errors.As(err, &many):
		return tool.Result{}, toRead.errorf(fileTooLarge, p, "%w", err)
	case errors.As(err, &outside):
		return tool.Result{}, toRead.errorf(tool.InvalidParams, p, "%w", err)
	case err != nil:
		return tool.Result{}, toRead.failure(p, err)
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(found.String())},
		Display: tool.Markdown(fmt.Sprintf("Read %d of %d pages of %s", len(found.Pages), found.Total, p.Rel)),
	}, nil
}

// readNotebook shows the cells of a notebook. An invalid notebook is shown as text.
func (f *files) readNotebook(p workspace.Path, data []byte) (tool.Result, error) {
	nb, err := document.ParseNotebook(data)
	if err != nil {
		x, bad := excerptOf(data, window{})
		if bad != nil {
			f.seen.RecordOpaque(p.Abs)
			return tool.Result{}, toRead.failure(p, err)
		}
		x.record(f.seen, p.Abs)
		return x.result(fmt.Sprintf(" (shown as text: %v)", err)), nil
	}
	shown, whole := nb.Render()
	hash, lines := sha256.Sum256(data), 1
	if doc, err := text.Decode(data); err == nil {
		lines = text.Lines(doc.Text)
	}
	if whole {
		f.seen.RecordWhole(p.Abs, hash, lines)
	} else {
		f.seen.Record(p.Abs, hash, lines)
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(shown)},
		Display: tool.Markdown(fmt.Sprintf("Read %d cells of %s", len(nb.IDs()), p.Rel)),
	}, nil
}
