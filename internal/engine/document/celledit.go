package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
)

// CellMode is what a CellEdit does.
type CellMode int

// The modes.
const (
	ReplaceCell CellMode = iota // replace the source, and the type if one is set
	InsertCell                  // add a cell after the named one, or first if none is named
	DeleteCell                  // delete the cell
)

// CellEdit changes one cell of a notebook.
type CellEdit struct {
	Mode   CellMode
	ID     string // the cell's ID, as in Render
	Source string
	Type   string // "code" or "markdown"; "" keeps the type, and means code for a new cell
}

// EditedNotebook is a notebook after an edit.
type EditedNotebook struct {
	Data []byte // bytes outside the cell are unchanged
	ID   string // of the cell that was replaced, inserted or deleted
}

// Edit returns the changed file. It doesn't change nb. A replaced code cell loses its outputs and its execution count:
// they belong to the old source. Errors are *[CellNotFoundError], *[AmbiguousCellError] and plain ones about the edit
// itself.
func (nb *NotebookFile) Edit(e CellEdit) (EditedNotebook, error) {
	if e.Type != "" && e.Type != "code" && e.Type != "markdown" {
		return EditedNotebook{}, fmt.Errorf("cell type %q is not known; it is code or markdown", e.Type)
	}
	e.Source = strings.ToValidUTF8(strings.ReplaceAll(e.Source, "\r\n", "\n"), "\uFFFD")
	if e.Mode == InsertCell && e.ID == "" {
		return nb.insert(-1, e), nil
	}
	if e.ID == "" {
		return EditedNotebook{}, fmt.Errorf("no cell is named; %w", &CellNotFoundError{Known: nb.IDs()})
	}
	index, err := nb.find(e.ID)
	if err != nil {
		return EditedNotebook{}, err
	}
	switch e.Mode {
	case ReplaceCell:
		return nb.replace(index, e)
	case InsertCell:
		return nb.insert(index, e), nil
	case DeleteCell:
		return nb.remove(index), nil
	}
	return EditedNotebook{}, fmt.Errorf("mode %d is not known", int(e.Mode))
}

// swap replaces data[start:end].
type swap struct {
	start, end int
	with       string
}

// swapped applies swaps in order.
func (nb *NotebookFile) swapped(swaps ...swap) []byte {
	var out []byte
	at := 0
	for _, s := range swaps {
		out = append(out, nb.data[at:s.start]...)
		out = append(out, s.with...)
		at = s.end
	}
	return append(out, nb.data[at:]...)
}

// replace rewrites only the changed members of the cell.
func (nb *NotebookFile) replace(index int, e CellEdit) (EditedNotebook, error) {
	c := nb.cells[index]
	source, ok := c.member("source")
	if !ok {
		return EditedNotebook{}, fmt.Errorf("cell %q has no source: %w", c.id, ErrNotNotebook)
	}
	typ := e.Type
	if typ == "" {
		typ = c.typ
	}
	want := map[string]string{"source": nb.sourceLike(source, e.Source)}
	drop := map[string]bool{}
	if typ != c.typ {
		want["cell_type"] = encodeString(typ, false)
	}
	if typ == "code" {
		want["execution_count"], want["outputs"] = "null", "[]"
		drop["attachments"] = true
	} else if c.typ == "code" {
		drop["execution_count"], drop["outputs"] = true, true
	}
	added := nb.newMembers(source, c.node, want)
	swaps := dropped(c.members, drop)
	for _, m := range c.members {
		if m.start == source.start && added != "" {
			swaps = append(swaps, swap{m.start, m.start, added})
		}
		if text, ok := want[m.key]; ok {
			swaps = append(swaps, swap{m.value.start, m.value.end, text})
		}
	}
	sort.SliceStable(swaps, func(i, j int) bool { return swaps[i].start < swaps[j].start })
	return EditedNotebook{Data: nb.swapped(swaps...), ID: c.id}, nil
}

