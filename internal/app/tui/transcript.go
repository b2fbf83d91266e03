package tui

import "github.com/adze-dev/adze/tool"

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

// transcript is the conversation so far. If it becomes too large, the oldest texts are dropped.
type transcript struct {
	earlier []Item // of a resumed session; its history has the texts anyway
	items   []Item
	size    int // bytes of their texts
	dropped int // items without their texts
	toggled map[int]bool
}

const (
	maxItem       = 1 << 20 // longer texts are cut
	maxRemembered = 16 << 20
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
	t.items = append(t.items, i)
	for t.size += i.bytes(); t.size > maxRemembered; t.dropped++ {
		old := &t.items[t.dropped]
		t.size -= old.bytes()
		old.Head, old.Text = droppedNote, droppedNote
	}
}

func (i Item) bytes() int { return len(i.Head) + len(i.Text) }

func (t *transcript) len() int { return len(t.earlier) + len(t.items) }

// at returns an item.
func (t *transcript) at(i int) Item {
	if i < len(t.earlier) {
		return t.earlier[i]
	}
	return t.items[i-len(t.earlier)]
}
