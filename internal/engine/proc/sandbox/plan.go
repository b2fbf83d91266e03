package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Plan is the layers that a sandbox has here, and what it lacks.
type Plan struct {
	Layers Layers
	// Loopback means that the command has its own network, with only loopback.
	Loopback bool
	// UnixSockets means that Unix sockets can be reached: all of them, or those below writable paths if Landlock
	// enforces it.
	UnixSockets bool
	// PrivateSockets means that commands create sockets and reach those of their session, and no others.
	PrivateSockets bool
	// Protects means that protected paths are read-only.
	Protects bool
	// LandlockABI is the version of Landlock's ABI, and LandlockUnix means that it enforces Unix sockets.
	LandlockABI  int
	LandlockUnix bool
	// Limits means that Spec.Limits is enforced.
	Limits bool
	// Trial means that writes go to overlays.
	Trial bool
	// Observes means that refused writes are reported.
	Observes bool
	// Launched means that bubblewrap starts the process that makes the sandbox, because that process may not create a
	// user namespace itself.
	Launched bool
	// Mounts means that there is a mount namespace and, unless Host is set, a user namespace, but no others.
	Mounts bool
	// Host means that the mounts are made without a user namespace, so that root keeps its abilities.
	Host bool
	// Notes describes in complete sentences what the sandbox doesn't block.
	Notes []string
}

// ErrUnenforceable is wrapped by Plan's error: this kernel can't enforce the mode.
var ErrUnenforceable = errors.New("this system has no way to enforce it")

// Plan plans how to make the sandbox here. The error means that writes or the network couldn't be blocked; with
// BestEffort that is a note.
func (s *Spec) Plan() (Plan, error) {
	has := Probe()
	switch {
	case s.Mode == Trial && !has.without(s.Without).Layers().Has(Namespaces|PIDs):
		has = has.launches()
	case s.Mode == DenyRules:
		has = has.hosts()
	case s.Boxed() && s.Bubblewrap:
		has = has.tried()
	}
	return s.planWith(has)
}

func (s *Spec) planWith(has Support) (Plan, error) {
	if !s.Boxed() {
		return Plan{}, nil
	}
	if _, err := ParseMode(string(s.Mode)); err != nil && s.Mode != Trial && s.Mode != DenyRules {
		return Plan{}, err
	}
	if s.Limits == nil && s.hides() {
		return Plan{}, fmt.Errorf("create a %s sandbox: files can only be hidden if reads are limited", s.Mode)
	}
	if s.Mode == DenyRules {
		return s.planDenying(has.without(s.Without))
	}
	if s.Mode == Trial {
		return s.planTrial(has.without(s.Without))
	}
	if s.Observe {
		return s.planObserving(has.without(s.Without))
	}
	if s.Mode != ReadOnly && slices.Contains(s.Roots, "/") {
		return Plan{}, fmt.Errorf("create a %s sandbox: the workspace is /, so everything would be writable. Start "+
			"Adze in a project directory, or choose another mode", s.Mode)
	}
	has = has.without(s.Without)
	var p Plan
	switch {
	case s.Bubblewrap && has.Bubblewrap != "":
		p = s.planBubblewrap(has)
	case has.Seatbelt:
		p = Plan{Layers: Seatbelt, UnixSockets: s.UnixSockets, Protects: true, Notes: []string{untried}}
	default:
		p = s.planLayers(has)
	}
	if s.Limits != nil && !p.Limits {
		return p, fmt.Errorf("create a %s sandbox: reads can't be limited: %w (%s)", s.Mode, ErrUnenforceable,
			has.why(s.Bubblewrap))
	}
	if s.Bubblewrap && has.Bubblewrap == "" {
		p.Notes = append([]string{"Bubblewrap can't be used: " + has.BubblewrapWhy +
			". Using the built-in sandbox instead."}, p.Notes...)
	}
	if lacking := s.lacking(p); lacking != "" {
		if !s.BestEffort {
			return p, fmt.Errorf("create a %s sandbox: %s: %w (%s). Choose another mode, or off", s.Mode, lacking,
				ErrUnenforceable, has.why(s.Bubblewrap))
		}
		if p.Layers&^Notify == 0 {
			p.Layers = 0
			p.Notes = []string{fmt.Sprintf("No sandbox is available: %s (%s).", lacking, has.why(s.Bubblewrap))}
			return p, nil
		}
		p.Notes = append([]string{fmt.Sprintf("The %s sandbox is incomplete on this system: %s (%s).", s.Mode, lacking,
			has.why(s.Bubblewrap))}, p.Notes...)
	}
	return p, nil
}

const untried = "The sandbox uses seatbelt, which is untested."

