package viewer

import (
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// Key handles a key.
func (v *View) Key(k keys.Key) Action {
	v.note = ""
	name := k.String()
	if v.typing {
		v.typeQuery(k, name)
		return Stay
	}
	if k.Text != "" && k.Text != " " {
		name = k.Text // G is not g
	}
	switch name {
	case "q", "esc", "ctrl+c", "ctrl+o":
		return Leave
	case "y":
		return Copy
	case "enter":
		v.fold()
	case "tab":
		v.choose(1)
	case "shift+tab":
		v.choose(-1)
	case "/":
		v.typing, v.typed = true, ""
	case "n", "N":
		v.search(name == "N")
	default:
		v.scroll(name)
	}
	return Stay
}

// scroll moves the text.
func (v *View) scroll(name string) {
	switch name {
	case "up", "k", "ctrl+p":
		v.top = v.back(v.top, 1)
	case "down", "j", "ctrl+n":
		v.top = v.forward(v.top, 1)
	case "pageup", "b", "ctrl+b":
		v.top = v.back(v.top, v.page())
	case "pagedown", "space", "f", "ctrl+f":
		v.top = v.forward(v.top, v.page())
	case "ctrl+u", "u":
		v.top = v.back(v.top, max(1, v.height/2))
	case "ctrl+d", "d":
		v.top = v.forward(v.top, max(1, v.height/2))
	case "home", "g":
		v.top = position{}
	case "end", "G":
		v.top = v.lowest()
	case "{":
		v.jump(-1)
	case "}":
		v.jump(1)
	default:
		return
	}
	v.settle()
}

// jump goes to the prompt before or after the top.
func (v *View) jump(step int) {
	from := v.top.item
	if v.chosen >= 0 && v.source.Prompt(v.chosen) && v.visible(position{v.chosen, v.head(v.chosen)}) {
		from = v.chosen
	} else if step < 0 && v.top.row > v.head(from) && v.source.Prompt(from) { // its own start
		from++
	}
	for item := from + step; item >= 0 && item < v.source.Len(); item += step {
		if v.source.Prompt(item) {
			v.top, v.chosen = position{item, v.head(item)}, item
			return
		}
	}
	if step < 0 {
		v.top = position{}
	} else {
		v.top = v.lowest()
	}
}

// choose selects the next item that can be folded.
func (v *View) choose(step int) {
	from := v.chosen
	if from < 0 || !v.visible(position{from, v.head(from)}) {
		from = v.top.item - 1
		if step < 0 {
			from = v.forward(v.top, v.height).item
		}
	}
	for item := from + step; item >= 0 && item < v.source.Len(); item += step {
		if v.source.Fold(item, true) {
			v.chosen = item
			v.show(position{item, v.head(item)})
			return
		}
	}
}

// fold folds or unfolds an item. Its first row stays in place, or is the first of the screen if it was above.
func (v *View) fold() {
	item := v.Selected(true)
	if item < 0 {
		v.note = "nothing to unfold"
		return
	}
	v.source.Fold(item, false)
	delete(v.rows, item)
	if v.top.item == item && v.top.row >= len(v.of(item)) {
		v.top.row = v.head(item)
	}
	if v.found && v.hit.item == item {
		if v.found = v.findIn(item, 0, len(v.of(item)), false); v.found {
			v.show(v.hit)
		}
	}
	v.settle()
}

// typeQuery handles a key while the user types what to search.
func (v *View) typeQuery(k keys.Key, name string) {
	switch {
	case name == "esc" || name == "ctrl+c":
		v.typing = false
	case name == "enter":
		v.typing = false
		v.query = strings.ToLower(v.typed)
		v.found = false
		if v.query != "" {
			v.search(false)
		}
	case name == "backspace" && v.typed == "":
		v.typing = false
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(v.typed)
		v.typed = v.typed[:len(v.typed)-n]
	case name == "ctrl+u":
		v.typed = ""
	case k.Text != "":
		v.typed += k.Text
	}
}

// Paste adds pasted text to what is searched.
func (v *View) Paste(text string) {
	if line, _, _ := strings.Cut(text, "\n"); v.typing {
		v.typed += line
	}
}

// Say shows a text in the last line until the next key.
func (v *View) Say(text string) { v.note = text }
