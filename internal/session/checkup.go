package session

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adze-dev/adze/internal/proc/sandbox"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/tool"
)

// Checkup prints the report of adze doctor and /doctor: sections of lines, each with a mark.
type Checkup struct {
	w        io.Writer
	problems int
}

// NewCheckup starts a report.
func NewCheckup(w io.Writer) *Checkup { return &Checkup{w: w} }

func (c *Checkup) section(title string) { fmt.Fprintln(c.w, title) }

// ok prints something that works.
func (c *Checkup) ok(text string) { c.line("✓", text) }

// plain prints something that is neither good nor bad.
func (c *Checkup) plain(text string) { c.line(" ", text) }

// warn prints something that works in part, or is ignored.
func (c *Checkup) warn(text string) {
	c.problems++
	c.line("!", text)
}

// bad prints something that doesn't work.
func (c *Checkup) bad(text string) {
	c.problems++
	c.line("✗", text)
}

func (c *Checkup) line(mark, text string) {
	first, rest, _ := strings.Cut(tool.Visible(strings.TrimRight(text, "\n")), "\n")
	fmt.Fprintf(c.w, "  %s %s\n", mark, first)
	if rest != "" {
		fmt.Fprintf(c.w, "    %s\n", strings.ReplaceAll(rest, "\n", "\n    "))
	}
}

// End prints how many problems there are.
func (c *Checkup) End() {
	switch c.problems {
	case 0:
		fmt.Fprintln(c.w, "\nNo problems found.")
	default:
		fmt.Fprintf(c.w, "\n%s found.\n", counted(c.problems, "problem"))
	}
}

// sandbox reports what the sandbox can be made of on this system, and how well each mode is enforced.
func (c *Checkup) sandbox(s sandbox.Support, bubblewrap bool) {
	c.section("sandbox")
	lines := s.Lines(bubblewrap)
	modes := []sandbox.Mode{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceNetwork}
	if s.Seatbelt || len(lines) <= len(modes) {
		for _, line := range lines {
			c.plain(line)
		}
		return
	}
	c.layer(s.LandlockABI > 0, fmt.Sprintf("Landlock (ABI %d)", s.LandlockABI), "Landlock: "+s.LandlockWhy)
	c.layer(s.Seccomp, "seccomp", "seccomp: "+s.SeccompWhy)
	c.layer(s.Namespaces, "namespaces: user, mount, IPC, network", "namespaces: "+s.NamespacesWhy)
	if s.Namespaces {
		c.layer(s.PIDs, "PID namespace", "PID namespace: "+s.PIDsWhy)
	}
	switch {
	case s.Bubblewrap != "":
		c.plain("bubblewrap: " + s.Bubblewrap)
	case bubblewrap:
		c.bad("bubblewrap: " + s.BubblewrapWhy)
	default:
		c.plain("bubblewrap (optional): " + s.BubblewrapWhy)
	}
	if reads, enforced := s.Reads(bubblewrap); enforced {
		c.ok(reads)
	} else {
		c.warn(reads)
	}
	if sockets, private := s.UnixSockets(bubblewrap); private {
		c.ok(sockets)
	} else {
		c.plain(sockets)
	}
	weak := lines[len(lines)-len(modes):] // what the modes lack, in the same order
	for i, m := range modes {
		spec := sandbox.Spec{Mode: m, Protect: []string{"/"}, BestEffort: true, Bubblewrap: bubblewrap, Without: ^s.Layers()}
		switch p, err := spec.Plan(); {
		case err != nil || p.Layers == 0:
			c.bad(weak[i])
		case len(p.Notes) > 0:
			c.warn(weak[i])
		default:
			c.ok(fmt.Sprintf("%s mode: %s", m, strings.Join(layerNames(p.Layers), ", ")))
		}
	}
}

func (c *Checkup) layer(works bool, name, why string) {
	if works {
		c.ok(name)
	} else {
		c.bad(why)
	}
}

// layerNames are the names of the layers as their makers write them.
func layerNames(l sandbox.Layers) []string {
	var names []string
	for _, layer := range []struct {
		layer sandbox.Layers
		name  string
	}{
		{sandbox.Landlock, "Landlock"}, {sandbox.Seccomp, "seccomp"}, {sandbox.Namespaces, "namespaces"}, {sandbox.PIDs, "PID namespace"},
		{sandbox.Bubblewrap, "bubblewrap"}, {sandbox.Seatbelt, "Seatbelt"},
	} {
		if l.Has(layer.layer) {
			names = append(names, layer.name)
		}
	}
	return names
}

// sandboxSettings reports the user's sandbox settings.
func (c *Checkup) sandboxSettings(f Folder, t settings.Tools) {
	c.plain("tools.sandbox: " + t.Sandbox + ", tools.sandboxBackend: " + t.SandboxBackend)
	for _, path := range f.SandboxWrite(t) {
		if _, err := os.Stat(path); err != nil {
			c.warn("tools.sandboxWrite: " + path + " does not exist")
			continue
		}
		c.plain("workspace mode also allows writes to " + path)
	}
	if t.SandboxUnixSockets {
		c.plain("tools.sandboxUnixSockets: commands can connect to Unix sockets of other programs")
	}
}
