package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Markdown writes the conversation as Markdown. Texts of tools are quoted, so that they can't look like other parts.
func Markdown(w io.Writer, entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) error {
	t, err := read(entries, blobs)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n\n", oneLine(t.heading()))
	for _, f := range t.facts() {
		fmt.Fprintf(out, "- %s: %s\n", f.name, oneLine(f.value))
	}
	for _, i := range t.items {
		fmt.Fprintf(out, "\n%s", markdown(i))
	}
	return out.Flush()
}

func markdown(i *item) string {
	who := author(i.by)
	if who != "" {
		who = " (" + oneLine(who) + ")"
	}
	switch i.kind {
	case prompt:
		return fmt.Sprintf("## User%s\n\n%s\n%s", who, tool.Visible(i.text), mediaNotes(i.media))
	case news:
		return fmt.Sprintf("## Adze%s\n\n%s\n", who, tool.Fence("", i.text))
	case answer:
		s := fmt.Sprintf("## Assistant%s\n\n", who)
		if i.thoughts != "" {
			s += "> " + strings.ReplaceAll(strings.TrimSpace(tool.Visible(i.thoughts)), "\n", "\n> ") + "\n\n"
		}
		if i.text != "" {
			s += tool.Visible(i.text) + "\n"
		}
		if i.turn.err != "" {
			s += "\n" + oneLine("Error: "+i.turn.err) + "\n"
		}
		return s
	case called:
		return markdownCall(i, who)
	}
	return "*" + oneLine(i.text) + "*\n"
}

func markdownCall(i *item, who string) string {
	c := i.call
	s := fmt.Sprintf("### %s%s: %s\n\n%s\n", oneLine(c.name()), who, c.status(), tool.Fence("json", pretty(c.args())))
	r := c.result()
	if diff, ok := r.Display.(tool.FileDiff); ok && diff.Diff != "" {
		return s + "\n" + tool.Fence("diff", diff.Diff) + "\n"
	}
	if text := r.Text(); text != "" {
		s += "\n" + tool.Fence("", text) + "\n"
	}
	return s
}

func mediaNotes(all []tool.Media) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "\n[%s, %d bytes]\n", oneLine(m.MIMEType), len(m.Data))
	}
	return b.String()
}

// JSON writes one object with all "entries", including texts and pictures. "error" says why entries are missing.
func JSON(w io.Writer, entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `{"format":"adze.session","v":%d,"entries":[`, journal.Version)
	separator := "\n"
	var problem string
	for e, err := range entries {
		var broken *journal.BrokenError
		if errors.As(err, &broken) {
			problem = err.Error()
			break
		}
		if err != nil {
			return err
		}
		full, err := journal.Resolve(e, blobs)
		if err != nil {
			full = e // with the reference
		}
		line, err := humanize.JSON(full)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s", separator, line)
		separator = ",\n"
	}
	out.WriteString("\n]")
	if problem != "" {
		line, err := humanize.JSON(problem)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, ",\"error\":%s", line)
	}
	out.WriteString("}\n")
	return out.Flush()
}

// fact is a line of the header.
type fact struct{ name, value string }

func (t *transcript) heading() string {
	if t.title != "" {
		return t.title
	}
	return "Session " + t.opened.ID
}

func (t *transcript) facts() []fact {
	all := []fact{
		{"Session", t.opened.ID},
		{"Directory", t.opened.CWD},
		{"Model", strings.Join(t.models, ", ")},
		{"Date", t.created.Format("2006-01-02 15:04 MST") + " to " + t.updated.Format("2006-01-02 15:04 MST")},
		{"Turns", fmt.Sprint(len(t.turns))},
		{"Tokens", tokens(t.usage)},
		{"Time", fmt.Sprintf("model %s, tools %s", duration(t.modelMS), duration(t.toolMS()))},
	}
	if p := t.opened.Parent; p != nil {
		all = append(all, fact{"Forked from", fmt.Sprintf("%s at entry %d", p.ID, p.Seq)})
	}
	return all
}

func (t *transcript) toolMS() int64 {
	var sum int64
	for _, s := range t.tools {
		sum += s.ms
	}
	return sum
}

func tokens(u model.Usage) string {
	s := fmt.Sprintf("%s input", humanize.Number(u.Input))
	if u.CacheRead > 0 {
		s += fmt.Sprintf(" (%s cached)", humanize.Number(u.CacheRead))
	}
	return s + fmt.Sprintf(", %s output", humanize.Number(u.Output))
}

func duration(ms int64) string { return humanize.Duration(time.Duration(ms) * time.Millisecond) }

// pretty indents JSON; other texts are unchanged.
func pretty(s string) string {
	var v json.RawMessage
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return s
	}
	return strings.TrimSpace(b.String())
}

func oneLine(s string) string {
	return tool.Visible(strings.Join(strings.Fields(s), " "))
}
