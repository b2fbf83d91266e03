package export

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

//go:embed style.css
var style string

// HTML writes the conversation as one page that loads nothing and runs no script: texts, pictures, diffs in color, and
// a chart of time and tokens. It has a light and a dark theme.
func HTML(w io.Writer, entries iter.Seq2[journal.Entry, error], blobs journal.Blobs) error {
	t, err := read(entries, blobs)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	p := page{out, t.opened.CWD}
	p.write(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>`, text(t.heading()), `</title>
<style>
`, raw(style), `</style>
</head>
<body>
<main>
<header>
<h1>`, text(t.heading()), `</h1>
<dl>
`)
	for _, f := range t.facts() {
		if f.value != "" {
			p.write(`<div><dt>`, text(f.name), `</dt><dd>`, text(f.value), "</dd></div>\n")
		}
	}
	p.write("</dl>\n</header>\n")
	p.chart(t)
	p.write("<section class=\"conversation\">\n<h2>Conversation</h2>\n")
	for _, i := range t.items {
		p.item(i)
	}
	p.write("</section>\n</main>\n</body>\n</html>\n")
	return out.Flush()
}

// page writes HTML. Only constants and values of type raw are written unescaped.
type page struct {
	out *bufio.Writer
	cwd string // paths below it are relative
}

type (
	raw  string // HTML
	text string // untrusted
)

// write writes pieces of a page. A plain string must be a constant of this package.
func (p page) write(pieces ...any) {
	for _, piece := range pieces {
		switch piece := piece.(type) {
		case string:
			p.out.WriteString(piece)
		case raw:
			p.out.WriteString(string(piece))
		case text:
			p.out.WriteString(html.EscapeString(tool.Visible(string(piece))))
		case int, int64, float64:
			fmt.Fprint(p.out, piece)
		}
	}
}

func (p page) item(i *item) {
	switch i.kind {
	case note:
		p.write(`<p class="note">`, text(i.text), "</p>\n")
		return
	case called:
		p.call(i)
		return
	}
	class, name := "prompt", "User"
	switch i.kind {
	case news:
		class, name = "news", "Adze"
	case answer:
		class, name = "answer", "Assistant"
	}
	p.write(`<article class="`, class, `"`, p.nested(i), `><h3>`, name, p.by(i), ` <time>`,
		text(i.at.Format("15:04:05")), `</time>`)
	if i.turn != nil {
		p.write(` <span class="cost">`, text(duration(i.turn.ms)), ` · `, text(tokens(i.turn.usage)), `</span>`)
	}
	p.write("</h3>\n")
	if i.thoughts != "" {
		p.write(`<details class="thoughts"><summary>Thoughts</summary><div class="text">`,
			text(strings.TrimSpace(i.thoughts)), "</div></details>\n")
	}
	p.prose(i.text)
	for _, m := range i.media {
		p.media(m)
	}
	if i.turn != nil && i.turn.err != "" {
		p.write(`<p class="error">Error: `, text(i.turn.err), "</p>\n")
	}
	p.write("</article>\n")
}

// nested marks the items of a subagent.
func (p page) nested(i *item) raw {
	if i.by == "" {
		return ""
	}
	return ` data-nested`
}

func (p page) by(i *item) raw {
	if i.by == "" {
		return ""
	}
	return raw(` <span class="by">` + html.EscapeString(tool.Visible(author(i.by))) + `</span>`)
}

// prose writes Markdown as text, with separate code blocks.
func (p page) prose(s string) {
	for n, part := range strings.Split(s, "```") {
		if n%2 == 0 {
			if part = strings.Trim(part, "\n"); part != "" {
				p.write(`<div class="text">`, text(part), "</div>\n")
			}
			continue
		}
		info, code, found := strings.Cut(part, "\n")
		if !found {
			info, code = "", part
		}
		if strings.TrimSpace(info) == "diff" {
			p.diff(code)
			continue
		}
		p.write(`<pre><code>`, text(strings.TrimRight(code, "\n")), "</code></pre>\n")
	}
}

func (p page) call(i *item) {
	c := i.call
	status := c.status()
	class := "unknown"
	if slices.Contains([]tool.Status{tool.StatusSuccess, tool.StatusError, tool.StatusDenied, tool.StatusCancelled},
		status) {
		class = string(status)
	}
	p.write(`<article class="call `, raw(class), `"`, p.nested(i), `><h3><code>`, text(c.name()), `</code>`, p.by(i),
		` <span class="status">`, text(status), `</span>`)
	if c.finished != nil {
		p.write(` <span class="cost">`, text(duration(c.finished.Outcome.MS)), `</span>`)
	}
	p.write("</h3>\n")
	p.fold("Arguments", pretty(c.args()), 8)
	if c.finished != nil && c.finished.Outcome.Error != nil {
		p.write(`<p class="error">`, text(c.finished.Outcome.Error.Message), "</p>\n")
	}
	r := c.result()
	if d, ok := r.Display.(tool.FileDiff); ok && d.Diff != "" {
		p.write(`<p class="path">`, text(d.Path), "</p>\n")
		p.diff(d.Diff)
	} else {
		p.fold("Result", r.Text(), 16)
		if list := c.changes().Summary(p.cwd); list != "" {
			p.write(`<p class="path">Changed: `, text(list), "</p>\n")
		}
	}
	for _, part := range r.Content {
		if m, ok := part.(tool.Media); ok {
			p.media(m)
		}
	}
	p.write("</article>\n")
}

// fold writes a text, collapsed if it is long.
func (p page) fold(name, s string, lines int) {
	if strings.TrimSpace(s) == "" || s == "{}" {
		return
	}
	n := strings.Count(s, "\n") + 1
	open := raw(" open")
	if n > lines || len(s) > lines*120 {
		open = ""
	}
	p.write(`<details`, open, `><summary>`, text(name), ` <span class="size">`, text(humanize.Count(n, "line")),
		`</span></summary><pre>`, text(s), "</pre></details>\n")
}

func (p page) diff(d string) {
	p.write(`<pre class="diff">`)
	for line := range strings.Lines(d) {
		class := raw("same")
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "),
			strings.HasPrefix(line, "Index:"), strings.HasPrefix(line, "==="):
			class = "file"
		case strings.HasPrefix(line, "@@"):
			class = "place"
		case strings.HasPrefix(line, "+"):
			class = "added"
		case strings.HasPrefix(line, "-"):
			class = "removed"
		}
		p.write(`<span class="`, class, `">`, text(strings.TrimSuffix(line, "\n")), "\n</span>")
	}
	p.write("</pre>\n")
}

// media shows a picture of a type that can't contain scripts.
func (p page) media(m tool.Media) {
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, m.MIMEType) {
		p.write(`<img alt="`, text(m.MIMEType), `" src="data:`, raw(m.MIMEType), `;base64,`,
			raw(base64.StdEncoding.EncodeToString(m.Data)), "\">\n")
		return
	}
	p.write(`<p class="note">`, text(fmt.Sprintf("%s, %s bytes", m.MIMEType, humanize.Number(len(m.Data)))), "</p>\n")
}
