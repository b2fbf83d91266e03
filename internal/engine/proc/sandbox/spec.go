// Package sandbox restricts commands with features of the operating system.
//
//	spec := sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: places.Caches(os.Environ())}
//	out, err := runner.Run(ctx, proc.Command{Line: "make test", Dir: dir, Sandbox: &spec})
//
// A sandbox consists of layers, each used where the kernel supports it. Probe reports which work and why others don't,
// and Spec.Plan what a sandbox lacks:
//
//	Landlock     writes only below the listed paths; no signals, no tracing and
//	             no abstract sockets to what runs outside
//	seccomp      no network, no tracing, no io_uring, no mounts, no keys, no
//	             datagram socket pairs; in read-only no change of mode, owner,
//	             time or attribute either; without the namespaces for them no
//	             shared memory and no limits of other processes
//	namespaces   a user and mount namespace in which all but the listed paths is
//	             mounted read-only and protected paths are too, with few
//	             its own devices and terminals; an IPC namespace; a network
//	             namespace that has nothing but its own loopback; a pid
//	             namespace in which no other processes are seen or signaled
//	listener     a thread that receives calls from seccomp: sockets of a session,
//	             renames in a trial, and refused writes, see Spec.Observe
//	bubblewrap   instead of namespaces, if requested; Landlock runs inside
//	seatbelt     on macOS; follows its documentation; untested
//
// On Linux one thread enters a sandbox (Apart.Enter, then Box.Enter) and then starts exactly one command: package proc
// does that in its keeper processes. Reading is not limited unless Spec.Limits is set: the approval of a command
// decides which files it may read, and without network it can't send them anywhere.
//
// Callers decide which command gets which sandbox.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Mode is how restrictive a sandbox is.
type Mode string

// The modes, the least restrictive first.
const (
	Off              Mode = "off"               // no sandbox
	WorkspaceNetwork Mode = "workspace+network" // as Workspace, and the network
	// writes to the workspace, temp and caches; no network except its own loopback
	Workspace Mode = "workspace"
	ReadOnly  Mode = "read-only" // writes to a private temp directory and /dev/null; no network
	// writes to overlays that no other process sees; no network except its own loopback
	Trial     Mode = "trial"
	DenyRules Mode = "deny-rules" // as without a sandbox, except for protected and unreadable paths
)

// Modes returns all modes that a user can set. Trial is for single commands: it needs directories, see Trials.
// DenyRules is for those that would run without a sandbox, see Denials.
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

// Spec describes a sandbox.
type Spec struct {
	Mode  Mode
	Roots []string // the workspace: writable in the workspace modes
	// Write are further writable paths in the workspace modes: temp, caches, a device. See Caches. Missing ones are
	// omitted.
	Write []string
	// Protect are paths that stay read-only inside writable ones, even if they don't exist. See Protected.
	Protect []string
	// Covers are the paths that a command sees differently, in any order. Those that hide files without deny rules
	// require Limits.
	Covers []Cover
	// HostSockets are sockets of other programs that can't be removed or replaced.
	// See WithHostSockets.
	HostSockets []string
	// Limits, if not nil, limits what a read-only sandbox reads and executes. If it can't be enforced that is an error,
	// even with BestEffort.
	Limits *Limits
	// Trial describes a sandbox of mode Trial. In mode ReadOnly, only its limits of memory, processes, CPU time and
	// disk space apply.
	Trial *Trials
	// Observe makes a read-only sandbox without namespaces that reports the writes it refused, and stops the command at
	// the first. Hidden files and closed directories can't be opened there, instead of looking empty.
	Observe bool
	// Pins are the identities that writable paths must still have. A path that is another file by now is an error.
	Pins map[string]ID
	// UnixSockets lets commands connect to Unix sockets, such as those of Docker, which obeys every caller, or of an
	// SSH agent.
	UnixSockets bool
	// BestEffort makes a sandbox of the supported layers, with a note about what is missing, where otherwise unblocked
	// writes or network would be an error.
	BestEffort bool
	// Bubblewrap uses the program bwrap instead of the built-in layers.
	Bubblewrap bool
	// Without are layers that are not used although they would work.
	Without Layers
}

// Limits are the paths that a command may read and execute. All paths are resolved; missing ones are skipped.
type Limits struct {
	Read    []string // files and directories that may be read
	Execute []string // files and directories that may be read and executed
	Write   []string // directories that may be written too, but not executed
}

// Boxed reports whether there is a sandbox to make.
func (s *Spec) Boxed() bool { return s != nil && s.Mode != "" && s.Mode != Off }

func (s *Spec) network() bool { return s.Mode == WorkspaceNetwork }

// writable returns the writable paths, in the given order, without nested ones.
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

// Layers is a set of layers of a sandbox.
type Layers uint8