func (s *Spec) planBubblewrap(has Support) Plan {
	p := Plan{Layers: Bubblewrap | has.Layers()&(Seccomp|Landlock), Protects: true, Loopback: s.Mode == Workspace}
	if p.Layers.Has(Landlock) { // inside bubblewrap
		p.LandlockABI, p.LandlockUnix = has.LandlockABI, has.LandlockUnix && !s.UnixSockets
	}
	if p.Loopback && !s.UnixSockets && has.Sockets && has.Notify && p.Layers.Has(Seccomp|Landlock) {
		p.PrivateSockets, p.Layers = true, p.Layers|Notify
	}
	p.UnixSockets = s.UnixSockets || !p.Layers.Has(Seccomp) || s.Mode != ReadOnly && p.LandlockUnix && !p.PrivateSockets
	p.Limits = s.Limits != nil && s.Mode == ReadOnly && p.Layers.Has(Landlock|Seccomp)
	if !p.Layers.Has(Landlock) {
		p.Notes = append(p.Notes, specialFiles(has))
	}
	if s.Mode != ReadOnly && len(s.Protect) > 0 {
		p.Notes = append(p.Notes, "Bubblewrap can't pin links: a link to a protected path can be replaced.")
	}
	return p
}

// specialFiles returns the note on what a read-only mount doesn't block.
func specialFiles(has Support) string {
	return "Named pipes outside the workspace can be written to: " + has.LandlockWhy + "."
}

// WithoutHelper returns the plan for a program that can't start itself again, and so not inside bubblewrap. ok is false
// if nothing else can make the sandbox.
func (p Plan) WithoutHelper() (plan Plan, ok bool) {
	if p.InProcess() || p.Limits {
		return p, false
	}
	if p.Layers.Has(Bubblewrap | Landlock) {
		p.Layers &^= Landlock
		p.UnixSockets = p.UnixSockets && !p.LandlockUnix
		p.PrivateSockets = false
		p.LandlockABI, p.LandlockUnix = 0, false
		p.Notes = append(p.Notes, specialFiles(
			Support{LandlockWhy: "Landlock requires that the program calls adze.Main first"}))
	}
	return p, true
}

// planTrial returns the plan of a trial. It requires all layers: without one, changes elsewhere would last. The
// namespaces may be bubblewrap's.
func (s *Spec) planTrial(has Support) (Plan, error) {
	launched := has.Launcher && !has.Layers().Has(Namespaces|PIDs)
	if launched {
		has.Namespaces, has.PIDs = true, true
	}
	p := s.planLayers(has)
	p.Launched = launched
	if !p.Layers.Has(Namespaces|PIDs|Landlock|Seccomp) || s.Trial == nil {
		why := has.why(false)
		if why == "" {
			why = has.PIDsWhy
		}
		if has.LauncherWhy != "" {
			why += "; " + has.LauncherWhy
		}
		return p, fmt.Errorf("create a %s sandbox: %w (%s)", s.Mode, ErrUnenforceable, why)
	}
	return p, nil
}

// planObserving returns the plan of a sandbox that reports refused writes. It requires Landlock's rules for signals:
// there is no PID namespace.
func (s *Spec) planObserving(has Support) (Plan, error) {
	why := ""
	switch {
	case s.Mode != ReadOnly:
		why = "only a read-only sandbox reports denied writes"
	case has.LandlockABI < scopeABI:
		why = has.landlockWhy(scopeABI)
	case !has.Seccomp:
		why = has.SeccompWhy
	case !has.Notify:
		why = "seccomp's listener doesn't work"
	default:
		p := s.planLayers(has.without(Namespaces | PIDs))
		p.Observes, p.Limits = true, s.Limits != nil
		return p, nil
	}
	return Plan{}, fmt.Errorf("observe denied writes: %w (%s)", ErrUnenforceable, why)
}

const onlyText = "Deny rules on paths only apply to paths in the text of commands: "

// planDenying returns the plan of a sandbox that only enforces deny rules. Without it their text still applies, so a
// note is enough with BestEffort.
func (s *Spec) planDenying(has Support) (Plan, error) {
	p := Plan{Layers: Namespaces | Seccomp, Protects: true, UnixSockets: true, Mounts: true}
	switch {
	case has.Seccomp && has.Host:
		p.Host, p.Layers, p.LandlockABI = true, p.Layers|Landlock, has.LandlockABI
		return p, nil
	case has.Seccomp && has.Namespaces:
		return p, nil
	}
	why := has.NamespacesWhy
	if why == "" {
		why = has.SeccompWhy
	}
	if !s.BestEffort {
		return Plan{}, fmt.Errorf("enforce deny rules on paths: %w (%s)", ErrUnenforceable, why)
	}
	return Plan{Notes: []string{onlyText + why + "."}}, nil
}

