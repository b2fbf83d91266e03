package sandbox

import (
	"cmp"
	"fmt"
	"strings"
)

// The versions of Landlock's ABI that can block something.
const (
	truncateABI = 3
	tcpABI      = 4
	ioctlABI    = 5
	scopeABI    = 6
)

// Support is which layers work on this system, and why others don't.
type Support struct {
	LandlockABI   int  // version of its ABI; 0: it doesn't work
	LandlockUnix  bool // it can block Unix sockets
	LandlockWhy   string
	Seccomp       bool
	Notify        bool
	SeccompWhy    string
	Sockets       bool // calls of a command, such as connect, can be made for it
	SocketsWhy    string
	Namespaces    bool
	NamespacesWhy string
	PIDs          bool // a PID namespace too
	PIDsWhy       string
	Host          bool   // root can make mounts without a user namespace; only checked for mode DenyRules
	Bubblewrap    string // path of bwrap; empty: none
	BubblewrapWhy string
	Seatbelt      bool
	Launcher      bool // bubblewrap can start the process that tries commands; only checked if namespaces don't work
	LauncherWhy   string
}

// Layers returns the set of layers that work.
func (s Support) Layers() Layers {
	var l Layers
	for layer, works := range map[Layers]bool{
		Landlock: s.LandlockABI > 0, Seccomp: s.Seccomp, Notify: s.Notify, Namespaces: s.Namespaces,
		Bubblewrap: s.Bubblewrap != "", Seatbelt: s.Seatbelt, PIDs: s.PIDs && s.Namespaces,
	} {
		if works {
			l |= layer
		}
	}
	return l
}

// without returns the support without some layers.
func (s Support) without(l Layers) Support {
	const off = "is turned off"
	if l.Has(Landlock) && s.LandlockABI > 0 {
		s.LandlockABI, s.LandlockUnix, s.LandlockWhy = 0, false, "Landlock "+off
	}
	if l.Has(Seccomp) && s.Seccomp {
		s.Seccomp, s.SeccompWhy = false, "seccomp "+off
	}
	s.Notify = s.Notify && s.Seccomp && !l.Has(Notify)
	if s.Sockets && !s.Notify {
		s.Sockets, s.SocketsWhy = false, "seccomp's listener "+off
	}
	if l.Has(Namespaces) && s.Namespaces {
		s.Namespaces, s.NamespacesWhy = false, "the use of namespaces "+off
	}
	s.Host = s.Host && l&(Namespaces|Landlock) == 0
	if l.Has(PIDs) && s.PIDs {
		s.PIDs, s.PIDsWhy = false, "a pid namespace "+off
	}
	if l.Has(Bubblewrap) && s.Bubblewrap != "" {
		s.Bubblewrap, s.BubblewrapWhy = "", "bubblewrap "+off
	}
	s.Seatbelt = s.Seatbelt && !l.Has(Seatbelt)
	if l.Has(Launcher) && s.Launcher {
		s.Launcher, s.LauncherWhy = false, "trials in namespaces of bubblewrap don't work"
	}
	return s
}

func (s Support) landlockWhy(wanted int) string {
	if s.LandlockABI == 0 {
		return s.LandlockWhy
	}
	return fmt.Sprintf("Landlock version %d found, version %d required", s.LandlockABI, wanted)
}

// why returns everything that doesn't work, in one line.
func (s Support) why(bubblewrap bool) string {
	var why []string
	all := []string{s.LandlockWhy, s.SeccompWhy, s.NamespacesWhy}
	if bubblewrap {
		all = append(all, s.BubblewrapWhy)
	}
	for _, w := range all {
		if w != "" && (len(why) == 0 || why[len(why)-1] != w) {
			why = append(why, w)
		}
	}
	return strings.Join(why, "; ")
}

