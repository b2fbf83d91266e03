package document_test

import (
	"fmt"

	"github.com/adze-dev/adze/internal/engine/document"
)

func ExampleDetect() {
	t := document.Detect("data.bin", []byte("SQLite format 3\x00"))
	fmt.Println(t.Kind, "-", t.Describe(12_998_144))
	// Output: binary - SQLite database, 12.4 MB
}

func ExampleNotebookFile_Edit() {
	nb, err := document.ParseNotebook([]byte(`{"cells": [{"cell_type": "markdown", "id": "a1", "source": "# Old"}], "nbformat": 4}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	edited, err := nb.Edit(document.CellEdit{ID: "a1", Source: "# New"})
	fmt.Println(string(edited.Data), err)
	_, err = nb.Edit(document.CellEdit{Mode: document.DeleteCell, ID: "b2"})
	fmt.Println(err)
	// Output:
	// {"cells": [{"cell_type": "markdown", "id": "a1", "source": "# New"}], "nbformat": 4} <nil>
	// no cell "b2"; the cells are a1
}
