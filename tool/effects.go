package tool

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Effects is the permission prompt of a call that was tried: what it did, and what keeping its effects would change.
//
// An approval keeps all effects, or the paths in Decision.Answer: {"keep": ["src/a.go", "dist/"]}. With Decision.Direct
// nothing is kept and the call runs instead.
type Effects struct {
	Command  Command       // what ran
	Ending   string        // "exit 0", "timed out after 120 s"
	Took     time.Duration //
	Output   string        // the end of its output
	Network  []string      // names and addresses that it tried to reach: "192.0.2.1:443"
	Hosts    []Host        // that it connected to
	Changes  []Effect      // ordered by path; empty: nothing can be kept, and an approval runs the call
	Temp     []string      // paths outside the workspace that it wrote, which are never kept
	Warnings []string      // what the user should know before approving
	// the trial denied it more than the network: a secret file, more time or memory, a system call
	Blocked bool
}

// CanRunAgain reports whether the call could end differently if it ran instead of keeping its effects: the trial denied
// it something.
func (f Effects) CanRunAgain() bool { return len(f.Changes) > 0 && (f.Blocked || len(f.Network) > 0) }

// Effect is a path that a tried call changed.
type Effect struct {
	Path    string     // relative to the workspace; a directory ends with a slash
	Abs     string     // absolute
	Kind    EffectKind //
	Files   int        // of a directory that is shown as one line; else 1
	Added   int        // lines,
	Removed int        // if they are counted
	Counted bool       //
	Ignored bool       // by git
	Diff    string     // unified; "" if the file isn't text or is too long
	Warning string     // why it needs the user: "has a setuid bit"
	Note    string     // what a change in a git directory means: "1 commit: Fix the flag"
	Inside  []Effect   // the first files of a new directory
	// Original and New are the texts that Diff compares, as in FileDiff; nil and "" if they are too long.
	Original *string
	New      string
	// Attributes describes what else changed, and what a new file is if not text: "mode 0644 → 0755", "link to ../a".
	Attributes string
}

// EffectKind is what happened to a path.
type EffectKind string

// The kinds of effects.
const (
	EffectNew     EffectKind = "new"
	EffectChanged EffectKind = "changed"
	EffectDeleted EffectKind = "deleted"
)

// Count returns how many files changed: "3 changed files".
func (f Effects) Count() string {
	n := 0
	for _, c := range f.Changes {
		n += max(1, c.Files)
	}
	if n == 0 {
		return "its changes"
	}
	return humanize.Count(n, "changed file")
}

// Discarded returns the changes that weren't kept: those without a change at or below their paths.
func (f Effects) Discarded(kept []Change) []Change {
	var out []Change
	for _, c := range f.Changes {
		at := filepath.Clean(c.Abs)
		if slices.ContainsFunc(kept, func(k Change) bool {
			path, from := humanize.UnquotePath(k.Path), humanize.UnquotePath(k.From)
			return path == at || strings.HasPrefix(path, at+string(filepath.Separator)) || from == at
		}) {
			continue
		}
		one := c.Change()
		one.Discarded = true
		out = append(out, one)
	}
	return out
}

// Change returns the effect as an entry of a list of changes, without lines.
func (e Effect) Change() Change {
	one := Change{Path: humanize.QuotePath(filepath.Clean(e.Abs)), Kind: Modified}
	if strings.HasSuffix(e.Path, "/") && e.Files > 0 {
		one.Path, one.Files = humanize.QuotePath(filepath.Clean(e.Abs)+"/"), e.Files
	}
	switch e.Kind {
	case EffectNew:
		one.Kind = Created
	case EffectDeleted:
		one.Kind = Deleted
	}
	return one
}

// maxListed is how many paths a line lists before it counts the rest.
const maxListed = 20

// Summary lists the changed paths for the model: "src/a.ts, src/b.ts, dist/ (412 new)".
func (f Effects) Summary() string {
	var names []string
	for _, c := range f.Changes {
		name := Visible(c.Path)
		switch {
		case strings.HasSuffix(c.Path, "/") && c.Files > 0:
			name += fmt.Sprintf(" (%d %s)", c.Files, c.Kind)
		case c.Kind != EffectChanged:
			name += " (" + string(c.Kind) + ")"
		}
		names = append(names, name)
	}
	return humanize.List(names, maxListed)
}

// Headline returns how the trial ended: "finished in 2.1 s, exit 0; nothing is kept yet". What was sent to a host can't
// be undone.
func (f Effects) Headline() string {
	kept := "; nothing is kept yet"
	if len(f.sent()) > 0 {
		kept = "; nothing on this machine is kept yet"
	}
	return "finished in " + humanize.Duration(f.Took) + ", " + oneLine(f.Ending) + kept
}

