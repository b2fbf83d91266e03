package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// maxCandidates is how many completions are shown.
const maxCandidates = 6

// completion is the list below the prompt while a word starts with @ or /.
type completion struct {
	word  string // that is completed; "": none is
	asked string // for which the list is being made
	list  []Candidate
	note  string // about the list
	at    int
	off   string // Esc closed the list of this word
	stop  context.CancelFunc

	wanted bool       // Tab was pressed before there was a list
	held   []keys.Key // pressed after it
}

// update finds the word before the cursor, and requests its completions.
func (c *completion) update(s *Screen, ctx context.Context) {
	word := completable(s)
	if word == "" || word == c.off {
		c.close()
		return
	}
	c.off = ""
	if word == c.asked {
		return
	}
	if c.stop != nil {
		c.stop()
	}
	asking, stop := context.WithCancel(ctx)
	c.stop, c.asked, c.wanted = stop, word, false
	host := s.o.Host
	s.spawn(func() {
		defer s.send(func(s *Screen) {
			if s.complete.asked == word && s.complete.word != word { // there are none
				s.complete.show(word, nil)
			}
			if s.complete.wanted && s.complete.asked == word {
				s.complete.release(s, ctx)
			}
		})
		host.Complete(asking, word, func(list []Candidate) {
			s.send(func(s *Screen) {
				s.urgent = true
				s.complete.show(word, list)
				if s.complete.wanted && s.complete.word == word && len(s.complete.list) > 0 {
					s.complete.release(s, ctx)
				}
			})
		})
	})
}

// show takes the completions of a word. The selected one stays selected.
func (c *completion) show(word string, list []Candidate) {
	if c.asked != word {
		return
	}
	selected := ""
	if c.word == word && c.at > 0 && c.at < len(c.list) {
		selected = c.list[c.at].Text
	}
	c.word, c.list, c.note, c.at = word, list, "", 0
	if strings.HasSuffix(word, " ") { // Enter runs the command as it is
		c.at = -1
	}
	if n := len(list); n > 0 && list[n-1].Text == "" {
		c.list, c.note = list[:n-1], list[n-1].About
	}
	if selected != "" {
		c.at = max(0, slices.IndexFunc(c.list, func(l Candidate) bool { return l.Text == selected }))
	}
}

// completable is what can be completed before the cursor: @path anywhere, or a command with its words.
func completable(s *Screen) string {
	if q := s.asked(); q != nil && q.typing { // it isn't a prompt
		return ""
	}
	line, at := s.editor.Line()
	before := line[:at]
	word := before[strings.LastIndexAny(before, " \t")+1:]
	switch {
	case strings.HasPrefix(word, "@"):
		return word
	case strings.HasPrefix(before, "/") && s.editor.Text() == line:
		return before
	}
	return ""
}

func (c *completion) close() {
	if c.stop != nil {
		c.stop()
	}
	*c = completion{off: c.off}
}

// open reports whether the list is shown, or a Tab waits for it.
func (c *completion) open(s *Screen) bool {
	word := completable(s)
	return c.wanted || word != "" && (c.word == word || c.asked == word) && (len(c.list) > 0 || c.note != "")
}

// await lets a Tab wait for the list of the word before the cursor. It reports whether there will be one.
func (c *completion) await(s *Screen) bool {
	word := completable(s)
	c.wanted = word != "" && c.asked == word && c.word != word
	return c.wanted
}

// key handles a key while the list is open. It reports whether the list used the key; others are for the prompt.
func (c *completion) key(s *Screen, ctx context.Context, k keys.Key) bool {
	if c.wanted {
		return c.hold(s, k)
	}
	word := completable(s)
	listed := c.word == word && len(c.list) > 0 // otherwise the list is of an earlier word
	switch name := k.String(); {
	case name == "esc":
		c.off = word
		c.close()
	case name == "enter" && (!listed || c.at < 0 || c.list[c.at].Text == word):
		c.close()
		return false
	case name == "enter" || name == "tab" && listed:
		c.take(s)
		c.update(s, ctx) // what follows may be one of a list too
	case name == "tab":
		c.await(s)
	case name == "up" && listed:
		c.at = (max(c.at, 0) + len(c.list) - 1) % len(c.list)
	case name == "down" && listed:
		c.at = (c.at + 1) % len(c.list)
	default:
		return name == "up" || name == "down"
	}
	return true
}

// hold keeps a key that was pressed after a Tab that waits for its list. Esc ends the waiting: of what was typed since,
// the text remains.
func (c *completion) hold(s *Screen, k keys.Key) bool {
	name := k.String()
	if name != "esc" && name != "ctrl+c" && len(c.held) < maxHeld {
		c.held = append(c.held, k)
		return true
	}
	held := c.held
	c.off = completable(s)
	c.close()
	for _, h := range held {
		s.editor.Insert(h.Text)
	}
	return name == "esc"
}

// maxHeld is how many keys wait for a list.
const maxHeld = 100

// release carries out the Tab that waited, if there is a list, and the keys after it.
func (c *completion) release(s *Screen, ctx context.Context) {
	held := c.held
	c.wanted, c.held = false, nil
	if len(c.list) > 0 && c.word == completable(s) {
		c.take(s)
		c.update(s, ctx)
	}
	for _, k := range held {
		s.key(ctx, k)
	}
}

// take puts the selected completion into the prompt.
func (c *completion) take(s *Screen) {
	text := c.list[max(c.at, 0)].Text
	word := c.word
	c.close()
	if !strings.HasSuffix(text, "/") {
		text += " "
	}
	s.editor.Replace(len(word), text)
}

// live is the list, if it belongs to the word before the cursor. The old list stays until there is a new one.
func (c *completion) live(s *Screen, width int) []cell.Line {
	if word := completable(s); c.word != word && c.asked != word {
		return nil
	}
	l := list{at: c.at}
	for _, o := range c.list {
		l.items = append(l.items, item{text: o.Text, words: o.Words, about: o.About})
	}
	out := l.lines(width, maxCandidates)
	note := visible(c.note)
	if n := len(c.list) - maxCandidates; note == "" && n > 0 {
		note = fmt.Sprintf("… %d more (↑↓)", n)
	}
	if note != "" {
		out = append(out, cell.Styled("    "+note, cell.Dim).Cut(width))
	}
	return out
}
