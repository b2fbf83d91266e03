package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// live is what is going on right now.
type live struct {
	thinking time.Time  // since when the model is asked; zero: it is not
	calls    []liveCall // that run, in the order they began
}

// liveCall is a running call.
type liveCall struct {
	by, id string
	title  string
	began  time.Time
	output []string // the last lines that it printed
}

// liveLine is a line of the live area, as plain text.
type liveLine struct {
	text string
	dim  bool
}

const (
	liveTail     = 3  // lines of a running command's output
	keptOutput   = 10 // lines of it that are shown when it fails
	maxLiveLines = 12
	// turnEvery is how long each of turning's marks is shown.
	turnEvery = 250 * time.Millisecond
)

var turning = []string{"◐", "◓", "◑", "◒"}

// begin notes that a call runs.
func (l *live) begin(r tool.Request, now time.Time) {
	l.calls = append(l.calls, liveCall{
		by: r.Call.By, id: r.Call.ID, title: r.Declaration.Title() + ": " + r.Description, began: now,
	})
}

// show notes what a call shows of itself: of a command, the end of its output.
func (l *live) show(c tool.Call, d tool.Display) {
	text, ok := d.(tool.Literal)
	i := l.find(c)
	if !ok || i < 0 {
		return
	}
	l.calls[i].output = nil
	if shown := strings.Trim(tool.Visible(string(text)), "\n"); shown != "" {
		lines := strings.Split(shown, "\n")
		l.calls[i].output = lines[max(0, len(lines)-keptOutput):]
	}
}

// end takes a call out and gives it back, if it ran.
func (l *live) end(c tool.Call) (liveCall, bool) {
	i := l.find(c)
	if i < 0 {
		return liveCall{}, false
	}
	ended := l.calls[i]
	l.calls = slices.Delete(l.calls, i, i+1)
	return ended, true
}

func (l *live) find(c tool.Call) int {
	return slices.IndexFunc(l.calls, func(k liveCall) bool { return k.by == c.By && k.id == c.ID })
}

// lines is the live area on a terminal of that size. None of them wraps.
func (l *live) lines(now time.Time, columns, rows int) []liveLine {
	columns = max(columns-1, 10) // the last column would wrap on some terminals
	limit := min(rows-1, maxLiveLines)
	if len(l.calls) == 0 {
		if l.thinking.IsZero() || limit < 1 {
			return nil
		}
		return []liveLine{{text: mark(now.Sub(l.thinking)) + " " + humanize.Seconds(now.Sub(l.thinking))}}
	}
	tail := liveTail
	for tail > 0 && l.height(tail) > limit {
		tail--
	}
	var out []liveLine
	for i, c := range l.calls {
		if len(out) == limit-1 && i < len(l.calls)-1 {
			return append(out, liveLine{text: fmt.Sprintf("  … %d more", len(l.calls)-i), dim: true})
		}
		taken := now.Sub(c.began)
		end := "  " + humanize.Seconds(taken)
		out = append(out, liveLine{text: fit(under(c.by)+mark(taken)+" "+c.title, columns-cells(end)) + end})
		for _, line := range c.output[max(0, len(c.output)-tail):] {
			out = append(out, liveLine{text: fit(under(c.by)+"    "+line, columns), dim: true})
		}
	}
	return out
}

// height is how many lines there are with tails of that length.
func (l *live) height(tail int) int {
	n := 0
	for _, c := range l.calls {
		n += 1 + min(tail, len(c.output))
	}
	return n
}

// mark turns while something is going on.
func mark(d time.Duration) string {
	return turning[int(max(0, d)/turnEvery)%len(turning)]
}

// fit makes a text one line of at most that many cells.
func fit(s string, limit int) string {
	return cell.Text(strings.NewReplacer("\n", " ", "\t", "    ").Replace(s)).Cut(limit).String()
}

// cells is how many columns a text takes on a terminal.
func cells(s string) int { return cell.Width(s) }
