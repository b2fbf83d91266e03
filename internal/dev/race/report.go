package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results are the rounds of one agent.
type results struct{ rounds []round }

func (r *results) add(one round) { r.rounds = append(r.rounds, one) }

// row is a row of the table: a number for each agent, less is better.
type row struct {
	name, unit string
	value      func(results) float64
	skip       func(agent) bool // agents that can't do it
}

func rows() []row {
	never := func(agent) bool { return false }
	noRead := func(a agent) bool { return a.noRead }
	return []row{
		{"start to first request", "ms", ofTime(func(r round) []time.Duration { return []time.Duration{r.start} }),
			never},
		{"first read", "ms", ofTime(func(r round) []time.Duration { return r.gaps[:1] }), noRead},
		{"next read", "ms", ofTime(func(r round) []time.Duration { return r.gaps[1:reads] }), noRead},
		{"edit in 1 MB", "ms", ofTime(func(r round) []time.Duration { return r.gaps[reads+1 : reads+2] }), never},
		{"first command", "ms", ofTime(func(r round) []time.Duration { return r.gaps[reads+2 : reads+3] }), never},
		{"next command", "ms", ofTime(func(r round) []time.Duration { return r.gaps[reads+3:] }), never},
		{"exit after the last answer", "ms", ofTime(func(r round) []time.Duration { return []time.Duration{r.exit} }),
			never},
		{"memory", "MB", func(rs results) float64 { return float64(peak(rs).memory) / 1e6 }, never},
		{"processes then", "", func(rs results) float64 { return float64(peak(rs).programs) }, never},
		{"sent", "KB", func(rs results) float64 { return float64(rs.rounds[0].sent) / 1e3 }, never},
		{"sent, not cached", "KB", func(rs results) float64 { return float64(rs.rounds[0].fresh) / 1e3 }, never},
	}
}

// ofTime returns the median of some times of all rounds that were timed, in milliseconds.
func ofTime(of func(round) []time.Duration) func(results) float64 {
	return func(rs results) float64 {
		var all []time.Duration
		for _, r := range rs.rounds {
			if r.memory == 0 {
				all = append(all, of(r)...)
			}
		}
		return milliseconds(median(all))
	}
}

func peak(rs results) round {
	return slices.MaxFunc(rs.rounds, func(a, b round) int { return int(a.memory - b.memory) })
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// report returns the table in Markdown, with what was measured and where.
func report(agents []agent, all []results, shell []time.Duration) string {
	var b strings.Builder
	var names, versions []string
	for _, a := range agents {
		names = append(names, a.name)
		versions = append(versions, a.name+" "+a.version)
	}
	fmt.Fprintf(&b, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(agents)))
	for _, r := range rows() {
		fmt.Fprintf(&b, "| %s |", r.title())
		for i, a := range agents {
			fmt.Fprintf(&b, " %s |", r.cell(a, all[i]))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nMedians of %d runs, each agent once in every round; `bash -c` alone takes %.1f ms. "+
		"Memory is the "+
		"largest sum of proportional sizes of all processes. %s, %d cores, %s. %s.\n", len(all[0].rounds)/2,
		milliseconds(median(shell)), processor(), runtime.NumCPU(), kernel(), time.Now().Format("2 January 2006"))
	fmt.Fprintf(&b, "Versions: %s. –: it has no such tool.\n", strings.Join(versions, ", "))
	return b.String()
}

func (r row) title() string {
	if r.unit == "" {
		return r.name
	}
	return r.name + ", " + r.unit
}

func (r row) cell(a agent, rs results) string {
	switch {
	case r.skip(a):
		return "–"
	case r.unit == "":
		return fmt.Sprintf("%.0f", r.value(rs))
	case r.value(rs) < 100:
		return fmt.Sprintf("%.1f", r.value(rs))
	}
	return fmt.Sprintf("%.0f", r.value(rs))
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // the table is of use without it
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// replace replaces the part of a page that has the table.
func replace(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const begin, end = "<!-- race -->\n", "<!-- /race -->"
	head, rest, ok := strings.Cut(string(text), begin)
	_, foot, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: no part between %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(head+begin+table+end+foot), 0o644)
}

// chart draws the rows as bars, each row relative to its largest number.
func chart(agents []agent, all []results) []byte {
	const width, left, bar, gap = 720, 170, 11, 26
	var b strings.Builder
	y := 20
	for _, r := range rows() {
		if r.unit == "" {
			continue
		}
		limit := 0.0
		for i, a := range agents {
			if !r.skip(a) {
				limit = max(limit, r.value(all[i]))
			}
		}
		fmt.Fprintf(&b, "<text x=\"0\" y=\"%d\" class=\"row\">%s</text>\n", y, r.title())
		for i, a := range agents {
			y += bar + 3
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" class=\"name\">%s</text>\n", left-8, y, a.name)
			if r.skip(a) {
				fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">–</text>\n", left, y)
				continue
			}
			long := max(1, int((width-left-60)*r.value(all[i])/limit))
			class := "bar"
			if i == 0 {
				class = "own"
			}
			fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n",
				left, y-bar+2, long, bar, class)
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", left+long+4, y, r.cell(a, all[i]))
		}
		y += gap
	}
	style := "text{font:11px system-ui,sans-serif;fill:#57606a}.row{font-weight:600}.name{text-anchor:end}" +
		".bar{fill:#9aa4af}.own{fill:#2f81f7}"
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\"><style>%s</style>\n"+
		"%s</svg>\n", width, y-gap+8, style, b.String())
}