// sent describes what was sent to hosts: "1.2 KB to registry.example.com".
func (f Effects) sent() (out []string) {
	for _, h := range f.Hosts {
		if h.Sent > 0 {
			out = append(out, humanize.Bytes(h.Sent)+" to "+oneLine(h.Name))
		}
	}
	return out
}

// Row is a line of a prompt: a label and the object.
type Row struct {
	Label string // changed, new, deleted, sent, denied, missed, not kept
	Cells []string
}

// Rows returns the lines of a prompt about changes and denied connections.
func (f Effects) Rows() []Row {
	var out []Row
	for _, kind := range []EffectKind{EffectChanged, EffectNew, EffectDeleted} {
		row := Row{Label: string(kind)}
		more := 0
		for _, c := range f.Changes {
			switch {
			case c.Kind != kind:
			case len(row.Cells) < maxListed || c.Warning != "":
				row.Cells = append(row.Cells, c.Line())
			default:
				more += max(1, c.Files)
			}
		}
		if more > 0 {
			row.Cells = append(row.Cells, fmt.Sprintf("%d more", more))
		}
		if len(row.Cells) > 0 {
			out = append(out, row)
		}
	}
	if sent := f.sent(); len(sent) > 0 {
		out = append(out, Row{"sent", []string{humanize.List(sent, maxListed)}})
	}
	for _, text := range f.denied() {
		out = append(out, Row{"denied", []string{"network: " + text}})
	}
	for _, h := range f.Hosts {
		if h.Failure != "" {
			out = append(out, Row{"missed", []string{"network: " + oneLine(h.Name+": "+h.Failure)}})
		}
	}
	if len(f.Temp) > 0 {
		out = append(out, Row{"not kept", []string{oneLine(strings.Join(f.Temp, ", "))}})
	}
	return out
}

// denied describes the denied connections: "1 connection to 192.0.2.1:443", "2 lookups of a.dev, b.dev".
func (f Effects) denied() []string {
	var connections, lookups, out []string
	for _, n := range f.Network {
		switch _, err := netip.ParseAddrPort(n); {
		case err == nil:
			connections = append(connections, n)
		case strings.Contains(n, " "): // a sentence of the sandbox
			out = append(out, oneLine(n))
		default:
			lookups = append(lookups, oneLine(n))
		}
	}
	const limit = 5
	count := func(names []string, one, many string) {
		switch n, list := len(names), humanize.List(names, limit); n {
		case 0:
		case 1:
			out = append(out, one+list)
		default:
			out = append(out, fmt.Sprintf("%d %s%s", n, many, list))
		}
	}
	count(connections, "1 connection to ", "connections to ")
	count(lookups, "1 lookup of ", "lookups of ")
	return out
}

// Line returns a path and how much of it changed: "src/list.ts  +14 −3", "dist/  412 files, ignored by git".
func (c Effect) Line() string {
	s := oneLine(c.Path)
	switch {
	case c.Note != "":
		s += "  " + oneLine(c.Note) + " (" + humanize.Count(c.Files, "file") + ")"
	case strings.HasSuffix(c.Path, "/") && c.Files > 0:
		s += "  " + humanize.Count(c.Files, "file")
	case c.Counted:
		s += fmt.Sprintf("  +%d −%d", c.Added, c.Removed)
	}
	if c.Attributes != "" {
		s += ", " + oneLine(c.Attributes)
	}
	if c.Ignored {
		s += ", ignored by git"
	}
	return s
}

// AllWarnings returns the warnings, including those about single paths.
func (f Effects) AllWarnings() []string {
	out := append([]string(nil), f.Warnings...)
	for _, c := range f.Changes {
		if c.Warning != "" {
			out = append(out, oneLine(c.Path)+" "+c.Warning)
		}
	}
	return out
}

// Diff returns the diffs of all changes.
func (f Effects) Diff() string {
	var b strings.Builder
	for _, c := range f.Changes {
		b.WriteString(c.Diff)
	}
	return b.String()
}

// Markdown shows the command, what it did, and the diff.
func (f Effects) Markdown() string {
	var b strings.Builder
	b.WriteString(f.Command.Markdown() + "\n" + f.Headline())
	for _, r := range f.Rows() {
		for _, c := range r.Cells {
			fmt.Fprintf(&b, "\n- %s %s", r.Label, c)
		}
	}
	for _, w := range f.AllWarnings() {
		b.WriteString("\nWarning: " + oneLine(w))
	}
	if d := f.Diff(); d != "" {
		b.WriteString("\n" + Fence("diff", d))
	}
	return b.String()
}
