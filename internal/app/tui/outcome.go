package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

const (
	// OutputLines is how many lines of a command's output are shown after it ended, unless a setting says otherwise.
	OutputLines = 5
	// failedLines is how many there are at least if the command failed.
	failedLines = 12
	// editRows is how many rows of an applied edit are shown.
	editRows = 12
	// maxFailureRows is how many rows of an error are shown.
	maxFailureRows = 8
)

// layout is how finished calls are shown.
type layout struct {
	width  int
	output int    // lines of output
	key    string // that shows the rest; "": none does
}

// layout is how finished calls are shown on this screen.
func (s *Screen) layout() layout {
	return layout{s.width(), s.o.OutputLines, s.keys.label("transcript")}
}

// lines are a finished call: a line, why it failed, and what it did.
func (c *call) lines(look layout) []cell.Line {
	o, width := c.outcome, look.width
	head := append(cell.Line{callMark(o.Status)}, c.name()...)
	right := took(o.Duration)
	failure := c.failure(width)
	switch sum := cell.Styled("  "+c.summary(), cell.Dim); {
	case sum.Width() == 2:
	case head.Width()+sum.Width()+right.Width() < width:
		head = append(head, sum...)
	default:
		failure = append([]cell.Line{sum.Cut(width)}, failure...)
	}
	if len(failure) == 1 && (o.Result.Output != "" || o.Status == tool.StatusDenied) { // "Command exited with code 1."
		end := cell.Styled(" "+failure[0].String(), cell.Dim)
		if head.Width()+end.Width()+right.Width() < width {
			head, failure = append(head, end...), nil
		}
	}
	out := append([]cell.Line{head.Right(right, width)}, failure...)
	for _, text := range o.Result.Missed {
		out = append(out, cell.Wrap(cell.Styled("    "+visible(text), cell.Yellow), width, cell.Text("    "))...)
	}
	if o.Status == tool.StatusDenied {
		return out
	}
	return append(append(out, c.did(look)...), c.left...)
}

// did is the end of a call's output, or the diff of an edit. What a question showed isn't repeated.
func (c *call) did(look layout) []cell.Line {
	o, limit := c.outcome, look.output
	switch d, edited := o.Result.Display.(tool.FileDiff); {
	case c.shown && o.Error == nil:
		return nil
	case edited && o.Error == nil:
		return folded(DiffLines(d.Diff, look.width), editRows, look.key)
	case o.Error != nil && limit > 0:
		limit = max(limit, failedLines)
	}
	return tail(o.Result.Output, limit, look.width, look.key)
}

// failure is why a call failed.
func (c *call) failure(width int) []cell.Line {
	if c.outcome.Error == nil {
		return nil
	}
	message := strings.TrimPrefix(c.outcome.Error.Message, c.described+": ") // it is above
	out := block(humanize.Cut(message, maxFailure), cell.Dim, "  ", "  ", width)
	if n := len(out) - maxFailureRows + 1; n > 0 {
		out = append(out[:maxFailureRows-1], cell.Styled("  … "+humanize.Count(n, "more line"), cell.Dim))
	}
	return out
}

// tail is the end of an output: the last lines, most at most, and how many are above them, with the key that shows
// those. Each line is a row.
func tail(text string, limit, width int, key string) []cell.Line {
	text = strings.Trim(text, "\n")
	if limit <= 0 || strings.TrimSpace(text) == "" {
		return nil
	}
	var lines []string
	for rest := text; rest != "" && len(lines) < limit; {
		i := strings.LastIndexByte(rest, '\n')
		lines = append(lines, rest[i+1:])
		rest = rest[:max(0, i)]
	}
	slices.Reverse(lines)
	var out []cell.Line
	if n := strings.Count(text, "\n") + 1 - len(lines); n > 0 {
		out = append(out, cell.Styled("    … "+humanize.Count(n, "line")+" above"+inParens(key), cell.Dim).Cut(width))
	}
	for _, l := range lines {
		out = append(out, cell.Styled("    "+outputLine(l, 8*width), cell.Dim).Cut(width))
	}
	return out
}

// outputLine is a line of an output without sequences that control terminals. Of a very long one it is the start.
func outputLine(l string, limit int) string {
	if len(l) > limit {
		l = l[:limit] + "…"
	}
	if l = strings.TrimRight(l, "\r"); strings.ContainsRune(l, '\r') { // as a terminal would show it
		l = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return cell.Clean(cell.Strip(l))
}

// inParens is a key after a text; "" without a key.
func inParens(key string) string {
	if key == "" {
		return ""
	}
	return " (" + key + ")"
}

// folded is the start of rows, most at most, and how many more there are, with the key that shows them.
func folded(rows []cell.Line, limit int, key string) []cell.Line {
	if len(rows) <= limit {
		return rows
	}
	more := cell.Styled("        … "+humanize.Count(len(rows)-limit+1, "more line")+inParens(key), cell.Dim)
	return append(slices.Clone(rows[:limit-1]), more)
}

// answered notes what the user has seen of a call, and what of it was not approved. The question printed the rest: it
// isn't printed again.
func (l *callList) answered(q *question, a approval.Answer, look layout) {
	i := l.position(q.Request.Call)
	if i == len(l.calls) || !q.printed || q.Diff == nil && !q.Tried() {
		return
	}
	c := l.calls[i]
	c.shown = a.Act != approval.Edit && a.Act != approval.Rerun
	for n, taken := range a.Take {
		if !taken {
			c.left = append(c.left, q.skipped(n, look)...)
		}
	}
}

// skipped is a part that the user didn't take.
func (q *question) skipped(n int, look layout) []cell.Line {
	if q.Tried() {
		return []cell.Line{cell.Styled("    not kept: "+visible(q.Effects.Changes[n].Line()), cell.Dim).Cut(look.width)}
	}
	left := fmt.Sprintf("    not applied: hunk %d of %d", n+1, len(q.Parts))
	if file := q.Parts[n].File; file != "" {
		left += " (" + visible(file) + ")"
	}
	out := []cell.Line{cell.Styled(left, cell.Yellow).Cut(look.width)}
	for _, l := range folded(DiffLines(q.Parts[n].Diff, look.width), editRows, look.key) {
		out = append(out, cell.Styled(l.String(), cell.Dim))
	}
	return out
}