// The layers.
const (
	Landlock Layers = 1 << iota
	Seccomp
	Notify     // denied calls are reported to the sandbox, not only to the command
	Namespaces // user, mount, IPC and network namespaces
	Bubblewrap
	Seatbelt
	PIDs     // with Namespaces: its own process IDs, and a /proc that shows no other processes
	Launcher // only for trials: bubblewrap makes the namespaces
)

var layerNames = []string{"landlock", "seccomp", "notify", "namespaces", "bubblewrap", "seatbelt", "pids", "launcher"}

// Has reports whether the set has all of more.
func (l Layers) Has(more Layers) bool { return l&more == more }

// String returns the names of the layers: "landlock+seccomp".
func (l Layers) String() string {
	var names []string
	for i, n := range layerNames {
		if l&(1<<i) != 0 && 1<<i != int(Notify) {
			names = append(names, n)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}

// maxHostSockets bounds the number of protected sockets.
const maxHostSockets = 256

// WithHostSockets returns the Spec with the sockets of other programs in writable directories, such as that of an SSH
// agent in a temp directory. Otherwise a command could replace them and receive data of programs outside.
func (s *Spec) WithHostSockets() *Spec {
	own := *s
	write := Outermost(s.writable())
	text, _ := os.ReadFile("/proc/net/unix") // a network namespace has its own
	for line := range strings.Lines(string(text)) {
		// Number, references, protocol, flags, type, state, inode, path.
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 8)
		if len(fields) == 8 && holding(fields[7], write) != "" && len(own.HostSockets) < maxHostSockets {
			own.HostSockets = append(own.HostSockets, fields[7])
		}
	}
	return &own
}

// Overlay is a directory that a trial sees at its own path and whose changes go elsewhere.
type Overlay struct {
	Lower string // the directory, with links resolved
	Upper string // receives the changes
	Work  string // empty, on the file system of Upper; for the kernel
	// Instead means that Upper replaces Lower: the kernel makes no overlay of a directory with mount points in it.
	Instead bool
	// Parts are the writable directories below Lower; nil: all of it. One overlay of a home directory is faster than
	// one for each cache. Whole means that the rest of Lower is mounted too, read-only: it has mount points in Upper.
	Parts []string
	Whole bool
}

// Trials describes a sandbox of mode Trial, besides Spec.Limits.
type Trials struct {
	// Layers are the writable directories. Everything else is read-only.
	Layers []Overlay
	// Dir is an empty directory that the command can't read.
	Dir string
	// Show are paths below an Upper that replaces its Lower: they are shown there anyway, read-only. Upper has a
	// directory or file for each.
	Show []string
	// Conceal are directories that look empty: uppers that are in a lower.
	Conceal []string
	// Bytes limits the disk space of everything in the directories Count, which contain the uppers of the session. Of
	// it, Used was used before the command. Memory, Processes and CPU limit its memory, its number of processes and
	// their CPU time. 0 means no limit.
	Bytes, Used int64
	Count       []string
	Memory      int64
	Processes   int
	CPU         time.Duration
}

// lowers returns the paths of the layers.
func (t *Trials) lowers() []string {
	var out []string
	for _, l := range t.Layers {
		if l.Parts == nil && !l.Whole {
			out = append(out, l.Lower)
		}
		out = append(out, l.Parts...)
	}
	return out
}

// encoded returns t for another process of the same program.
func (t *Trials) encoded() string {
	if t == nil {
		return ""
	}
	b, _ := json.Marshal(t) // strings and numbers
	return string(b)
}

func decodeTrials(text string) (*Trials, error) {
	if text == "" {
		return nil, nil
	}
	t := &Trials{}
	return t, json.Unmarshal([]byte(text), t)
}

// Unfit returns why a command that failed in a trial would probably not fail outside of it, from its output; empty:
// unknown.
func Unfit(output string) string {
	for text, why := range map[string]string{
		"Value too large for defined data type": "a file belongs to another user or group (EOVERFLOW)",
		"EOVERFLOW":                             "a file belongs to another user or group (EOVERFLOW)",
		"nvalid cross-device link":              "a directory could not be renamed (EXDEV)",
		"EXDEV":                                 "a directory could not be renamed (EXDEV)",
	} {
		if strings.Contains(output, text) {
			return why
		}
	}
	return ""
}

// ID identifies a file. Its zero value is no file.
type ID struct{ Dev, Ino uint64 }

// holding returns the root that contains path, or "".
func holding(path string, roots []string) string {
	for _, r := range roots {
		if names.Below(path, r) {
			return r
		}
	}
	return ""
}

// between returns the directories from below root to above path, the topmost first.
func between(root, path string) []string {
	var out []string
	if root == "" || !names.Below(path, root) {
		return nil
	}
	for dir := filepath.Dir(path); dir != root && names.Below(dir, root); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// Outermost removes duplicates and paths that are below another.
func Outermost(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		if holding(p, out) == "" {
			out = append(out, p)
		}
	}
	return out
}
