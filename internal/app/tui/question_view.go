package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// announce prints what a question is about above the live area, so that the terminal can scroll it.
func (s *Screen) announce(q *question) {
	if q.printed {
		return
	}
	q.printed = true
	s.endText()
	s.space()
	head := cell.Wrap(q.head(), s.width(), cell.Text("      ")) // at spaces: ">>" stays one word
	var end cell.Line                                           // of the last row, if it fits
	if d := q.Diff; d != nil && d.Stat != nil {
		end = cell.Styled(fmt.Sprintf("  +%d −%d", d.Stat.ModelAddedLines, d.Stat.ModelRemovedLines), cell.Dim)
	}
	if q.Effects != nil {
		end = cell.Styled("   "+visible(q.Effects.Headline()), cell.Dim)
	}
	if last := len(head) - 1; head[last].Width()+end.Width() <= s.width() {
		head[last] = append(head[last], end...)
	} else {
		end = cell.Styled("  "+strings.TrimLeft(end.String(), " "), cell.Dim)
		head = append(head, cell.Wrap(end, s.width(), cell.Text("  "))...)
	}
	lines := details(q.beyond(), s.width(), false)
	rows := 0
	for _, l := range lines {
		rows += 1 + max(0, l.Width()-1)/s.width()
	}
	q.long = rows > s.rows-8 || q.cuts(s.width()) // it doesn't fit above the live area
	s.print(head...)
	s.print(lines...)
}

// ask is the question in the live area, in this many rows. While something else owns the keys, it is one line.
func (s *Screen) ask(q *question, room int) []cell.Line {
	s.announce(q)
	if hint := s.elsewhere(); hint != "" {
		q.shown = time.Time{}
		if q.stage == choosing {
			q.list.at = -1
		}
		return []cell.Line{q.head().Right(cell.Styled(hint, cell.Cyan), s.width())}
	}
	if q.shown.IsZero() {
		q.shown = s.o.Now()
	}
	return q.live(s, room)
}

// elsewhere says how to get to a question that doesn't own the keys; "" if it does.
func (s *Screen) elsewhere() string {
	switch s.owner() {
	case questionKeys:
		return ""
	case searchKeys:
		return "Esc closes the search"
	case promptKeys:
		if s.work != nil && s.width() >= 70 {
			return "Tab to answer this question, Esc to interrupt"
		}
		return "Tab to answer this question"
	}
	return "Esc closes the list"
}

// head is the mark of a question and its title.
func (q *question) head() cell.Line {
	return append(cell.Line{{Text: "? ", Style: cell.Yellow}}, q.title()...)
}

// beyond is what the call shows besides its title.
func (q *question) beyond() tool.Display {
	text, ok := q.Request.Confirm.(tool.Literal)
	if !ok || !short(q.Request.Description) { // the title of a long one is shortened
		return q.Request.Confirm
	}
	if rest := q.Beyond(text); rest != "" {
		return tool.Literal(rest)
	}
	return nil
}

// title is the tool and what the call is about.
func (q *question) title() cell.Line {
	what := about(q.Request)
	if c, ok := q.Request.Confirm.(tool.Plan); ok {
		if first, _, _ := strings.Cut(strings.TrimSpace(c.Text), "\n"); strings.HasPrefix(first, "#") {
			what = visible(strings.TrimLeft(first, "# "))
		}
		return naming("Plan:", what)
	}
	if q.Command != nil && short(q.Command.Line) {
		what = q.Command.Line
	}
	if by := q.Request.Call.By; by != "" {
		what += " (" + visible(by) + ")"
	}
	return naming(visible(q.Request.Declaration.Title()), what)
}

// short reports whether a command can be part of a title: nothing of it is shortened or omitted there.
func short(line string) bool { return len(line) <= 1000 && visible(line) == line }

// commandText is a whole command: its lines stay lines, and nothing of it is invisible.
func commandText(c tool.Command) []cell.Line {
	return indented(tool.Visible(c.Line), "    ")
}

// indented is a text with a line for each of its lines, however long these are.
func indented(text, indent string) []cell.Line {
	var out []cell.Line
	for _, l := range cell.CleanLines(text) {
		out = append(out, cell.Text(indent+l))
	}
	return out
}

// commandDetails is a command, unless the title has all of it, and what the model says about it.
func commandDetails(c tool.Command, width int) []cell.Line {
	var out []cell.Line
	if !short(c.Line) {
		out = commandText(c)
	}
	if c.Purpose != "" {
		out = append(out, cell.Wrap(cell.Styled("  Model's note: "+visible(c.Purpose), cell.Dim), width,
			cell.Text("  "))...)
	}
	return out
}

