package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/internal/tui/cell"
	"github.com/adze-dev/adze/tool"
)

// effectLines are what a tried call did, without its diff.
func effectLines(f tool.Effects, width int) []cell.Line {
	out := []cell.Line{cell.Styled("  "+visible(f.Headline()), cell.Dim)}
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
	pairs = append(pairs, "d", "discard", "v", "diff", "r", "run again with network")
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
		s.reply(q, approval.RunAgain(f))
	default:
		return false
	}
	return true
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
	return out + "6 run again with network. Number: "
}

// chooseEffects does what the numbers stand for that only the effects of a tried call have.
func (l *Lines) chooseEffects(ctx context.Context, q *lineQuestion, f tool.Effects, line string) (d tool.Decision, ok, handled bool) {
	switch {
	case line == "6":
		return approval.RunAgain(f), true, true
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
