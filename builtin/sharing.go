package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/tool"
)

const (
	sharedChars = 50_000 // for all files together
	leastShare  = 400    // per file; with less room the file is not read
	sharedBytes = 64 << 20
	sharedMedia = 10 // pictures, sounds and documents
)

// block is the shown part of one file.
type block struct {
	path   workspace.Path
	header string // "" : the whole file
	lines  lineRange
	parts  []tool.Part
}

// readTogether reads files so that all of them fit together. Short files are shown completely, and long ones share the
// rest equally.
func (f *files) readTogether(ctx context.Context, g *gathered) ([]block, error) {
	var blocks []block
	var texts []int // indices of the blocks that are text
	var sizes []int64
	media, bytes := 0, int64(0)
	for _, c := range g.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(texts) == sharedChars/leastShare && !c.named {
			g.more++
			continue
		}
		t, size, err := f.probe(c.path)
		isText := t.Kind == document.Text || t.Kind == document.SVG
		switch {
		case err != nil:
			g.skip(c.path.Rel, "%v", nofollow.Cause(err))
		case isText && len(texts) == sharedChars/leastShare:
			g.more++
		case isText && (size > maxInMemory || bytes+size > sharedBytes):
			g.skip(c.path.Rel, "too large to be read along with others (%s)%s", humanize.Bytes(size),
				f.offer.hint("read_file", "; use read_file"))
		case isText:
			texts, sizes, bytes = append(texts, len(blocks)), append(sizes, size), bytes+size
			blocks = append(blocks, block{path: c.path, lines: c.lines})
		case !c.named:
			g.skip(c.path.Rel, "%s; name it, or its kind, to have it read", t.Describe(size))
		case media == sharedMedia:
			g.skip(c.path.Rel, "more than %d pictures and documents", sharedMedia)
		default:
			media++
			if b, ok := f.documentBlock(ctx, g, c.path, size, t); ok {
				blocks = append(blocks, b)
			}
		}
	}
	for i, share := range fairShares(sizes, sharedChars) {
		f.readShare(ctx, g, &blocks[texts[i]], share)
	}
	shown := blocks[:0]
	for _, b := range blocks {
		if b.parts != nil {
			shown = append(shown, b)
		}
	}
	return shown, ctx.Err()
}

// probe returns the type of a file.
func (f *files) probe(p workspace.Path) (document.Type, int64, error) {
	file, err := f.open(p)
	if err != nil {
		return document.Type{}, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return document.Type{}, 0, err
	}
	t, err := detect(p, file)
	return t, info.Size(), err
}

func (f *files) documentBlock(ctx context.Context, g *gathered, p workspace.Path, size int64, t document.Type) (block,
	bool) {
	file, err := f.open(p)
	if err != nil {
		g.skip(p.Rel, "%v", nofollow.Cause(err))
		return block{}, false
	}
	defer file.Close()
	r, err := f.readDocument(ctx, p, file, size, t, "")
	if err != nil {
		g.skip(p.Rel, "%v", errors.Unwrap(err))
		return block{}, false
	}
	for i, part := range r.Content {
		if t, ok := part.(tool.Text); ok && utf8.RuneCountInString(string(t)) > maxChars {
			r.Content[i] = tool.Text(tool.Cut(string(t), maxChars))
		}
	}
	return block{path: p, parts: r.Content}, true
}

// readShare reads as much of a text as fits into its share.
func (f *files) readShare(ctx context.Context, g *gathered, b *block, share int) {
	file, err := f.open(b.path)
	if err != nil {
		g.skip(b.path.Rel, "%v", nofollow.Cause(err))
		return
	}
	defer file.Close()
	w := window{chars: share}
	if l := b.lines; l.first > 0 {
		w = window{first: l.first, lines: l.last - l.first + 1, chars: maxChars}
	}
	x, err := f.excerptOfFile(ctx, file, w)
	switch {
	case errors.Is(err, text.ErrBinary):
		g.skip(b.path.Rel, "binary data")
	case err != nil:
		g.skip(b.path.Rel, "%v", nofollow.Cause(err))
	default:
		x.record(f.seen, b.path.Abs)
		if !x.whole {
			b.header = x.header()
		}
		b.parts = []tool.Part{tool.Text(x.text)}
	}
}

func (f *files) excerptOfFile(ctx context.Context, file *os.File, w window) (excerpt, error) {
	info, err := file.Stat()
	if err != nil {
		return excerpt{}, err
	}
	return readExcerpt(ctx, file, info.Size(), w)
}

// fairShares divides a budget: no share exceeds its need, and no share is smaller than another one unless its need is
// smaller.
func fairShares(sizes []int64, budget int) []int {
	shares := make([]int, len(sizes))
	open := make([]int, len(sizes))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		equal := budget / len(open)
		var rest []int
		for _, i := range open {
			if sizes[i] <= int64(equal) {
				shares[i] = max(int(sizes[i]), 1)
				budget -= int(sizes[i])
			} else {
				rest = append(rest, i)
			}
		}
		if len(rest) == len(open) {
			for _, i := range rest {
				shares[i] = equal
			}
			return shares
		}
		open = rest
	}
	return shares
}

// skippedText lists the skipped files with the reasons, in a bounded number of lines.
func (g *gathered) skippedText(limit int) string {
	s := ""
	for i, sk := range g.skipped {
		if i == limit {
			s += fmt.Sprintf("- and %d more\n", len(g.skipped)-limit)
			break
		}
		s += "- " + sk.String() + "\n"
	}
	if g.more > 0 {
		s += fmt.Sprintf("- %s: over the budget of one call; name fewer files, or read them one by one\n",
			humanize.Count(g.more, "further file"))
	}
	return s
}
