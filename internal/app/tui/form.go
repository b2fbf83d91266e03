package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/keys"
	"github.com/adze-dev/adze/tool"
)

// external reports whether a server asks. Its form ends with a summary, and fields can be omitted.
func (q *question) external() bool { return q.Request.Declaration.Origin != "" }

// askField goes to a field of the form; after the last one is the summary. The earlier answer, the default or the first
// choice is highlighted. Of a plan nothing is, and the first arrow highlights the choice that approves nothing.
func (q *question) askField(i int) {
	q.field, q.problem, q.shown, q.list = i, "", time.Time{}, list{at: -1}
	if i == len(q.Fields) {
		return
	}
	q.list.items = fieldItems(q.Fields[i])
	if _, plan := q.Request.Confirm.(tool.Plan); plan {
		q.list.least = len(q.list.items) - 1
	} else if len(q.list.items) > 0 {
		q.list.at = 0
	}
	for _, n := range q.numbers(cmp.Or(q.given[i], q.Fields[i].DefaultText())) {
		if q.list.at = n; q.Fields[i].Several() {
			q.mark()
		}
	}
}

// restore puts an earlier answer that was typed into the prompt.
func (q *question) restore(s *Screen) {
	s.editor.Clear()
	if q.field < len(q.Fields) && len(q.numbers(q.given[q.field])) == 0 {
		s.editor.Set(q.given[q.field])
	}
}

// fieldItems are the choices of a field.
func fieldItems(f approval.Field) []item {
	if f.Type == "boolean" {
		return []item{{key: "y", text: "yes"}, {key: "n", text: "no"}}
	}
	var out []item
	for i, c := range f.Choices() {
		o := item{key: strconv.Itoa(i + 1), text: visible(c.Title), about: c.Description}
		if f.Several() {
			o.marked = unmarked
		}
		out = append(out, o)
	}
	return out
}

// Marks of choices of which several can be taken.
const (
	marked   = "[x] "
	unmarked = "[ ] "
)

// mark marks the highlighted choice, or no longer.
func (q *question) mark() {
	o := &q.list.items[q.list.at]
	o.marked = map[string]string{marked: unmarked, unmarked: marked}[o.marked]
}

// numbers are the indexes of the choices that a typed answer stands for; none if it is a text.
func (q *question) numbers(line string) []int {
	var out []int
	for word := range strings.SplitSeq(line, ",") {
		i := q.list.find(strings.TrimSpace(word))
		if i < 0 {
			return nil
		}
		out = append(out, i)
	}
	return out
}

// line is the answer that Enter gives if nothing is typed: the choices that are marked, or the highlighted one.
func (q *question) line() string {
	var out []string
	for _, o := range q.list.items {
		if o.marked == marked {
			out = append(out, o.key)
		}
	}
	if i := q.list.chosen(); len(out) == 0 && i >= 0 {
		return q.list.items[i].key
	}
	return strings.Join(out, ",")
}

// fillKey handles a key while the user fills a form. What is typed goes to the prompt, from the first key on that was
// meant for the form.
func (s *Screen) fillKey(q *question, k keys.Key) bool {
	name := k.String()
	switch {
	case name == "esc":
		s.interrupt() // first: the model must not be asked again after the answer
		s.reply(q, tool.Decision{Verdict: tool.Deny})
		return true
	case k.Mods&^keys.Shift != 0:
		return false
	case !q.typing:
		if !s.ready(q) {
			return false
		}
		s.takeText(q, filling)
	}
	switch empty := s.editor.Empty(); name {
	case "enter":
		s.fillField(q)
	case "shift+tab":
		s.fieldBefore(q)
	case "up", "down":
		switch {
		case !empty:
			return strings.Contains(s.editor.Text(), "\n")
		case name == "up" && (len(q.list.items) == 0 || q.list.at == 0):
			s.fieldBefore(q)
		case len(q.list.items) > 0:
			q.list.move(name)
		}
	case "tab":
		if q.optional() {
			q.given[q.field] = ""
			s.nextField(q)
		}
	case "space":
		if !empty || q.list.at < 0 || q.list.items[q.list.at].marked == "" {
			return false
		}
		q.mark()
	default:
		return false
	}
	return true
}

