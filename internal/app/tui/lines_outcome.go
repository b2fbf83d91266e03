package tui

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// step prints a step of a call: its name when it starts, and what it did.
func (l *Lines) step(e tool.Event) {
	c := l.calls.find(e.Request)
	switch e.Stage {
	case tool.Running, tool.Trying:
		if c.began.IsZero() && c.by == "" {
			l.say("tool", c.name().String())
		}
		c.began = time.Now()
	case tool.Done:
		i := l.calls.position(e.Request.Call)
		l.calls.calls = append(l.calls.calls[:i], l.calls.calls[i+1:]...)
		c.outcome = e.Outcome
		l.finished(c)
	}
}

// finished prints why a call failed, or what it did: counts, the end of its output, and a short diff of an edit. What a
// question showed isn't repeated.
func (l *Lines) finished(c *call) {
	o := c.outcome
	if o.Error != nil {
		label := "error"
		if o.Status != tool.StatusError { // the message says that it was denied or canceled
			label = "note"
		}
		l.say(label, o.Error.Message)
	}
	if c.by != "" || o.Status == tool.StatusDenied {
		return
	}
	sum := c.summary()
	if d, ok := o.Result.Display.(tool.FileDiff); ok && d.Stat != nil && sum != "" {
		sum = linesChanged(d)
	}
	if sum != "" {
		l.say("result", sum)
	}
	for _, text := range o.Result.Missed {
		l.say("note", visible(text))
	}
	l.print(c.did(layout{width: lineWidth, output: l.output}))
}

// linesChanged is how much an edit changes, in words.
func linesChanged(d tool.FileDiff) string {
	return fmt.Sprintf("%s added, %d removed", humanize.Count(d.Stat.ModelAddedLines, "line"),
		d.Stat.ModelRemovedLines)
}

// lineWidth is the width for which lines are made. They are wrapped when they are printed.
const lineWidth = 1000

func (l *Lines) print(lines []cell.Line) {
	for _, line := range lines {
		for _, row := range l.rows(line) {
			fmt.Fprintln(l.out, row.String())
		}
	}
}

// rows are a line, wrapped between words if the terminal's width is known.
func (l *Lines) rows(line cell.Line) []cell.Line {
	width := 0
	if f, ok := l.out.(*os.File); ok {
		width, _, _ = term.GetSize(int(f.Fd())) // 0: it isn't a terminal
	}
	if width <= 0 {
		return []cell.Line{line}
	}
	text := line.String()
	return cell.Wrap(line, width, cell.Text(strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " ")))))
}

// effects prints what a tried call did.
func (l *Lines) effects(f tool.Effects) {
	for _, r := range f.Rows() {
		l.say(r.Label, visible(strings.Join(r.Cells, ", ")))
	}
	for _, w := range f.AllWarnings() {
		l.say("warning", visible(w))
	}
}
