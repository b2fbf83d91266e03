package document

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// NotebookFile is a parsed Jupyter notebook. It keeps the bytes it was parsed from.
type NotebookFile struct {
	data     []byte
	cellsAt  node
	cells    []notebookCell
	language string
	withIDs  bool // nbformat 4.5 and later: cells have IDs
}

// notebookCell is a cell and its position.
type notebookCell struct {
	node
	id     string
	native bool // the file has the ID; otherwise it is the cell's index
	typ    string
}

// ErrNotNotebook is in the chain of errors about JSON that isn't a supported notebook.
var ErrNotNotebook = errors.New("not a Jupyter notebook of format 4")

// CellNotFoundError reports an unknown ID, and the existing ones.
type CellNotFoundError struct {
	ID    string
	Known []string
}

func (e *CellNotFoundError) Error() string {
	known := "the cells are " + humanize.List(e.Known, 50)
	if len(e.Known) == 0 {
		known = "the notebook has no cells"
	}
	return fmt.Sprintf("no cell %q; %s", e.ID, known)
}

// AmbiguousCellError reports that several cells have an ID.
type AmbiguousCellError struct {
	ID      string
	Indices []int // of the cells, from 0
}

func (e *AmbiguousCellError) Error() string {
	return fmt.Sprintf("%d cells have the id %q, at indices %v; edit the file as text to tell them apart",
		len(e.Indices), e.ID, e.Indices)
}

// ParseNotebook reads a notebook. The error is a *[SyntaxError] or wraps [ErrNotNotebook].
func ParseNotebook(data []byte) (*NotebookFile, error) {
	start := 0
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		start = 3
	}
	root, err := scanJSON(data, start)
	if err != nil {
		return nil, err
	}
	nb := &NotebookFile{data: data}
	cells, ok := root.member("cells")
	if !ok || cells.value.kind != '[' {
		return nil, fmt.Errorf("read the notebook: it has no list of cells: %w", ErrNotNotebook)
	}
	major, minor := nb.number(root.value("nbformat")), nb.number(root.value("nbformat_minor"))
	nb.withIDs = major > 4 || major == 4 && minor >= 5
	nb.cellsAt = cells.value
	meta := root.value("metadata")
	nb.language = nb.text(meta.value("kernelspec").value("language"))
	if name := nb.text(meta.value("language_info").value("name")); name != "" {
		nb.language = name
	}
	for i, n := range cells.value.items {
		if n.kind != '{' {
			return nil, fmt.Errorf("read the notebook: cell %d is not an object: %w", i, ErrNotNotebook)
		}
		c := notebookCell{node: n, id: nb.text(n.value("id")), typ: nb.text(n.value("cell_type"))}
		if c.native = c.id != ""; !c.native {
			c.id = "cell-" + strconv.Itoa(i)
		}
		nb.cells = append(nb.cells, c)
	}
	return nb, nil
}

// StableIDs reports whether IDs stay with their cells. If the file has none, they are the cells' indices, and change
// when a cell is inserted or deleted.
func (nb *NotebookFile) StableIDs() bool {
	for _, c := range nb.cells {
		if !c.native {
			return false
		}
	}
	return nb.withIDs || len(nb.cells) > 0
}

// IDs lists the ids of the cells, in order.
func (nb *NotebookFile) IDs() []string {
	ids := make([]string, len(nb.cells))
	for i, c := range nb.cells {
		ids[i] = c.id
	}
	return ids
}

// find returns the index of the one cell with the id.
func (nb *NotebookFile) find(id string) (int, error) {
	var found []int
	for i, c := range nb.cells {
		if c.id == id {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, &CellNotFoundError{ID: id, Known: nb.IDs()}
	case 1:
		return found[0], nil
	}
	return 0, &AmbiguousCellError{ID: id, Indices: found}
}

// text returns the value of a string, or of an array of strings, which is how notebooks store several lines.
func (nb *NotebookFile) text(n node) string {
	switch n.kind {
	case '"':
		return decodeString(nb.data[n.start:n.end])
	case '[':
		var b strings.Builder
		for _, item := range n.items {
			if item.kind == '"' {
				b.WriteString(decodeString(nb.data[item.start:item.end]))
			}
		}
		return b.String()
	}
	return ""
}

func (nb *NotebookFile) number(n node) int {
	i, _ := strconv.Atoi(string(nb.data[n.start:n.end]))
	return i
}