// cuts reports whether text that changes is omitted of what was printed.
func (q *question) cuts(width int) bool {
	if q.Diff != nil {
		return cutsDiff(q.Diff.Diff, width)
	}
	return q.Effects != nil && slices.ContainsFunc(q.Effects.Changes,
		func(c tool.Effect) bool { return cutsDiff(c.Diff, width) })
}

// details is the whole diff, command or text, without a command that is short enough for the title. Long lines of a
// diff are cut around the change, unless all is true.
func details(d tool.Display, width int, all bool) []cell.Line {
	wide, printed := width, OutputLines
	if all {
		wide, printed = 0, math.MaxInt
	}
	var out []cell.Line
	warn := func(warnings []string) {
		for _, w := range warnings {
			out = append(out, cell.Styled("  Warning: "+visible(w), cell.Yellow))
		}
	}
	switch d := d.(type) {
	case nil:
	case tool.Effects:
		out = append(commandDetails(d.Command, width), tail(d.Output, printed, width, "v")...)
		out = append(out, effectLines(d, width)...)
		warn(d.AllWarnings())
		for _, c := range d.Changes {
			body := insideLines(c, all)
			if c.Diff != "" {
				body = DiffLines(c.Diff, wide)
			}
			if len(body) > 0 {
				out = append(append(out, cell.Styled("  "+visible(c.Line()), cell.Bold)), body...)
			}
		}
	case tool.FileDiff:
		out = DiffLines(d.Diff, wide)
		warn(d.Warnings)
	case tool.Command:
		out = commandDetails(d, width)
		warn(d.Warnings)
	case tool.Plan:
		out = markdown.Render(d.Text, width)
	case tool.Literal:
		out = paragraphs(string(d), "  ", width)
	default:
		out = paragraphs(d.Markdown(), "  ", width)
	}
	return out
}

// paragraphs are the lines of a text, wrapped between words.
func paragraphs(text, indent string, width int) []cell.Line {
	var out []cell.Line
	for _, l := range indented(text, indent) {
		out = append(out, cell.Wrap(l, width, cell.Text(indent))...)
	}
	return out
}

// maxInside is how many files of a new directory are listed beside a question. The view has their texts too.
const maxInside = 8

// insideLines are the files of a new directory, and their texts if all is true.
func insideLines(c tool.Effect, all bool) []cell.Line {
	indent, style, limit, key := "    ", cell.Plain, maxInside, " (v)"
	if all {
		indent, style, limit, key = "  ", cell.Bold, len(c.Inside), ""
	}
	var out []cell.Line
	shown := c.Inside[:min(len(c.Inside), limit)]
	for _, f := range shown {
		out = append(out, cell.Styled(indent+visible(f.Line()), style))
		if all {
			out = append(out, DiffLines(f.Diff, 0)...)
		}
	}
	if more := c.Files - len(shown); more > 0 && len(shown) > 0 {
		out = append(out, cell.Styled(indent+"… "+humanize.Count(more, "more file")+key, cell.Dim))
	}
	return out
}

// effectLines are what a tried call did, without its diff.
func effectLines(f tool.Effects, width int) []cell.Line {
	var out []cell.Line
	for _, r := range f.Rows() {
		head := cell.Line{{Text: fmt.Sprintf("    %-9s ", r.Label), Style: cell.Dim}}
		line, indent := append(cell.Line{}, head...), cell.Text(strings.Repeat(" ", head.Width()))
		for i, c := range r.Cells {
			text := cell.Clean(tool.Visible(c)) // with the spaces in it
			if i > 0 && line.Width()+5+cell.Text(text).Width() > width {
				out = append(out, cell.Wrap(line, width, indent)...)
				line = slices.Clone(indent)
			} else if i > 0 {
				line = append(line, cell.Span{Text: "     "})
			}
			line = append(line, cell.Span{Text: text})
		}
		out = append(out, cell.Wrap(line, width, indent)...)
	}
	return out
}

// live is the question in the live area, below the rule, in this many rows: what is asked, what is known about it, and
// the keys. In a small terminal the keys remain.
func (q *question) live(s *Screen, room int) []cell.Line {
	width := s.width()
	n, all := s.questions.at+1, len(s.questions.open)
	count := cell.Styled(fmt.Sprintf("%d of %d", n, all), cell.Dim)
	head, about := q.withReason(q.head(), width, count.Width())
	about = append(about, q.reminder(width, room/3)...)
	if q.explain {
		about = append(about, q.explanation(width)...)
	}
	if q.stage == filling && all == 1 { // its fields are counted
		count = nil
	}
	more, keys := q.stageLines(s, all, width)
	about = append(about, more...)
	foot := fill(keys, width)
	if q.problem != "" {
		foot = append([]cell.Line{cell.Styled("  "+visible(q.problem), cell.Red)}, foot...)
	}
	room = max(1, room-1)
	if len(foot) > room {
		foot = foot[:room]
		foot[room-1] = append(foot[room-1], cell.Span{Text: " …"})
	}
	if limit := room - len(foot); len(about) > limit {
		about = q.window(about, limit)
	}
	out := append([]cell.Line{head.Right(count, width)}, about...)
	out = append(out, foot...)
	for i, l := range out {
		out[i] = l.Cut(width)
	}
	return out
}