// Needs returns the layers of the system that the plan depends on.
func (p Plan) Needs() Layers {
	if p.Launched {
		return p.Layers&^(Namespaces|PIDs) | Launcher
	}
	return p.Layers
}

// planLayers selects all built-in layers that work. Without namespaces a command can access other processes, terminals
// and shared memory.
func (s *Spec) planLayers(has Support) Plan {
	have := has.Layers() &^ Bubblewrap
	p := Plan{
		Layers: have, Protects: s.Mode == ReadOnly || have.Has(Namespaces), Loopback: have.Has(Namespaces) &&
			(s.Mode == Workspace || s.Mode == Trial), Trial: s.Mode == Trial,
	}
	p.Limits = s.Limits != nil && (s.Mode == ReadOnly || s.Mode == Trial) && have.Has(Landlock|Seccomp|Namespaces)
	if have.Has(Landlock) {
		p.LandlockABI, p.LandlockUnix = has.LandlockABI, has.LandlockUnix && !s.UnixSockets
	}
	p.PrivateSockets = p.Loopback && !s.UnixSockets && has.Sockets && have.Has(Seccomp|Notify|PIDs)
	p.UnixSockets = s.UnixSockets || !have.Has(Seccomp) || s.Mode != ReadOnly && p.LandlockUnix && !p.PrivateSockets
	note := func(when bool, text string) {
		if when {
			p.Notes = append(p.Notes, text)
		}
	}
	note(!p.Protects && len(s.Protect) > 0, "Protected paths are not enforced: "+has.NamespacesWhy+".")
	note(!have.Has(Namespaces) && len(Covered(s.Covers, Unwritable, Unreadable)) > 0, onlyText+has.NamespacesWhy+".")
	note(!p.Protects, "Modes, owners and times of files outside the workspace can be changed: "+has.NamespacesWhy+".")
	note((!have.Has(Landlock) || has.LandlockABI < scopeABI) && !have.Has(PIDs),
		"Signals to processes outside are not blocked: "+has.landlockWhy(scopeABI)+".")
	note(have.Has(Landlock) && !have.Has(Namespaces) && has.LandlockABI < truncateABI,
		"Existing files can be truncated: "+has.landlockWhy(truncateABI)+".")
	note(!have.Has(Landlock) && have.Has(Namespaces), specialFiles(has))
	note(p.UnixSockets && !s.UnixSockets && !have.Has(Seccomp), "Unix sockets can be reached: "+has.SeccompWhy+".")
	return p
}

// InProcess reports whether the process that starts the command makes the sandbox, on Linux, and not a wrapper program.
func (p Plan) InProcess() bool {
	return p.Layers&(Landlock|Seccomp|Namespaces) != 0 && !p.Layers.Has(Bubblewrap)
}

// lacking returns which essential part of the mode the plan can't enforce.
func (s *Spec) lacking(p Plan) string {
	if p.Layers&(Bubblewrap|Seatbelt) != 0 {
		return ""
	}
	writes := p.Layers&(Landlock|Namespaces) != 0
	network := s.network() || p.Layers.Has(Seccomp) || p.Loopback
	switch {
	case !writes && !network:
		return "neither writes nor network access can be restricted"
	case !writes:
		return "writes can't be restricted"
	case !network:
		return "network access can't be restricted"
	}
	return ""
}

// seatbeltProfile returns the sandbox as a profile for macOS's sandbox-exec, in which the last matching rule counts.
func (s *Spec) seatbeltProfile(temp string) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	write := append([]string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"}, s.writable()...)
	if temp != "" {
		write = append(write, temp)
	}
	for _, w := range write {
		// Seatbelt compares resolved paths: /tmp is /private/tmp.
		if real, err := filepath.EvalSymlinks(w); err == nil {
			w = real
		}
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", seatbeltString(w))
	}
	for _, p := range s.Protect {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", seatbeltString(p))
		// Nor may the directory above be moved away with it.
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", seatbeltString(filepath.Dir(p)))
	}
	b.WriteString("(deny file-write-setugid)\n")
	if !s.network() {
		b.WriteString("(deny network*)\n")
		if s.Mode == Workspace {
			b.WriteString("(allow network* (local ip \"localhost:*\"))\n(allow network* (remote ip \"localhost:*\"))\n")
		}
	}
	if s.UnixSockets {
		b.WriteString("(allow network* (remote unix-socket))\n")
	}
	b.WriteString("(deny process-info* (target others))\n(deny signal (target others))\n(allow signal (target " +
		"same-sandbox))\n(deny mach-priv*)\n(deny system-privilege)\n")
	return b.String()
}

func seatbeltString(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// seatbeltArgs returns the command line up to the command.
func (s *Spec) seatbeltArgs(temp string) []string {
	return []string{"/usr/bin/sandbox-exec", "-p", s.seatbeltProfile(temp)}
}