// dropped removes members, each run of them with the comma on one side. At least one member is kept.
func dropped(members []member, drop map[string]bool) []swap {
	var swaps []swap
	for i := 0; i < len(members); i++ {
		if !drop[members[i].key] {
			continue
		}
		first := i
		for i+1 < len(members) && drop[members[i+1].key] {
			i++
		}
		if i+1 < len(members) {
			swaps = append(swaps, swap{members[first].start, members[i+1].start, ""})
		} else {
			swaps = append(swaps, swap{members[first-1].value.end, members[i].value.end, ""})
		}
	}
	return swaps
}

// newMembers writes the members of want that the cell lacks, to be inserted before its source, in the same layout.
func (nb *NotebookFile) newMembers(source member, cell node, want map[string]string) string {
	var b strings.Builder
	indent, ownLine := nb.indentAt(source.start)
	for _, key := range []string{"cell_type", "execution_count", "outputs"} {
		text, wanted := want[key]
		if _, has := cell.member(key); has || !wanted {
			continue
		}
		b.WriteString(encodeString(key, false) + nb.colon() + text + ",")
		if ownLine {
			b.WriteString(nb.newline() + indent)
		} else {
			b.WriteString(strings.TrimPrefix(nb.colon(), ":"))
		}
	}
	return b.String()
}

// insert adds a cell after the one at index; -1 puts it first.
func (nb *NotebookFile) insert(index int, e CellEdit) EditedNotebook {
	typ := e.Type
	if typ == "" {
		typ = "code"
	}
	id := ""
	if nb.withIDs {
		id = nb.newID(index, typ, e.Source)
	}
	items := nb.cellsAt.items
	if len(items) == 0 {
		text, indent := "", ""
		if key, ok := nb.indentAt(nb.cellsAt.start); ok || nb.indentUnit() != "" {
			indent = key + nb.indentUnit()
			if !ok {
				indent = nb.indentUnit() + nb.indentUnit()
			}
			text = nb.newline() + indent
		}
		text += nb.cellText(indent, text != "", id, typ, e.Source)
		if indent != "" {
			text += nb.newline() + strings.TrimSuffix(indent, nb.indentUnit())
		}
		return EditedNotebook{nb.swapped(swap{nb.cellsAt.start + 1, nb.cellsAt.end - 1, text}), nb.shownID(id, 0)}
	}
	gap := string(nb.data[nb.cellsAt.start+1 : items[0].start])
	indent, ownLine := "", false
	if at := strings.LastIndexByte(gap, '\n'); at >= 0 {
		indent, ownLine = gap[at+1:], true
	}
	text := nb.cellText(indent, ownLine, id, typ, e.Source)
	if !ownLine {
		gap = strings.TrimPrefix(nb.colon(), ":")
	}
	if index < 0 {
		return EditedNotebook{nb.swapped(swap{items[0].start, items[0].start, text + "," + gap}), nb.shownID(id, 0)}
	}
	end := items[index].end
	return EditedNotebook{nb.swapped(swap{end, end, "," + gap + text}), nb.shownID(id, index+1)}
}

// shownID returns the ID by which Render will show the cell.
func (nb *NotebookFile) shownID(id string, index int) string {
	if id == "" {
		return fmt.Sprintf("cell-%d", index)
	}
	return id
}

// newID makes an ID in the style of Jupyter. The same edit of the same notebook always gets the same one, so that what
// the user approved is what is written.
func (nb *NotebookFile) newID(index int, typ, source string) string {
	taken := map[string]bool{}
	for _, id := range nb.IDs() {
		taken[id] = true
	}
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s %q", n, index, typ, source, nb.IDs()))
		if id := hex.EncodeToString(sum[:4]); !taken[id] {
			return id
		}
	}
}

// remove deletes the cell at index with a comma beside it.
func (nb *NotebookFile) remove(index int) EditedNotebook {
	items, id := nb.cellsAt.items, nb.cells[index].id
	switch {
	case index+1 < len(items):
		return EditedNotebook{nb.swapped(swap{items[index].start, items[index+1].start, ""}), id}
	case index > 0:
		return EditedNotebook{nb.swapped(swap{items[index-1].end, items[index].end, ""}), id}
	}
	return EditedNotebook{nb.swapped(swap{nb.cellsAt.start + 1, nb.cellsAt.end - 1, ""}), id}
}
