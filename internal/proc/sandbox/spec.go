package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Mode is how much a box lets through.
type Mode string

// The modes, the widest first.
const (
	Off              Mode = "off"               // no box
	WorkspaceNetwork Mode = "workspace+network" // as Workspace, and the network
	Workspace        Mode = "workspace"         // writes to the workspace, temp and caches; no network but its own loopback
	ReadOnly         Mode = "read-only"         // writes to a private temp folder and /dev/null; no network
	Trial            Mode = "trial"             // writes to overlays, which nobody else sees; no network but its own loopback
)

// Modes are all modes that a user can set, as for a usage text. Trial is for
// single commands: it needs directories, see Trials.
func Modes() []Mode { return []Mode{Off, ReadOnly, Workspace, WorkspaceNetwork} }

// ParseMode reads a mode's name. The empty name is Off.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return Off, nil
	}
	var known []string
	for _, m := range Modes() {
		if string(m) == name {
			return m, nil
		}
		known = append(known, string(m))
	}
	return Off, fmt.Errorf("invalid sandbox mode %q: expected one of %s", name, strings.Join(known, ", "))
}

// Spec is a box to be made.
type Spec struct {
	Mode  Mode
	Roots []string // the workspace: writable in the workspace modes
	// Write is what else is writable in the workspace modes: temp, caches, a
	// device. See Caches. What does not exist is left out.
	Write []string
	// Protect is what stays read-only inside of what is writable, present or
	// not. See Protected.
	Protect []string
	// HostSockets are sockets of other programs that can't be removed or replaced.
	// See WithHostSockets.
	HostSockets []string
	// Limits, if not nil, limits what a read-only sandbox reads and executes. A
	// sandbox that can't enforce it is an error, with BestEffort too.
	Limits *Limits
	// Trial is what a sandbox of mode Trial is made of.
	Trial *Trials
	// Pins are the identities that writable paths must still have. A path that is
	// another file by now is an error.
	Pins map[string]ID
	// UnixSockets lets commands reach sockets that are files, such as those of
	// Docker, which obeys every caller, or of an agent for keys.
	UnixSockets bool
	// BestEffort makes a box of what the kernel has, and a note of what it
	// lacks, where otherwise writes or the network could not be held back and
	// making the box would be an error.
	BestEffort bool
	// Bubblewrap uses the program bwrap instead of what is built in.
	Bubblewrap bool
	// Without names layers not to use although they would work.
	Without Layers
}

// Limits is what a command may read and execute. All paths are resolved; those
// that don't exist are skipped.
type Limits struct {
	Read    []string // files and directories that may be read
	Execute []string // files and directories that may be read and executed
	Write   []string // directories that may be written too, but not executed
	Hide    []string // files that look empty
}

// Boxed reports whether there is anything to make.
func (s *Spec) Boxed() bool { return s != nil && s.Mode != "" && s.Mode != Off }

func (s *Spec) network() bool { return s.Mode == WorkspaceNetwork }

// writable is what may be written, in the order given, nested ones left out.
func (s *Spec) writable() []string {
	paths := slices.Concat(s.Roots, s.Write)
	if s.Mode == ReadOnly {
		if paths = nil; s.Limits != nil {
			paths = s.Limits.Write
		}
	}
	if s.Mode == Trial {
		paths = nil // see Trials
	}
	var out []string
	for _, p := range paths {
		if filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}
