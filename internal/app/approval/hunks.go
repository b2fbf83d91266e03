package approval

import (
	"cmp"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/tool"
)

// Hunk is a part of a change that can be selected.
type Hunk struct {
	Diff string // with its "@@" line
	File string // the changed file; "": the only one

	file int       // its place in FileDiff.Files
	span edit.Span // of its old content
}

// Hunks returns the parts of a change. A file that can't be split, such as a new one, is one part.
func Hunks(d tool.FileDiff) []Hunk {
	var all []Hunk
	for i, f := range filesOf(d) {
		old := originalOf(f)
		parts := edit.Compare(old, f.New).Parts()
		if f.Original == nil || len(parts) == 0 {
			parts = []edit.Part{{Span: edit.Span{End: len(old), New: f.New}, Diff: f.Diff}}
		}
		for _, p := range parts {
			all = append(all, Hunk{p.Diff, f.File, i, p.Span})
		}
	}
	return all
}

// filesOf returns the changed files; the only one needs no name.
func filesOf(d tool.FileDiff) []tool.FileDiff {
	if len(d.Files) > 0 {
		return d.Files
	}
	d.File = ""
	return []tool.FileDiff{d}
}

func originalOf(f tool.FileDiff) string { return *cmp.Or(f.Original, new(string)) }

// taken returns the content of each file with the selected hunks; nil: it stays as it is.
func taken(d tool.FileDiff, hunks []Hunk, take []bool) []*string {
	var texts []*string
	for i, f := range filesOf(d) {
		var spans []edit.Span
		for k, h := range hunks {
			if h.file == i && take[k] {
				spans = append(spans, h.span)
			}
		}
		var text *string
		if len(spans) > 0 {
			now := edit.Splice("", originalOf(f), spans)
			text = &now
		}
		texts = append(texts, text)
	}
	return texts
}
