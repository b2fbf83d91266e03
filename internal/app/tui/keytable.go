package tui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// action is something that a key does.
type action struct {
	name  string // in the setting ui.keys
	keys  string // separated by spaces
	about string // for the list of keys; "": only /keys lists it
	run   func(*Screen, context.Context)
}

// actions is the one table of keys. A new action is a line here.
func actions() []action {
	do := func(f func(*Screen)) func(*Screen, context.Context) {
		return func(s *Screen, _ context.Context) { f(s) }
	}
	edit := func(f func(*Screen)) func(*Screen, context.Context) {
		return func(s *Screen, ctx context.Context) {
			f(s)
			s.complete.update(s, ctx)
		}
	}
	return []action{
		{"send", "enter", "send; during work: queue", (*Screen).enter},
		{"newline", "shift+enter alt+enter ctrl+j", "new line; \\ and Enter too",
			edit(func(s *Screen) { s.editor.Insert("\n") })},
		{"interrupt", "esc", "interrupt; twice: clear the prompt, or rewind", (*Screen).escape},
		{"cancel", "ctrl+c", "clear or interrupt; quit if pressed twice when idle", do((*Screen).cancel)},
		{"quit", "ctrl+d", "quit, if the prompt is empty", do((*Screen).endOfInput)},
		{"up", "up", "", do((*Screen).up)},
		{"down", "down", "", do((*Screen).down)},
		{"earlier", "ctrl+p", "earlier prompt; Up too", do((*Screen).earlier)},
		{"later", "ctrl+n", "", do((*Screen).later)},
		{searchAction, "ctrl+r", "search earlier prompts", do((*Screen).searchHistory)},
		{"mode", "shift+tab", "next approval mode", do(func(s *Screen) { s.o.Host.NextMode() })},
		{"background", "ctrl+b", "move a running command to the background", do((*Screen).background)},
		{"todos", "ctrl+t", "to-do list in one line, or in several", do((*Screen).foldTodos)},
		{"editor", "ctrl+g", "edit the prompt in $EDITOR", do((*Screen).editPrompt)},
		{"paste-clipboard", "ctrl+v", "paste an image or text from the clipboard", (*Screen).pasteClipboard},
		{"undo", "alt+u", "undo the last file change",
			func(s *Screen, ctx context.Context) { s.command(ctx, "/undo") }},
		{"redo", "alt+r", "redo it", func(s *Screen, ctx context.Context) { s.command(ctx, "/redo") }},
		{"transcript", "ctrl+o", "view the transcript", (*Screen).viewTranscript},
		{"suspend", "ctrl+z", "suspend", do((*Screen).suspend)},
		{"redraw", "ctrl+l", "draw the screen again", do(func(s *Screen) { s.painter.Redraw() })},
		{"left", "left", "", edit(func(s *Screen) { s.editor.Left() })},
		{"right", "right ctrl+f", "", edit(func(s *Screen) { s.editor.Right() })},
		{"word-left", "ctrl+left alt+left alt+b", "", edit(func(s *Screen) { s.editor.WordLeft() })},
		{"word-right", "ctrl+right alt+right alt+f", "", edit(func(s *Screen) { s.editor.WordRight() })},
		{"line-start", "home ctrl+a", "", edit(func(s *Screen) { s.editor.Home() })},
		{"line-end", "end ctrl+e", "", edit(func(s *Screen) { s.editor.End() })},
		{"delete-left", "backspace shift+backspace", "", edit(func(s *Screen) { s.editor.Backspace() })},
		{"delete-right", "delete", "", edit(func(s *Screen) { s.editor.Delete() })},
		{"delete-word", "ctrl+w alt+backspace ctrl+backspace", "delete a word; Ctrl+U, Ctrl+K: a line",
			edit(func(s *Screen) { s.editor.KillWord() })},
		{"delete-next-word", "alt+d ctrl+delete", "", edit(func(s *Screen) { s.editor.KillNextWord() })},
		{"delete-to-start", "ctrl+u", "", edit(func(s *Screen) { s.editor.KillToStart() })},
		{"delete-to-end", "ctrl+k", "", edit(func(s *Screen) { s.editor.KillToEnd() })},
		{"paste-deleted", "ctrl+y", "", edit(func(s *Screen) { s.editor.Yank() })},
		{"undo-typing", "ctrl+_ ctrl+-", "take a change of the prompt back", edit(func(s *Screen) { s.editor.Undo() })},
	}
}

