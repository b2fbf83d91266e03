// Package trial runs commands where nothing lasts, finds what they changed, and
// keeps it or drops it.
//
//	layers, err := trial.Open(trial.Options{State: dir, Roots: roots, Temp: temp, Caches: caches})
//	defer layers.Close()
//	t, err := layers.New(ctx)
//	defer t.Drop()
//	out, err := runner.Run(ctx, proc.Command{Line: line, Dir: dir, Env: env, Sandbox: t.Spec(limits)})
//	effects, err := t.Effects(ctx)
//	kept, err := t.Keep(ctx, nil) // all of it, or none
//
// A trial sees the workspace at its own path through an overlay. What it changes
// is in the overlay's upper directory, on the file system of the workspace, so
// that keeping moves it in place. Changes in temp directories and caches last for
// the session, and are never kept. What the command tried to reach in the network
// and which hidden files it opened is in proc.Outcome.
//
// The package knows no tools and no settings.
package trial

import (
	"errors"
	"io/fs"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Options say what trials can change.
type Options struct {
	// State is the directory for what trials change, created if missing. Sessions
	// may share it. For a root on another mount it is Hidden in the root.
	State string
	Roots []string // the workspace, links resolved
	Git   []string // git directories outside of it that its commits write, links resolved
	// Temp and Caches are temp directories and caches of builds: changes last until
	// Close and are never kept. Those that don't exist, that are in a root or that
	// can't have an overlay are skipped.
	Temp, Caches []string
	// Home is the user's home directory, which contains most caches; empty: as the
	// system says.
	Home string
	// Protected reports whether a path is protected by its name. nil: none is.
	Protected func(path string) bool
	// Bytes, Processes and CPU limit each trial; 0 means the defaults, which are
	// DefaultBytes, DefaultProcesses and DefaultCPU.
	Bytes     int64
	Processes int
	CPU       time.Duration
	// Without are layers of the sandbox that are not used, for tests.
	Without sandbox.Layers
}

// The limits of a trial.
const (
	DefaultBytes     = 4 << 30
	DefaultProcesses = 4096
	DefaultCPU       = time.Hour
)

// Hidden is the directory in a root for what trials change, if State is on
// another mount.
const Hidden = ".adze/trial"

// ErrUnsupported is wrapped by errors that say why commands can't be tried here.
var ErrUnsupported = errors.New("commands can't be tried here")

// ErrConflict is wrapped by errors that say that a file changed since the trial
// started. Nothing was kept.
var ErrConflict = errors.New("changed since the trial started")

// Kind is what became of a path.
type Kind int

// The kinds of changes.
const (
	Created  Kind = iota + 1 // a file, a link, or a directory with all in it
	Changed                  // other content, or another link target
	Deleted                  // a file, a link, or a directory with all in it
	ModeOnly                 // the same content, with another mode, owner, time or other attributes
	Replaced                 // something of another type, or another directory with all in it
)

func (k Kind) String() string {
	return [...]string{"unchanged", "created", "changed", "deleted", "attributes changed", "replaced"}[k]
}

// File is what is at a path. Its zero value is nothing.
type File struct {
	Mode   fs.FileMode // type and permissions
	Size   int64
	Time   time.Time // of the last modification
	Target string    // of a link
}

// Exists reports whether there is something.
func (f File) Exists() bool { return f != File{} }

// Change is one effect of a trial.
type Change struct {
	Path     string // absolute
	Kind     Kind
	Old, New File
	// Files is how many files are in a directory that was created, deleted or
	// replaced, and Bytes their size.
	Files int
	Bytes int64
	// Note says what else changed: the mode, the owner, attributes.
	Note string
}

// IsDir reports whether the change is one of a directory with all in it.
func (c Change) IsDir() bool {
	return c.Kind != ModeOnly && (c.New.Mode.IsDir() || c.Kind == Deleted && c.Old.Mode.IsDir())
}

// Special is a change that always requires approval, at any depth.
type Special struct {
	Path string
	What string // "setuid", "setgid", "named pipe", "socket", "device", "link out of the workspace", "hard link" (a further name of a file), "protected"
}

// Effects is what a trial changed.
type Effects struct {
	Changes []Change // sorted by path
	Special []Special
	// NotKept are paths in temp directories that the trial changed: the first of
	// them, and how many there are.
	NotKept     []string
	MoreNotKept int
	// Conflicts are changes to files that something else changed since the trial
	// started: it can't be kept.
	Conflicts []string
}

// None reports whether nothing changed that could be kept.
func (e Effects) None() bool { return len(e.Changes) == 0 }

// Kept is what Keep did.
type Kept struct {
	Changes []Change // sorted by path
	before  map[string]string
}

// Before returns a file, directory or link that is as the path was before: its
// content for an undo store. It exists until the trial is dropped. It is empty
// for what was created.
func (k Kept) Before(path string) string { return k.before[path] }
