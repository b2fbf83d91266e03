package builtin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/edit"
	"github.com/adze-dev/adze/internal/workspace"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestEdit(t *testing.T) {
	tooltest.Check(t, one(t, "edit"),
		tooltest.Try{Args: `{"file_path":"$WORK/a","old_string":"old","new_string":"new"}`, Files: map[string]string{"a": "old"}},
		tooltest.Try{Args: `{"file_path":"$WORK/b/c","old_string":"","new_string":"new"}`},
		tooltest.Try{Args: `{"file_path":"$WORK/a","old_string":"none","new_string":"new"}`, Files: map[string]string{"a": "old"}, Fails: true},
	)
}

func TestLineChanges(t *testing.T) {
	const old = "one\ntwo\nthree\nfour\n"
	for _, c := range []struct {
		name  string
		spans []edit.Span
		want  []workspace.LineChange
	}{
		{"inside a line", []edit.Span{span(4, 7, "2")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"a whole line", []edit.Span{span(4, 8, "2\n")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"a line goes", []edit.Span{span(4, 8, "")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 0}}},
		{"a line comes", []edit.Span{span(4, 4, "new\n")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 2}}},
		{"two lines join", []edit.Span{span(3, 4, "")}, []workspace.LineChange{{At: 1, Removed: 2, Added: 1}}},
		{"twice in one line", []edit.Span{span(4, 5, "T"), span(6, 7, "O")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"overlapping lines", []edit.Span{span(4, 5, "T"), span(6, 9, "x\ny\n")}, []workspace.LineChange{{At: 2, Removed: 2, Added: 3}}},
		{"at the end", []edit.Span{span(14, 19, "4")}, []workspace.LineChange{{At: 4, Removed: 2, Added: 1}}},
	} {
		if diff := cmp.Diff(c.want, lineChanges(old, c.spans)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func span(start, end int, text string) edit.Span { return edit.Span{Start: start, End: end, New: text} }