// withReason adds why the user is asked to the title, if there is room for all of it, and else below it while the user
// chooses an answer. taken is the width of what follows the title.
func (q *question) withReason(head cell.Line, width, taken int) (title cell.Line, below []cell.Line) {
	why := visible(q.Brief)
	texts := []string{"needs approval: " + why, why} // the reason is more than the words before it
	switch {
	case q.Tried() && q.Why.Cause.Kind == tool.ByMode: // what it writes is listed
		texts = []string{"nothing is kept yet (" + q.Why.Cause.Mode + " mode)"}
	case q.Tried():
		texts = []string{strings.TrimSuffix("nothing is kept yet: "+why, ": ")}
	case why == "":
		return head, nil
	}
	if q.explain || q.stage == rerunning {
		return head, nil
	}
	for _, text := range texts {
		if head.Width()+3+cell.Width(text)+1+taken <= width {
			return append(head, cell.Span{Text: "   " + text, Style: cell.Dim}), nil
		}
	}
	if q.stage != choosing {
		return head, nil
	}
	return head, cell.Wrap(cell.Styled("    "+texts[len(texts)-1], cell.Dim), width, cell.Text("    "))
}

// reminder is the start of the command, if what is printed above scrolled it away and the title doesn't have all of it.
func (q *question) reminder(width, rows int) []cell.Line {
	c := q.Command
	if c == nil || !q.long || q.stage != choosing || short(c.Line) && q.head().Width() < width*3/4 {
		return nil
	}
	out := paragraphs(tool.Visible(c.Line), "    ", width)
	if n := len(out) - max(2, rows); n > 0 {
		out = append(out[:len(out)-n-1], cell.Styled(fmt.Sprintf("    … %s more (v)", humanize.Count(n+1, "line")),
			cell.Dim))
	}
	return out
}

// stageLines are what is being decided, and the keys for it.
func (q *question) stageLines(s *Screen, all, width int) (about, keys []cell.Line) {
	switch q.stage {
	case choosing:
		return nil, q.choices(all)
	case refusing:
		return nil, hints("Enter", "deny", "Esc", "back", "", "type a reason for the model first, if you like")
	case always:
		return q.ladder(width), q.scopeKeys()
	case filling:
		return q.form(s, width)
	case editing:
		return nil, hints("Enter", "run the edited command", "Esc", "back")
	case picking:
		return q.picked(width)
	case rerunning:
		text := "  Discard the changes and run the command above, with your permissions and the network?"
		return cell.Wrap(cell.Text(text), width, cell.Text("  ")), hints("y", "run it", "n", "back")
	}
	return nil, nil
}

// window is the part of lines that fits into some rows: the start, and of rules those from the selected one on.
func (q *question) window(lines []cell.Line, rows int) []cell.Line {
	switch {
	case rows <= 0:
		return nil
	case q.stage == always:
		from := slices.IndexFunc(lines, func(l cell.Line) bool { return strings.Contains(l.String(), "  › ") })
		return lines[max(0, min(from, len(lines)-rows)):][:rows]
	case rows == 1:
		return lines[:1]
	}
	more := cell.Styled(fmt.Sprintf("    … %s more", humanize.Count(len(lines)-rows+1, "line")), cell.Dim)
	return append(slices.Clone(lines[:rows-1]), more)
}

// shownChoices are the answers that the question shows.
func (q *question) shownChoices() []approval.Choice {
	return slices.DeleteFunc(q.List(approval.Screen), func(c approval.Choice) bool {
		return c.Act == approval.View && !q.long && !q.Tried() // all of it is visible
	})
}

// answers are the items of the answers.
func (q *question) answers() []item {
	var out []item
	for _, c := range q.shownChoices() {
		k := c.Keys[approval.Screen]
		if c.Act == approval.Explain && q.explain {
			k.Label = "less"
		}
		out = append(out, item{key: k.Key, text: k.Label})
	}
	return out
}

