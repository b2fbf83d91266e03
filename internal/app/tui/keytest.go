package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// listKeys prints all keys, and then shows what the terminal sends for each key, until Esc.
func (s *Screen) listKeys() {
	s.space()
	s.print(cell.Styled("The setting ui.keys binds other keys to these names, such as {\"mode\": \"alt+m\"}.",
		cell.Dim), nil)
	for _, a := range s.keys.actions {
		bound := keyLabels(a.keys)
		if bound == "" {
			bound = "none"
		}
		l := cell.Line{{Text: fmt.Sprintf("%-18s", a.name)}, {Text: fmt.Sprintf("%-38s", bound), Style: cell.Cyan},
			{Text: a.about, Style: cell.Dim}}
		s.print(l.Cut(s.width()))
	}
	s.space()
	s.testing = true
	s.term.verbatim.Store(true)
}

// tested shows what the terminal sent for a key.
func (s *Screen) tested(e keys.Sent) {
	name, what := "(unknown)", ""
	if e.Key.Name != "" {
		name = keyLabel(e.Key.String())
		if a, ok := s.keys.find(e.Key); ok {
			what = a.name
		} else if e.Key.Text != "" {
			what = "text"
		}
	}
	s.print(cell.Line{
		{Text: fmt.Sprintf("%-18s", visible(name)), Style: cell.Cyan}, {Text: fmt.Sprintf("%-38s", sentText(e.Bytes))},
		{Text: what, Style: cell.Dim},
	}.Cut(s.width()))
	if e.Key.String() == "esc" {
		s.testing = false
		s.term.verbatim.Store(false)
	}
}

// sentText is what a terminal sent, readable: ESC is \e.
func sentText(bytes string) string {
	quoted := strconv.QuoteToASCII(bytes)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\x1b`, `\e`)
}