// optional reports whether the field can be omitted.
func (q *question) optional() bool {
	return q.external() && q.field < len(q.Fields) && !q.Fields[q.field].Required()
}

// fieldBefore goes back.
func (s *Screen) fieldBefore(q *question) {
	if q.field > 0 {
		q.askField(q.field - 1)
		q.restore(s)
	}
}

// fillField is Enter: it answers a field with what was typed, or else with what is chosen. Enter on nothing answers
// nothing.
func (s *Screen) fillField(q *question) {
	line := s.editor.Text()
	if line == "" {
		if !s.ready(q) {
			return
		}
		line = q.line()
	}
	if q.field == len(q.Fields) {
		s.sendForm(q)
		return
	}
	f := q.Fields[q.field]
	if err := f.Answer(line, map[string]any{}); err != nil {
		q.problem = err.Error()
		return
	}
	if line == "" && f.DefaultText() == "" {
		q.problem = "type an answer, or press Tab to leave this out"
		return
	}
	q.given[q.field] = line
	s.nextField(q)
}

// nextField goes to the next field. The answers to the model's own questions are sent after the last one.
func (s *Screen) nextField(q *question) {
	q.askField(q.field + 1)
	q.restore(s)
	if q.field == len(q.Fields) && !q.external() {
		s.sendForm(q)
	}
}

// sendForm sends the answers.
func (s *Screen) sendForm(q *question) {
	answer := map[string]any{}
	for i, f := range q.Fields {
		if q.given[i] == "" && f.DefaultText() == "" {
			continue
		}
		if err := f.Answer(q.given[i], answer); err != nil {
			q.askField(i)
			q.problem = err.Error()
			return
		}
	}
	s.decide(q, approval.Answer{Act: approval.Once, Form: answer})
}

// form is the field that is asked for, and how it is answered.
func (q *question) form(s *Screen, width int) (out, keys []cell.Line) {
	var pairs []string
	if q.field == len(q.Fields) {
		for i := range q.Fields {
			out = append(out, cell.Text("  "+visible(q.Fields[i].Label()+": "+q.answerText(i))))
		}
		pairs = []string{"Enter", "send"}
	} else {
		f := q.Fields[q.field]
		label := cell.Text("  " + visible(f.Label()))
		if f.Required() {
			label = append(label, cell.Span{Text: " (required)", Style: cell.Dim})
		}
		out = cell.Wrap(label, width, cell.Text("  "))
		if n := len(q.Fields); n > 1 {
			count := cell.Styled(fmt.Sprintf("field %d of %d", q.field+1, n), cell.Dim)
			out = append([]cell.Line{append(cell.Line{{Text: "  "}}, count...)}, out...)
		}
		shown := q.list
		if text := s.editor.Text(); q.typing && text != "" { // that is the answer
			shown.at = -1
			if n := q.numbers(text); len(n) == 1 {
				shown.at = n[0]
			}
		}
		out = append(out, shown.lines(width, maxOptions)...)
		switch {
		case len(shown.items) == 0:
			pairs = []string{"Enter", "answer", "", visible(f.Hint())}
		case f.Several():
			pairs = []string{"↑↓", "move", "Space", "mark", "Enter", "take"}
		default:
			pairs = []string{"↑↓", "move", "Enter", "take"}
		}
		if own := f.Own(); own != "" {
			pairs = append(pairs, "", "or "+own)
		}
	}
	if q.field > 0 {
		pairs = append(pairs, "Shift+Tab", "back")
	}
	if q.optional() {
		pairs = append(pairs, "Tab", "skip it")
	}
	return out, hints(append(pairs, "Esc", "stop")...)
}

// answerText is an answer in the summary.
func (q *question) answerText(i int) string {
	f := q.Fields[i]
	line := cmp.Or(q.given[i], f.DefaultText())
	l := question{list: list{items: fieldItems(f)}}
	var titles []string
	for _, n := range l.numbers(line) {
		titles = append(titles, l.list.items[n].text)
	}
	return cmp.Or(strings.Join(titles, ", "), line, "(skipped)")
}
