package shell

import (
	"slices"
	"strings"
)

const xargsFlags = "-0rt -n: -L: -d: -I: -P: --null --no-run-if-empty --verbose --max-args: --delimiter: --max-procs:"

// printers print their words, whatever those are; as programs of their own they know no flag that does more. xargs
// without a command runs echo.
var printers = []string{"echo", "printf", "basename", "dirname"}

// proveXargs judges xargs: harmless where it only prints what it reads.
func (c *Command) proveXargs() Proof {
	a, why := parseArgs(c, c.Words[1:], flagSets()["xargs"], specs["xargs"])
	switch {
	case why != "":
		return Proof{Why: why}
	case len(a.operands) > 0 && c.fed != nil && fits(a, c.fed):
	case len(a.operands) > 0 && !(a.operands[0].Kind == Literal && slices.Contains(printers, a.operands[0].Text)):
		return Proof{Why: a.operands[0].Text + " gets its arguments from xargs at run time"}
	}
	for _, f := range a.flags { // -Iecho echo runs what it reads
		if f.name == "-I" && len(a.operands) > 0 && (f.value.Text == "" || strings.Contains(a.operands[0].Text, f.value.Text)) {
			return Proof{Why: "xargs chooses the command at run time"}
		}
	}
	return c.proved(nil)
}

// printsForXargs reports whether c is what such an xargs runs; xargs itself is judged too.
func (c *Command) printsForXargs() bool {
	return c.AddsArgs && c.By != nil && c.By.By == nil && systemName(c.By.Name()) == "xargs" && slices.Contains(printers, c.Name())
}

// replaced is the text in the words of xargs that it puts what it reads in the place of; "" if there is none.
func (c *Command) replaced() string {
	for i, w := range c.Words {
		switch {
		case (w.Text == "-I" || w.Text == "-J") && i+1 < len(c.Words):
			return c.Words[i+1].Text
		case w.Text == "-i" || w.Text == "--replace":
			return "{}"
		case strings.HasPrefix(w.Text, "--replace="):
			return strings.TrimPrefix(w.Text, "--replace=")
		case strings.HasPrefix(w.Text, "-I"), strings.HasPrefix(w.Text, "-J"), strings.HasPrefix(w.Text, "-i"):
			return w.Text[2:]
		}
	}
	return ""
}

// marked reports whether what runs c puts a text that is not known into a word.
func (c *Command) marked(w Word) bool {
	return c.mark != "" && w.Kind == Literal && strings.Contains(w.Text, c.mark)
}

// fits reports whether xargs parts its input as the names are parted that it is given.
func fits(a *args, l *listing) bool {
	for _, f := range a.flags {
		if (f.name == "-d" || f.name == "--delimiter") && f.value.Text != `\n` && f.value.Text != "\n" {
			return false
		}
	}
	return a.has("-0", "--null") == l.null && !(l.null && a.has("-d", "--delimiter"))
}

// fedByXargs reports whether c is run by an xargs that is given names of files.
func (c *Command) fedByXargs() bool {
	return c.AddsArgs && !c.MayRun && c.By != nil && c.By.By == nil && c.By.fed != nil && systemName(c.By.Name()) == "xargs"
}

// proveFed judges what such an xargs runs: with names behind its words, or in the place of what -I says; and without
// any, for it runs once where there are none.
func (c *Command) proveFed() Proof {
	a, why := parseArgs(c.By, c.By.Words[1:], flagSets()["xargs"], specs["xargs"])
	if why != "" || !slices.Equal(c.By.fed.dirs, c.Dirs) {
		return Proof{Why: c.Name() + " gets its arguments from xargs at run time"}
	}
	mark, several := "", true
	for _, f := range a.flags {
		if f.name == "-I" {
			mark, several = f.value.Text, false
		}
	}
	if mark != "" {
		return c.proveOn(c.Words, mark, several, c.By.fed.below)
	}
	alone := c.proveOn(c.Words, "", false, nil)
	if alone.Why != "" {
		return alone
	}
	mark = "{}"
	for slices.ContainsFunc(c.Words, func(w Word) bool { return strings.Contains(w.Text, mark) }) {
		mark += "}"
	}
	p := c.proveOn(append(slices.Clip(c.Words), Word{mark, Literal}), mark, several, c.By.fed.below)
	p.Touches = append(p.Touches, alone.Touches...)
	return p
}