// Lose returns the support without layers that seemed to work and turned out not to.
func (s Support) Lose(l Layers, why string) Support {
	had, left := s, s.without(l)
	for _, layer := range []struct {
		lost bool
		why  *string
	}{
		{had.LandlockABI > 0 && left.LandlockABI == 0, &left.LandlockWhy},
		{had.Seccomp && !left.Seccomp, &left.SeccompWhy},
		{had.Namespaces && !left.Namespaces, &left.NamespacesWhy}, {had.PIDs && !left.PIDs, &left.PIDsWhy},
	} {
		if layer.lost {
			*layer.why = why
		}
	}
	return left
}

// Lines describes this Support, with or without bubblewrap selected. It tries bubblewrap.
func (s Support) Lines(bubblewrap bool) []string {
	s = s.tried()
	if s.Seatbelt {
		return []string{"seatbelt: available; " + untried}
	}
	line := func(name string, works bool, how, why string) string {
		if works {
			return name + ": " + how
		}
		return name + ": no, " + why
	}
	notify := "works"
	if !s.Notify {
		notify = "works; denied operations are inferred from the output"
	}
	lines := []string{
		line("landlock", s.LandlockABI > 0, fmt.Sprintf("works, version %d%s", s.LandlockABI, s.landlockLacks()),
			s.LandlockWhy),
		line("seccomp", s.Seccomp, notify, s.SeccompWhy),
		line("namespaces", s.Namespaces, "work: user, mount, IPC, network"+s.pids(), s.NamespacesWhy),
		line("bubblewrap", s.Bubblewrap != "", "works, "+s.Bubblewrap, s.BubblewrapWhy),
	}
	reads, _ := s.Reads(bubblewrap)
	sockets, _ := s.UnixSockets(bubblewrap)
	lines = append(lines, reads, sockets)
	for _, m := range []Mode{ReadOnly, Workspace, WorkspaceNetwork} {
		lines = append(lines, s.mode(m, bubblewrap))
	}
	return lines
}

// Reads describes in a line whether reads of commands without approval are enforced.
func (s Support) Reads(bubblewrap bool) (line string, enforced bool) {
	spec := Spec{Mode: ReadOnly, Limits: &Limits{}, Bubblewrap: bubblewrap}
	if _, err := spec.planWith(s); err != nil {
		return "reads of commands that aren't approved or tried are judged, not enforced: searches near secrets ask",
			false
	}
	return "reads of commands without approval are enforced", true
}

// UnixSockets describes in a line which Unix sockets commands in workspace mode can reach.
func (s Support) UnixSockets(bubblewrap bool) (line string, private bool) {
	spec := Spec{Mode: Workspace, BestEffort: true, Bubblewrap: bubblewrap}
	p, err := spec.planWith(s)
	switch {
	case err == nil && p.PrivateSockets:
		return "workspace mode: commands reach Unix sockets and servers of their session", true
	case err == nil && p.UnixSockets:
		return "workspace mode: commands reach Unix sockets of other programs", false
	}
	why := cmp.Or(s.NamespacesWhy, s.SocketsWhy, s.why(bubblewrap), s.PIDsWhy)
	return "workspace mode: commands have no Unix sockets, " + why, false
}

func (s Support) landlockLacks() string {
	var lacks []string
	for _, c := range []struct {
		abi  int
		what string
	}{{2, "moves between directories"}, {truncateABI, "truncating"}, {ioctlABI, "device ioctls"},
		{scopeABI, "signals and abstract sockets"}} {
		if s.LandlockABI < c.abi {
			lacks = append(lacks, c.what)
		}
	}
	if lacks == nil {
		return ""
	}
	return ", without " + strings.Join(lacks, ", ")
}

func (s Support) pids() string {
	if s.PIDs {
		return ", pid"
	}
	return "; no pid namespace: " + s.PIDsWhy
}

func (s Support) mode(m Mode, bubblewrap bool) string {
	spec := Spec{Mode: m, Protect: []string{"/"}, BestEffort: true, Bubblewrap: bubblewrap}
	p, err := spec.planWith(s)
	if err != nil {
		return fmt.Sprintf("%s: %v", m, err)
	}
	if len(p.Notes) == 0 {
		return fmt.Sprintf("%s: enforced by %v", m, p.Layers)
	}
	return fmt.Sprintf("%s: %v; %s", m, p.Layers, strings.Join(p.Notes, " "))
}
