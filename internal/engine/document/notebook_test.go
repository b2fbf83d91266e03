package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const notebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "c0ffee",
   "metadata": {"tags":   ["odd  spacing"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "\u001b[31mred\u001b[0m\n",
      "10%\r100%\n"
     ]
    },
    {
     "data": {
      "image/png": "iVBORw0KGgo=",
      "text/plain": [
       "<Figure>"
      ]
     },
     "metadata": {},
     "output_type": "display_data"
    }
   ],
   "source": [
    "print('é')"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "last",
   "metadata": {},
   "outputs": [],
   "source": []
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Python 3",
   "language": "python",
   "name": "python3"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestRender(t *testing.T) {
	nb, err := ParseNotebook([]byte(notebook))
	if err != nil {
		t.Fatal(err)
	}
	got, whole := nb.Render()
	want := "Jupyter Notebook (python, 3 cells)\n" +
		"\n--- Markdown Cell intro ---\n```markdown\n# Title\ntext\n```\n" +
		"\n--- Code Cell c0ffee [3] ---\n```python\nprint('é')\n```\nOutput:\n```\nred\n100%\n<Figure>\n[image/png]\n```\n" +
		"\n--- Code Cell last ---\n```python\n```\n"
	if diff := cmp.Diff(want, got); diff != "" || !whole {
		t.Errorf("whole %v\n%s", whole, diff)
	}
}

func TestEditCell(t *testing.T) {
	const codeCell = `{
   "cell_type": "code",
   "execution_count": null,
   "id": "ID",
   "metadata": {},
   "outputs": [],
   "source": [
    "a = 1\n",
    "b = \"é\""
   ]
  }`
	const markdownCell = `{
   "cell_type": "markdown",
   "id": "ID",
   "metadata": {},
   "source": []
  }`
	cellOf := func(id string) string { // the text of a cell of the notebook
		nb, err := ParseNotebook([]byte(notebook))
		if err != nil {
			t.Fatal(err)
		}
		i, err := nb.find(id)
		if err != nil {
			t.Fatal(err)
		}
		return notebook[nb.cells[i].start:nb.cells[i].end]
	}
	const source = "a = 1\r\nb = \"é\""
	for _, c := range []struct {
		name     string
		edit     CellEdit
		old, new string // in the whole file
	}{
		{"replace", CellEdit{ID: "last", Source: "x"}, `"source": []`, "\"source\": [\n    \"x\"\n   ]"},
		{"replace clears outputs", CellEdit{ID: "c0ffee", Source: "1\n"}, cellOf("c0ffee"), strings.NewReplacer(
			"3,", "null,", cellOf("c0ffee")[strings.Index(cellOf("c0ffee"), `"outputs": [`):strings.Index(cellOf("c0ffee"), `"source"`)], "\"outputs\": [],\n   ",
			"print('é')", `1\n`).Replace(cellOf("c0ffee"))},
		{"to markdown", CellEdit{ID: "last", Source: "x", Type: "markdown"}, cellOf("last"), strings.NewReplacer(
			`"code"`, `"markdown"`, "\"execution_count\": null,\n   ", "", "\"outputs\": [],\n   ", "", "[]", "[\n    \"x\"\n   ]").Replace(cellOf("last"))},
		{"to code", CellEdit{ID: "intro", Source: "x", Type: "code"}, cellOf("intro"), strings.NewReplacer(
			`"markdown"`, `"code"`, `"source"`, "\"execution_count\": null,\n   \"outputs\": [],\n   \"source\"", `"# Title\n",`+"\n    "+`"text"`, `"x"`).Replace(cellOf("intro"))},
		{"insert first", CellEdit{Mode: InsertCell, Source: source}, cellOf("intro"), codeCell + ",\n  " + cellOf("intro")},
		{"insert after", CellEdit{Mode: InsertCell, ID: "intro", Source: source}, cellOf("intro"), cellOf("intro") + ",\n  " + codeCell},
		{"insert last", CellEdit{Mode: InsertCell, ID: "last", Type: "markdown"}, cellOf("last"), cellOf("last") + ",\n  " + markdownCell},
		{"delete first", CellEdit{Mode: DeleteCell, ID: "intro"}, cellOf("intro") + ",\n  ", ""},
		{"delete last", CellEdit{Mode: DeleteCell, ID: "last"}, ",\n  " + cellOf("last"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			nb, err := ParseNotebook([]byte(notebook))
			if err != nil {
				t.Fatal(err)
			}
			got, err := nb.Edit(c.edit)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got.Data) {
				t.Errorf("not JSON")
			}
			want := strings.Replace(notebook, c.old, strings.ReplaceAll(c.new, `"ID"`, `"`+got.ID+`"`), 1)
			if diff := cmp.Diff(want, string(got.Data)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditCellLayouts(t *testing.T) {
	for _, c := range []struct {
		name, file string
		edit       CellEdit
		want, id   string
	}{
		{
			"one line", `{"cells": [{"cell_type": "code", "source": "a"}], "nbformat": 4, "nbformat_minor": 2}`, CellEdit{ID: "cell-0", Source: "b\nc"},
			`{"cells": [{"cell_type": "code", "execution_count": null, "outputs": [], "source": "b\nc"}], "nbformat": 4, "nbformat_minor": 2}`, "cell-0",
		}, {
			"no blanks", `{"cells":[{"cell_type":"markdown","source":["a"]}],"nbformat":4,"nbformat_minor":2}`, CellEdit{Mode: InsertCell, ID: "cell-0", Source: "b\nc"},
			`{"cells":[{"cell_type":"markdown","source":["a"]},{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["b\n","c"]}],"nbformat":4,"nbformat_minor":2}`, "cell-1",
		}, {
			"no cells", "{\n  \"cells\": [],\n  \"nbformat\": 4\n}", CellEdit{Mode: InsertCell, Source: "x", Type: "markdown"},
			"{\n  \"cells\": [\n    {\n      \"cell_type\": \"markdown\",\n      \"metadata\": {},\n      \"source\": [\n        \"x\"\n      ]\n    }\n  ],\n  \"nbformat\": 4\n}", "cell-0",
		}, {
			"BOM, CRLF and the only cell", "\uFEFF{\r\n\t\"cells\": [\r\n\t\t{\"cell_type\": \"raw\", \"source\": []}\r\n\t]\r\n}\r\n", CellEdit{Mode: DeleteCell, ID: "cell-0"},
			"\uFEFF{\r\n\t\"cells\": []\r\n}\r\n", "cell-0",
		}, {
			"what is dropped stands last", `{"cells": [{"source": "a", "cell_type": "code", "execution_count": 1, "outputs": []}]}`, CellEdit{ID: "cell-0", Source: "b", Type: "markdown"},
			`{"cells": [{"source": "b", "cell_type": "markdown"}]}`, "cell-0",
		}, {
			"ASCII only", `{"cells": [{"cell_type": "markdown", "source": "\u00e9"}]}`, CellEdit{ID: "cell-0", Source: "é😀\x01"},
			`{"cells": [{"cell_type": "markdown", "source": "\u00e9\ud83d\ude00\u0001"}]}`, "cell-0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			nb, err := ParseNotebook([]byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := nb.Edit(c.edit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.Data)); diff != "" || got.ID != c.id {
				t.Errorf("id %q\n%s", got.ID, diff)
			}
		})
	}
}

func TestNotebookErrors(t *testing.T) {
	_, err := ParseNotebook([]byte("{\n \"cells\": [,]}"))
	if diff := cmp.Diff(error(&SyntaxError{Line: 2, Column: 12, Reason: "invalid character ',' looking for beginning of value"}), err); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{}`, `[]`, `{"cells": {}}`, `{"cells": [1]}`, `{"worksheets": [], "nbformat": 3}`} {
		if _, err := ParseNotebook([]byte(bad)); !errors.Is(err, ErrNotNotebook) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := ParseNotebook([]byte(strings.Repeat("[", 100_000))); err == nil {
		t.Error("nested without end")
	}
	nb, err := ParseNotebook([]byte(`{"cells": [{"id": "a", "source": ""}, {"id": "a", "source": ""}, {"source": ""}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = nb.Edit(CellEdit{ID: "b"})
	if diff := cmp.Diff(error(&CellNotFoundError{ID: "b", Known: []string{"a", "a", "cell-2"}}), err); diff != "" {
		t.Error(diff)
	}
	_, err = nb.Edit(CellEdit{ID: "a"})
	if diff := cmp.Diff(error(&AmbiguousCellError{ID: "a", Indices: []int{0, 1}}), err); diff != "" {
		t.Error(diff)
	}
	if _, err = nb.Edit(CellEdit{ID: "cell-2", Type: "latex"}); err == nil {
		t.Error("unknown type")
	}
}

func TestRenderIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"cells": [`)
	for i := range 60 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"cell_type": "code", "source": "x", "outputs": [{"output_type": "stream", "text": "` + strings.Repeat("y", 20_000) + `"}]}`)
	}
	b.WriteString(`]}`)
	nb, err := ParseNotebook([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	text, whole := nb.Render()
	if whole || len(text) > maxRendered+500 || !strings.Contains(text, "[output cut: 10000 of 20000 characters shown; all of it: jq '.cells[0].outputs']") ||
		!strings.Contains(text, "of 60 cells are not shown") {
		t.Errorf("whole %v, %d bytes: …%s", whole, len(text), text[max(0, len(text)-300):])
	}
}

// FuzzEditCell checks that for any file, an edit gives JSON in which all other cells, and all bytes around the cells, are
// unchanged.
func FuzzEditCell(f *testing.F) {
	f.Add([]byte(notebook), 0, 1, "print(1)\n", "code")
	f.Add([]byte(`{"cells":[{"source":"","attachments":{}},{"outputs":[],"source":[],"execution_count":1}]}`), 0, 1, "x", "markdown")
	f.Add([]byte("{\n\"cells\":[]}"), 1, 0, "x", "")
	f.Fuzz(func(t *testing.T, data []byte, mode, index int, source, typ string) {
		nb, err := ParseNotebook(data)
		if err != nil {
			return
		}
		nb.Render()
		e := CellEdit{Mode: CellMode(mode), Source: source, Type: typ}
		index = max(0, index)
		if index < len(nb.cells) {
			e.ID = nb.cells[index].id
		}
		got, err := nb.Edit(e)
		if err != nil {
			return
		}
		after, err := ParseNotebook(got.Data)
		if err != nil || !json.Valid(bytes.TrimPrefix(got.Data, []byte("\uFEFF"))) {
			t.Fatalf("%v: %s", err, got.Data)
		}
		checkRest(t, nb, after, e, index)
	})
}

func checkRest(t *testing.T, before, after *NotebookFile, e CellEdit, index int) {
	cellsOf := func(nb *NotebookFile) (cells []string) {
		for _, c := range nb.cells {
			cells = append(cells, string(nb.data[c.start:c.end]))
		}
		return cells
	}
	had, has := cellsOf(before), cellsOf(after)
	switch {
	case e.Mode == DeleteCell:
		had = append(had[:index], had[index+1:]...)
	case e.Mode == InsertCell && e.ID == "":
		has = has[1:]
	case e.Mode == InsertCell:
		has = append(has[:index+1], has[index+2:]...)
	default:
		had[index], has[index] = "", ""
		want := strings.ToValidUTF8(strings.ReplaceAll(e.Source, "\r\n", "\n"), "\uFFFD")
		if got := after.text(after.cells[index].value("source")); got != want {
			t.Fatalf("source %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff(had, has); diff != "" && len(had)+len(has) > 0 {
		t.Fatal(diff)
	}
	if !bytes.Equal(before.data[:before.cellsAt.start], after.data[:after.cellsAt.start]) || !bytes.Equal(before.data[before.cellsAt.end:], after.data[after.cellsAt.end:]) {
		t.Fatal("changed outside the cells")
	}
}
