package console

import (
	"fmt"
	"time"

	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// live is what is going on right now.
type live struct {
	thinking time.Time // since when the model is asked; zero: it is not
	calls    tui.Calls
}

const maxLiveLines = 12

// lines is the live area on a terminal of that size. None of them wraps.
func (l *live) lines(now time.Time, columns, rows int) []cell.Line {
	out := l.calls.Live(now, textWidth(columns))
	if len(out) == 0 && !l.thinking.IsZero() {
		out = []cell.Line{cell.Text("∙ waiting for the model " + humanize.Seconds(now.Sub(l.thinking)))}
	}
	if limit := max(0, min(rows-1, maxLiveLines)); len(out) > limit {
		out = append(out[:max(0, limit-1)], cell.Text(fmt.Sprintf("  … %d more", len(out)-limit+1)))[:limit]
	}
	return out
}

// textWidth is the width of lines: the last column would wrap on some terminals.
func textWidth(columns int) int { return max(columns-1, 10) }

// cells is how many columns a text takes on a terminal.
func cells(s string) int { return cell.Width(s) }
