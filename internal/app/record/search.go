package record

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// SearchText searches all sessions, without tokens that journals of older versions may contain.
func (f Sessions) SearchText(words []string) ([]journal.Hit, error) {
	return f.Search(words, redact.NewMask(nil, redact.NewTable(nil)).String)
}

// HitLines shows hits to the user: the lines of each text with one of the words, and those around.
func HitLines(hits []journal.Hit, words []string, now time.Time) (string, error) {
	any := make([]string, len(words))
	for i, w := range words {
		any[i] = regexp.QuoteMeta(w)
	}
	pattern, err := search.Compile(search.Query{
		Pattern: strings.Join(any, "|"), Case: search.Insensitive, Multiline: true,
	})
	if err != nil {
		return "", err
	}
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
			found, err := search.GrepText(h.ID, t.Text, search.GrepRequest{
				Pattern: pattern, Before: 1, After: 1, Limit: 4, MaxLine: 160,
			})
			if err != nil {
				return "", err
			}
			for _, f := range found.Files {
				writeLines(&b, f.Lines)
			}
		}
		if h.More {
			fmt.Fprintf(&b, "  more: adze session show %s\n", h.ID[:8])
		}
	}
	return b.String(), nil
}

// writeLines writes lines, with a mark where some are omitted.
func writeLines(b *strings.Builder, lines []search.Line) {
	for i, l := range lines {
		if i > 0 && l.Number > lines[i-1].Number+1 {
			b.WriteString("    …\n")
		}
		cut := map[bool]string{true: "…"}
		fmt.Fprintf(b, "    %s%s%s\n", cut[l.Offset > 0], tool.Visible(l.Text), cut[l.Cut])
	}
}
