package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/tui/cell"
	"github.com/adze-dev/adze/tool"
)

// effectLines are what a tried call did, without its diff.
func effectLines(f tool.Effects, width int) []cell.Line {
	var out []cell.Line
	for _, r := range f.Rows() {
		head := cell.Line{{Text: fmt.Sprintf("    %-9s ", r.Label), Style: cell.Dim}}
		line := append(cell.Line{}, head...)
		for i, c := range r.Cells {
			text := cell.Clean(tool.Visible(c)) // with the spaces in it
			if i > 0 && line.Width()+5+cell.Text(text).Width() > width {
				out = append(out, line)
				line = cell.Text(strings.Repeat(" ", head.Width()))
			} else if i > 0 {
				line = append(line, cell.Span{Text: "     "})
			}
			line = append(line, cell.Span{Text: text})
		}
		out = append(out, line)
	}
	return out
}

// effects are the effects of the tried call that the question is about.
func (q *question) effects() (tool.Effects, bool) {
	f, ok := q.r.Confirm.(tool.Effects)
	return f, ok && len(f.Changes) > 0
}

// effectChoices are the keys for the effects of a tried call.
func (q *question) effectChoices() []string {
	pairs := []string{"y", "keep"}
	if len(q.hunks) > 1 {
		pairs = append(pairs, "h", "choose files")
	}
	if len(q.why.Offer) > 0 {
		pairs = append(pairs, "a", "always")
	}
	pairs = append(pairs, "d", "discard", "v", "diff")
	if f, _ := q.effects(); f.CanRunAgain() {
		pairs = append(pairs, "r", "run again with network …")
	}
	if q.explain {
		return append(pairs, "w", "less")
	}
	return append(pairs, "w", "why")
}

// chooseEffects does what a key stands for, if it is one that only the effects of a tried call have.
func (s *Screen) chooseEffects(q *question, name string) bool {
	f, ok := q.effects()
	if !ok {
		return false
	}
	switch name {
	case "d":
		s.reply(q, tool.Decision{Verdict: tool.Deny})
	case "r":
		if !f.CanRunAgain() {
			return false
		}
		s.space()
		s.print(cell.Styled("? Run again, with your permissions and the network:", cell.Yellow))
		s.print(commandText(f.Command)...)
		q.stage, q.shown = rerunning, time.Time{}
	default:
		return false
	}
	return true
}

// rerunKey handles a key while the user decides whether a tried command runs again, for real.
func (s *Screen) rerunKey(q *question, name string) {
	switch name {
	case "y":
		if f, ok := q.effects(); ok && s.calm(q) {
			s.reply(q, approval.RunAgain(f))
		}
	case "n", "esc":
		q.stage, q.shown = choosing, time.Time{}
	}
}

// rerunLines are what the user decides then, and the keys for it.
func rerunLines(width int) (about, keys []cell.Line) {
	text := "  Discard the changes and run the command above, with your permissions and the network?"
	return cell.Wrap(cell.Text(text), width, cell.Text("  ")), hints("y", "run it", "n", "back")
}

// keepPicked keeps the effects that were taken.
func (s *Screen) keepPicked(q *question, f tool.Effects, take []bool) {
	var paths []string
	for i, c := range f.Changes {
		if take[i] {
			paths = append(paths, c.Path)
		}
	}
	s.reply(q, approval.Keep(paths))
}

// named reports whether a call was named before, because it was tried.
func (l *Lines) named(e agent.Step) bool {
	key := e.Request.Call.By + "/" + e.Request.Call.ID
	was := l.tried[key]
	if e.Stage == tool.Trying {
		if l.tried == nil {
			l.tried = map[string]bool{}
		}
		l.tried[key] = true
	}
	return was
}

// effects prints what a tried call did.
func (l *Lines) effects(f tool.Effects) {
	for _, r := range f.Rows() {
		fmt.Fprintf(l.out, "%s: %s\n", r.Label, visible(strings.Join(r.Cells, ", ")))
	}
	for _, w := range f.AllWarnings() {
		fmt.Fprintf(l.out, "warning: %s\n", visible(w))
	}
}

// effectChoices are the numbered answers about the effects of a tried call.
func (l *Lines) effectChoices(q *lineQuestion, f tool.Effects) string {
	out := "1 keep, "
	if len(q.why.Offer) > 0 {
		out += "2 keep always in this session (" + approval.RuleList(q.why.Offer[0]) + "), "
	}
	out += "3 discard, 4 read the diff, "
	if len(f.Changes) > 1 {
		out += "5 choose files, "
	}
	if f.CanRunAgain() {
		out += "6 run again with network, "
	}
	return strings.TrimSuffix(out, ", ") + ". Number: "
}

// chooseEffects does what the numbers stand for that only the effects of a tried call have.
func (l *Lines) chooseEffects(ctx context.Context, q *lineQuestion, f tool.Effects, line string) (d tool.Decision, ok, handled bool) {
	switch {
	case line == "6" && f.CanRunAgain():
		l.say("run again", tool.Visible(f.Command.Line))
		l.say("note", "this discards the changes and runs the command with your permissions and the network")
		typed, err := l.number(ctx, q, "1 run it, 2 back. Number: ")
		return approval.RunAgain(f), err == nil && typed == "1", true
	case line != "5" || len(f.Changes) < 2:
		return d, false, false
	}
	for i, c := range f.Changes {
		fmt.Fprintf(l.out, "%d %s %s\n", i+1, c.Kind, visible(c.Line()))
	}
	typed, err := l.number(ctx, q, "Numbers of the files to keep: ")
	if err != nil {
		return d, false, false
	}
	chosen, err := approval.Numbers(typed, len(f.Changes))
	if err != nil {
		l.say("error", err.Error())
		return d, false, true
	}
	var paths []string
	for _, n := range chosen {
		paths = append(paths, f.Changes[n-1].Path)
	}
	return approval.Keep(paths), true, true
}
