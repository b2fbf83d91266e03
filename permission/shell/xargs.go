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
	case len(a.operands) > 0 && !(a.operands[0].Sort == Literal && slices.Contains(printers, a.operands[0].Text)):
		return Proof{Why: "what xargs adds to " + a.operands[0].Text + " is not known"}
	}
	for _, f := range a.flags { // -Iecho echo runs what it reads
		if f.name == "-I" && len(a.operands) > 0 && (f.value.Text == "" || strings.Contains(a.operands[0].Text, f.value.Text)) {
			return Proof{Why: "what xargs runs is not known"}
		}
	}
	return c.proved(nil)
}

// printsForXargs reports whether c is what such an xargs runs; xargs itself is judged too.
func (c *Command) printsForXargs() bool {
	return c.Extra && c.By != nil && c.By.By == nil && systemName(c.By.Name()) == "xargs" && slices.Contains(printers, c.Name())
}
