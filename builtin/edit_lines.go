package builtin

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed edit_lines.md
var editLinesText string

type editLinesArgs struct {
	Path  string    `json:"file_path" alias:"absolute_path,path" description:"Absolute path of the file."`
	Edits []oneSpan `json:"edits" description:"Replacements of lines. All anchors are those before the call." minItems:"1"`
}

type oneSpan struct {
	First string `json:"first" description:"Anchor of the first line to replace, such as \"12:a3f\"."`
	Last  string `json:"last,omitempty" description:"Anchor of the last line to replace; omit it for one line."`
	New   string `json:"new_text" description:"Replacement lines, without anchors; empty: the lines are removed."`
}

const linesName = "edit_lines"

var toEditLines = action{"edit lines of", editPreparation}

func editLines(f *files) tool.Tool {
	return tool.Define(tool.Def[editLinesArgs]{
		Name: linesName, DisplayName: "EditLines",
		Summary:     "Replace lines in a file by their anchors",
		Description: strings.TrimSpace(editLinesText), RuleNames: editNames(linesName), Kind: tool.Edit,
		Deferred: true, Dialect: tool.AnchorDialect,
		Prepare: func(ctx context.Context, a editLinesArgs) (*tool.Invocation, error) {
			return f.prepareChange(toEditLines, "edit", a.Path, func(p workspace.Path) (*change, error) {
				return f.linesReplaced(p, a.Edits)
			}, func(list []*change, files []tool.FileDiff, texts []*string) any {
				return editLinesArgs{files[0].Path, []oneSpan{oneSpan(edit.AllLines(list[0].was.doc.Text, *texts[0]))}}
			})
		},
	})
}

// linesReplaced returns the change that edits of lines make.
func (f *files) linesReplaced(p workspace.Path, spans []oneSpan) (*change, error) {
	edits := make([]edit.LineEdit, len(spans))
	var texts []*string
	for i, e := range spans {
		edits[i] = edit.LineEdit(e)
		texts = append(texts, &edits[i].New)
	}
	return f.revise(toEditLines, p, texts, func(o original) (edit.Result, error) {
		return edit.ApplyLines(o.doc.Text, f.earlierOf(o), edits)
	})
}

// earlier is the texts that edits of lines changed, so that anchors of lines which didn't change stay valid.
type earlier struct {
	now   workspace.Hash
	texts []edit.Version
}

func (f *files) earlierOf(o original) []edit.Version {
	if e, ok := f.earlier.Load(o.path.Abs); ok && e.(earlier).now == o.hash {
		return e.(earlier).texts
	}
	return nil
}

// keepEarlier keeps the text that a change replaces, if it isn't long.
func (f *files) keepEarlier(c *change) {
	const most, size = 8, 256 << 10
	if texts := f.earlierOf(c.was); len(c.was.doc.Text) <= size {
		texts = slices.Clip(texts[max(0, len(texts)-most+1):])
		texts = append(texts, edit.Version{Text: c.was.doc.Text, Spans: c.found.Spans})
		f.earlier.Store(c.was.path.Abs, earlier{c.newHash(), texts})
	}
}