// searchAction is the action that the search in the history continues with.
const searchAction = "search"

// keymap is the table of keys as the user wants it.
type keymap struct {
	actions []action
	byKey   map[string]int // the index of the action
}

// CheckKeys describes what is wrong with a setting ui.keys. What is right of it applies.
func CheckKeys(set map[string]string) []string {
	_, problems := newKeymap(set)
	return problems
}

// newKeymap applies the setting ui.keys to the table: an action gets the keys that are named there, not its default
// keys. A key that the user gave to an action is taken from all others.
func newKeymap(set map[string]string) (keymap, []string) {
	m := keymap{actions: actions(), byKey: map[string]int{}}
	var problems []string
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("ui.keys: "+format, args...))
	}
	var names []string
	for _, a := range m.actions {
		names = append(names, a.name)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(names, name) {
			text := fmt.Sprintf("unknown action %q, ignored.", visible(name))
			if near := nearest.Names(name, names); len(near) > 0 {
				text += fmt.Sprintf(" Did you mean %q?", near[0])
			}
			problem("%s /keys lists them", text)
		}
	}
	users := map[string]bool{} // keys that the user gave to an action
	for i := range m.actions {
		a := &m.actions[i]
		wanted, ok := set[a.name]
		if !ok {
			continue
		}
		a.keys = ""
		for text := range strings.FieldsSeq(wanted) {
			name, err := bindable(text)
			if err != nil {
				problem("%s: %v", a.name, err)
				continue
			}
			if j, taken := m.byKey[name]; taken {
				if j != i {
					problem("%s: %s is bound to %s already, ignored", a.name, name, m.actions[j].name)
				}
				continue
			}
			m.byKey[name], users[name] = i, true
			a.keys = strings.TrimSpace(a.keys + " " + name)
		}
		if a.keys == "" && strings.TrimSpace(wanted) != "" { // nothing of it is a key: the usual ones apply
			a.keys = actions()[i].keys
		}
	}
	for i := range m.actions {
		a := &m.actions[i]
		var left []string
		for name := range strings.FieldsSeq(a.keys) {
			j, taken := m.byKey[name]
			if taken && j != i {
				problem("%s is bound to %s, no longer to %s", name, m.actions[j].name, a.name)
				continue
			}
			m.byKey[name] = i
			left = append(left, name)
		}
		a.keys = strings.Join(left, " ")
	}
	return m, problems
}

// bindable is the name of a key that can stand for an action: one that types nothing.
func bindable(text string) (string, error) {
	k, ok := keys.Parse(text)
	if !ok {
		return "", fmt.Errorf("unknown key %q, ignored. Expected a key such as alt+u or f5", visible(text))
	}
	if k.Mods&^keys.Shift == 0 && (k.Name == "space" || len([]rune(k.Name)) == 1) {
		return "", fmt.Errorf("the key %q types text, ignored. Add ctrl+ or alt+", visible(text))
	}
	return k.String(), nil
}

// find is the action of a key.
func (m keymap) find(k keys.Key) (action, bool) {
	i, ok := m.byKey[k.String()]
	if !ok {
		return action{}, false
	}
	return m.actions[i], true
}

// label is the first key of an action as texts show it, such as Ctrl+B; "" if it has none.
func (m keymap) label(name string) string {
	for _, a := range m.actions {
		if a.name == name {
			first, _, _ := strings.Cut(a.keys, " ")
			return keyLabel(first)
		}
	}
	return ""
}

// keyLabel is the name of a key as texts show it: Shift+Tab.
func keyLabel(name string) string {
	parts := strings.Split(name, "+")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "+")
}

// keyLabels is several keys as texts show them.
func keyLabels(names string) string {
	var out []string
	for name := range strings.FieldsSeq(names) {
		out = append(out, keyLabel(name))
	}
	return strings.Join(out, ", ")
}

// firstLabels is the first of several keys, as many as fit in a width, and one at least.
func firstLabels(names string, width int) string {
	for {
		labels := keyLabels(names)
		last := strings.LastIndexByte(names, ' ')
		if len(labels) <= width || last < 0 {
			return labels
		}
		names = names[:last]
	}
}