// choices are the keys that answer.
func (q *question) choices(all int) []cell.Line {
	q.list.items = q.answers()
	out := q.list.pieces()
	if all > 1 {
		out = append(out, hint("←→", "next"))
	}
	return append(out, hint("Esc", "stop"))
}

// explanation is how the call was judged: what decided about each command, the sandbox, and the smallest rule.
func (q *question) explanation(width int) []cell.Line {
	wide := 14
	for _, r := range q.reasons {
		wide = max(wide, min(cell.Width(visible(r.What)), width/2))
	}
	var out []cell.Line
	for _, r := range q.reasons {
		what := cell.Text(visible(r.What)).Cut(wide)
		l := append(cell.Line{{Text: "    "}}, what...)
		l = append(l, cell.Span{Text: strings.Repeat(" ", wide-what.Width()+2)}, cell.Span{Text: visible(r.Why)})
		out = append(out, cell.Wrap(l, width, cell.Text(strings.Repeat(" ", wide+6)))...)
	}
	return out
}

// ladder is the rules that "always" can apply, and what each covers if there is room for it.
func (q *question) ladder(width int) []cell.Line {
	label := cell.Text("  always:")
	shown := list{items: slices.Clone(q.list.items), at: q.list.at}
	for i, o := range shown.items {
		if label.Width()+o.line(true).Width()+2+cell.Width(o.about) > width {
			shown.items[i].about = ""
		}
	}
	var out []cell.Line
	room := width - label.Width()
	for i, l := range shown.lines(room, len(shown.items)) {
		rows := []cell.Line{l}
		if whole := shown.items[i].line(true); i == shown.at && whole.Width() > room { // Enter allows all of it
			rows = cell.Wrap(whole, room, cell.Text("    "))
		}
		for _, row := range rows {
			out = append(out, append(slices.Clip(label), row...))
			label = cell.Text("         ")
		}
	}
	return out
}

// scopeOption is how long a rule can apply: its key, its name, and what Enter does then.
type scopeOption struct {
	scope            approval.Scope
	key, name, enter string
}

func (q *question) scopes() []scopeOption {
	all := []scopeOption{
		{approval.ForSession, "s", "session", "allow in this session"},
		{approval.ForUser, "u", "user", "save for all projects"},
	}
	if q.ForProject() {
		all = slices.Insert(all, 1, scopeOption{approval.ForProject, "p", "project", "save for this project"})
	}
	return all
}

// scopeKeys are the keys of "always". The scope that Enter would use is bold, and named beside Enter.
func (q *question) scopeKeys() []cell.Line {
	out := hints("↑↓", "narrower, wider")
	enter := ""
	for _, s := range q.scopes() {
		h := hint(s.key, s.name)
		if s.scope == q.scope {
			h[len(h)-1].Style, enter = cell.Bold, s.enter
		}
		out = append(out, h)
	}
	return append(out, hint("Enter", enter, "Esc", "back")) // together, so that nothing moves if the scope changes
}

// picked is the hunk that is being decided; then what was decided about those around it, and the keys.
func (q *question) picked(width int) (out, keys []cell.Line) {
	lines := DiffLines(q.Parts[q.list.at].Diff, width)
	out = slices.Clone(lines[:min(len(lines), maxHunk)])
	verb := "write"
	if file := q.Parts[q.list.at].File; file != "" {
		out = slices.Insert(out, 0, cell.Styled("    "+visible(file), cell.Bold))
	}
	if q.Tried() {
		verb = "keep"
		c := q.Effects.Changes[q.list.at]
		out = append(out, insideLines(c, false)...)
		out = slices.Insert(out, 0, cell.Styled("    "+string(c.Kind)+" "+visible(c.Line()), cell.Bold))
	}
	if len(lines) > maxHunk {
		out = append(out, cell.Styled(fmt.Sprintf("        … %d more lines above", len(lines)-maxHunk), cell.Dim))
	}
	n := 0
	from := max(0, min(q.list.at-maxMarks/2, len(q.take)-maxMarks))
	for i, taken := range q.take {
		mark := unmarked
		if taken {
			n, mark = n+1, marked
		}
		style := cell.Plain
		if i == q.list.at {
			style = cell.Bold
		}
		if i >= from && i < from+maxMarks {
			keys = append(keys, cell.Styled(fmt.Sprintf("  %s%d", mark, i+1), style))
		}
	}
	written := fmt.Sprintf("%s %d of %d", verb, n, len(q.Parts))
	return out, append(keys, hints("y", "take", "n", "skip", "←→", "move", "Enter", written, "Esc", "back")...)
}

// maxMarks is of how many hunks is shown what was decided.
const maxMarks = 9

// maxHunk is how many lines of a hunk are shown beside the choices. All of it is above.
const maxHunk = 10
