package record

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// Limits of what HitLines shows of a text.
const (
	maxHitLines = 9
	maxHitWidth = 160 // characters
)

// SearchText searches all sessions, without tokens that journals of older versions may contain.
func (f Sessions) SearchText(words []string) ([]journal.Hit, error) {
	return f.Search(words, redact.NewMask(nil, redact.NewTable(nil)).String)
}

// HitLines shows hits to the user: the lines of each text with one of the words, and those around.
func HitLines(hits []journal.Hit, words []string, now time.Time) string {
	var b strings.Builder
	for n, h := range hits {
		if n > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", h.ID[:8], humanize.Age(now.Sub(h.Updated)), tool.Visible(h.CWD),
			tool.Visible(h.Label()))
		for _, t := range h.Texts {
			fmt.Fprintf(&b, "  %s %s\n", strings.TrimPrefix(t.By+" "+string(t.Role), " "),
				t.At.Local().Format("2006-01-02 15:04"))
			for _, line := range linesWith(t.Text, words) {
				b.WriteString("    " + line + "\n")
			}
		}
		if h.More {
			fmt.Fprintf(&b, "  more: adze session show %s\n", h.ID[:8])
		}
	}
	return b.String()
}

// linesWith returns the lines of a text with one of the words, and a line before and after each.
func linesWith(text string, words []string) (out []string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	has := func(n int) int {
		if n < 0 || n >= len(lines) {
			return -1
		}
		line := strings.ToLower(lines[n])
		for _, w := range words {
			if at := strings.Index(line, strings.ToLower(w)); at >= 0 {
				return at
			}
		}
		return -1
	}
	last := -1
	for n, line := range lines {
		at := slices.Max([]int{has(n - 1), has(n), has(n + 1)})
		if at < 0 {
			continue
		}
		if len(out) >= maxHitLines {
			return append(out, "…")
		}
		if last >= 0 && n > last+1 {
			out = append(out, "…")
		}
		last = n
		out = append(out, tool.Visible(around(line, max(0, has(n)))))
	}
	return out
}

// around returns a line, of a long one the part around an offset.
func around(line string, at int) string {
	if from := min(at, len(line)) - maxHitWidth/2; len(line) > maxHitWidth && from > 0 {
		for from < len(line) && !utf8.RuneStart(line[from]) {
			from++
		}
		line = "…" + line[from:]
	}
	return humanize.Shorten(line, maxHitWidth)
}
