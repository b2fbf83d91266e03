package tui

import (
	"bytes"
	"compress/flate"
	"io"

	"github.com/adze-dev/adze/tool"
)

// ItemKind is what an item of the conversation is.
type ItemKind uint8

// Kinds of items.
const (
	ItemPrompt   ItemKind = iota // of the user
	ItemAnswer                   // Markdown
	ItemThinking                 // of the model
	ItemCall                     // of a tool
	ItemDiff                     // a call whose text is a diff
	ItemNote                     // of Adze
)

// Item is a part of the conversation.
type Item struct {
	Kind   ItemKind
	Status tool.Status // of a call
	Head   string      // of a call: what it does; of thinking: how long it took
	Text   string      // of a call: its output
}

// transcript is the conversation so far. Texts are compressed: of 10,000 items with 2 KB each it takes some megabytes.
// If it becomes too large, the oldest texts are dropped.
type transcript struct {
	earlier []Item // of a resumed session; its history has the texts anyway
	items   []entry
	blocks  [][]byte // compressed texts
	text    []byte   // of the last block, which isn't compressed yet
	size    int      // of all blocks
	dropped int      // blocks
	toggled map[int]bool

	writer *flate.Writer
	last   []byte // a block that was read
	lastAt int
}

// entry is where the text of an item is.
type entry struct {
	block, at  int32
	head, text int32 // lengths
	kind       ItemKind
	status     uint8 // index in statuses
}

var statuses = [...]tool.Status{"", tool.StatusSuccess, tool.StatusError, tool.StatusDenied, tool.StatusCancelled}

const (
	blockBytes    = 128 << 10
	maxItem       = 1 << 20 // longer texts are cut
	maxRemembered = 8 << 20 // compressed
)

const (
	cutNote     = "\n… the rest is too long to keep here; adze session show prints it"
	droppedNote = "no longer kept here; adze session show prints it"
)

// add adds an item.
func (t *transcript) add(i Item) {
	if len(i.Text) > maxItem {
		i.Text = i.Text[:maxItem] + cutNote
	}
	e := entry{
		block: int32(len(t.blocks)), at: int32(len(t.text)), head: int32(len(i.Head)), text: int32(len(i.Text)),
		kind: i.Kind,
	}
	for n, s := range statuses {
		if s == i.Status {
			e.status = uint8(n)
		}
	}
	t.items = append(t.items, e)
	t.text = append(append(t.text, i.Head...), i.Text...)
	if len(t.text) >= blockBytes {
		t.pack()
	}
}

// pack compresses the last block.
func (t *transcript) pack() {
	var b bytes.Buffer
	if t.writer == nil {
		t.writer, _ = flate.NewWriter(&b, flate.BestSpeed) // the level is valid
	} else {
		t.writer.Reset(&b)
	}
	t.writer.Write(t.text) // to memory
	t.writer.Close()
	t.blocks = append(t.blocks, bytes.Clone(b.Bytes()))
	t.size += b.Len()
	if t.text = t.text[:0]; cap(t.text) > 4*blockBytes {
		t.text = nil
	}
	for t.size > maxRemembered && t.dropped < len(t.blocks) {
		t.size -= len(t.blocks[t.dropped])
		t.blocks[t.dropped] = nil
		t.dropped++
	}
}

func (t *transcript) len() int { return len(t.earlier) + len(t.items) }

// at returns an item.
func (t *transcript) at(i int) Item {
	if i < len(t.earlier) {
		return t.earlier[i]
	}
	e := t.items[i-len(t.earlier)]
	out := Item{Kind: e.kind, Status: statuses[e.status]}
	text, ok := t.block(int(e.block))
	if !ok {
		out.Head, out.Text = droppedNote, droppedNote
		return out
	}
	text = text[e.at:]
	out.Head, out.Text = string(text[:e.head]), string(text[e.head:e.head+e.text])
	return out
}

// block is the text of a block.
func (t *transcript) block(n int) ([]byte, bool) {
	switch {
	case n == len(t.blocks):
		return t.text, true
	case t.blocks[n] == nil:
		return nil, false
	case t.last != nil && t.lastAt == n:
		return t.last, true
	}
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(t.blocks[n])))
	if err != nil {
		return nil, false
	}
	t.last, t.lastAt = text, n
	return text, true
}
