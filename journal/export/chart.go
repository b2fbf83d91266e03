package export

import (
	"fmt"
	"slices"
	"sort"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// share is a part of a bar.
type share struct {
	name  string
	value int64
	label string
	class raw
}

// chart shows where time and tokens went: bars for time by model and tool, and columns of tokens for each turn.
func (p page) chart(t *transcript) {
	if len(t.turns) == 0 {
		return
	}
	p.write("<section class=\"charts\">\n")
	p.bars("Time", t.times())
	p.columns(t.turns)
	p.write("</section>\n")
}

const maxBars = 8

// times returns the model and the tools that took longest.
func (t *transcript) times() []share {
	all := []share{{"model", t.modelMS, fmt.Sprintf("%s, %s", duration(t.modelMS),
		humanize.Count(len(t.turns), "turn")), "model"}}
	tools := slices.Clone(t.tools)
	sort.SliceStable(tools, func(i, j int) bool { return tools[i].ms > tools[j].ms })
	var rest toolTime
	for _, s := range tools {
		if len(all) < maxBars {
			all = append(all, share{s.name, s.ms,
				fmt.Sprintf("%s, %s", duration(s.ms), humanize.Count(s.calls, "call")), "tool"})
			continue
		}
		rest.calls += s.calls
		rest.ms += s.ms
	}
	if rest.calls > 0 {
		all = append(all, share{"other tools", rest.ms,
			fmt.Sprintf("%s, %s", duration(rest.ms), humanize.Count(rest.calls, "call")), "tool"})
	}
	return all
}

func (p page) bars(title string, all []share) {
	longest := int64(1)
	for _, s := range all {
		longest = max(longest, s.value)
	}
	p.write("<figure>\n<figcaption>", text(title), "</figcaption>\n<table class=\"bars\">\n")
	for _, s := range all {
		p.write(`<tr><th scope="row">`, text(s.name), `</th><td><span class="bar `, s.class, `" style="width:`,
			raw(fmt.Sprintf("%.1f", 60*float64(s.value)/float64(longest))), `%"></span> `, text(s.label),
			"</td></tr>\n")
	}
	p.write("</table>\n</figure>\n")
}

const (
	chartWidth  = 720.0
	chartHeight = 140.0
	maxColumns  = 180
)

// column is the tokens of one turn, or of several if there are many.
type column struct {
	first, last           int
	cached, input, output int64
}

func columnsOf(turns []turn) []column {
	per := (len(turns) + maxColumns - 1) / maxColumns
	var all []column
	for i, n := range turns {
		if i%per == 0 {
			all = append(all, column{first: i + 1})
		}
		c := &all[len(all)-1]
		c.last = i + 1
		c.cached += int64(n.usage.CacheRead)
		c.input += int64(max(0, n.usage.Input-n.usage.CacheRead))
		c.output += int64(n.usage.Output)
	}
	return all
}

// columns shows the tokens of each turn.
func (p page) columns(turns []turn) {
	all := columnsOf(turns)
	limit := int64(0)
	for _, c := range all {
		limit = max(limit, c.cached+c.input+c.output)
	}
	if limit == 0 {
		return
	}
	step := chartWidth / float64(max(len(all), 12))
	p.write("<figure>\n<figcaption>Tokens per turn <span class=\"legend\"><i class=\"cached\"></i>cached input <i "+
		"class=\"input\"></i>input <i class=\"output\"></i>output</span></figcaption>\n",
		raw(fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="Tokens per turn">`, chartWidth,
			chartHeight+18)), "\n")
	p.write(raw(fmt.Sprintf(`<line class="axis" x1="0" y1="%g" x2="%g" y2="%g"/>`, chartHeight, chartWidth,
		chartHeight)))
	p.write(raw(fmt.Sprintf(`<text class="scale" x="%g" y="10" text-anchor="end">`, chartWidth)),
		text(humanize.Number(limit)), "</text>\n")
	for i, c := range all {
		name := fmt.Sprintf("Turn %d", c.first)
		if c.last > c.first {
			name = fmt.Sprintf("Turns %d-%d", c.first, c.last)
		}
		p.write("<g><title>", text(fmt.Sprintf("%s: %s cached input, %s input, %s output", name,
			humanize.Number(c.cached), humanize.Number(c.input), humanize.Number(c.output))), "</title>")
		y := chartHeight
		for _, s := range []share{{value: c.cached, class: "cached"}, {value: c.input, class: "input"},
			{value: c.output, class: "output"}} {
			h := (chartHeight - 14) * float64(s.value) / float64(limit)
			y -= h
			p.write(raw(fmt.Sprintf(`<rect class="%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, s.class,
				float64(i)*step, y, step*0.8, h)))
		}
		p.write("</g>\n")
	}
	p.write(raw(fmt.Sprintf(`<text class="scale" x="0" y="%g">`, chartHeight+14)), `1</text>`)
	if len(all) > 1 {
		p.write(raw(fmt.Sprintf(`<text class="scale" x="%.1f" y="%g" text-anchor="end">`, float64(len(all))*step,
			chartHeight+14)), len(turns), `</text>`)
	}
	p.write("\n</svg>\n</figure>\n")
}
