// Package trial runs commands without lasting effects, finds what they changed, and keeps or drops the changes.
//
//	layers, err := trial.Open(trial.Options{State: dir, Roots: roots, Temp: temp, Caches: caches})
//	defer layers.Close()
//	t, err := layers.New(ctx)
//	defer t.Drop()
//	out, err := runner.Run(ctx, proc.Command{Line: line, Dir: dir, Env: env, Sandbox: t.Spec(limits)})
//	effects, err := t.Effects(ctx)
//	kept, err := t.Keep(ctx, nil) // all of it, or none
//
// A trial sees the workspace at its own path through an overlay. Its changes are in the overlay's upper directory, on
// the file system of the workspace, so that keeping moves them in place. Changes in temp directories and caches last
// for the session, and are never kept. Denied connections and opened hidden files are in proc.Outcome.
//
// The package knows no tools and no settings.
package trial

import (
	"errors"
	"io/fs"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Options configure trials.
type Options struct {
	// State is the directory for changes of trials, created if missing. Sessions may share it. For a root on another
	// mount it is Hidden in the root.
	State string
	Roots []string // the workspace, links resolved
	Git   []string // git directories outside of it that its commits write, links resolved
	// Temp, CacheDirs and Caches are temp directories, directories of caches such as ~/.cache, and build caches:
	// changes last until Close and are never kept. Temp and CacheDirs are empty at first, except for what is in another
	// of them. Caches and CacheDirs in the home directory need not exist. Others that don't exist, are in a root or
	// can't have a layer are skipped.
	Temp, CacheDirs, Caches []string
	// Home is the user's home directory, which contains most caches; empty: the system's. Nothing is created in it.
	Home string
	// Protected reports whether a path is protected by its name. nil: none is.
	Protected func(path string) bool
	// Instructs reports whether a path has instructions for agents. nil: none has.
	Instructs func(path string) bool
	// Bytes limits the disk space of the session's trials, temp directories and caches included. Memory, Processes and
	// CPU limit each trial. 0 means the defaults: DefaultBytes, three quarters of the system's memory, DefaultProcesses
	// and DefaultCPU.
	Bytes, Memory int64
	Processes     int
	CPU           time.Duration
	// Without are sandbox layers that are not used, for tests.
	Without sandbox.Layers
}

// The limits of a trial.
const (
	DefaultBytes     = 4 << 30
	DefaultProcesses = 4096
	DefaultCPU       = time.Hour
)

// Hidden is the directory in a root for changes of trials, if State is on another mount.
const Hidden = ".adze/trial"

// ErrUnsupported is wrapped by errors that say why commands can't be tried here.
var ErrUnsupported = errors.New("commands can't be tried here")

// ErrConflict is wrapped by errors about a file that changed since the trial started. Nothing was kept.
var ErrConflict = errors.New("changed since the trial started")

// Kind is the kind of a change.
type Kind int

// The kinds of changes.
const (
	Created  Kind = iota + 1 // a file, a link, or a directory with its content
	Changed                  // other content, or another link target
	Deleted                  // a file, a link, or a directory with its content
	ModeOnly                 // the same content, with another mode, owner, time or other attributes
	Replaced                 // something of another type, or another directory with its content
)

func (k Kind) String() string {
	return [...]string{"unchanged", "created", "changed", "deleted", "attributes changed", "replaced"}[k]
}

// File is the state of a path. Its zero value means that it doesn't exist.
type File struct {
	Mode   fs.FileMode // type and permissions
	Size   int64
	Time   time.Time // of the last modification
	Target string    // of a link
}

// Exists reports whether the path exists.
func (f File) Exists() bool { return f != File{} }

// Change is one effect of a trial.
type Change struct {
	Path     string // absolute
	Kind     Kind
	Old, New File
	// Files is the number of files in a directory that was created, deleted or replaced, and Bytes their size.
	Files int
	Bytes int64
	// Inside are the files in a directory that was created, or their start if there are many. They aren't separate
	// changes.
	Inside []Change
	// Attributes describes what changed besides the content: "mode 0644 → 0755, owner".
	Attributes string
	// TimeOnly means that only the time of a file changed: it was rewritten with the same content.
	TimeOnly bool
	// Split means that the file has other names outside the workspace, which keep the old content and attributes.
	Split bool
}

// IsDir reports whether the change is of a directory with its content.
func (c Change) IsDir() bool {
	return c.Kind != ModeOnly && (c.New.Mode.IsDir() || c.Kind == Deleted && c.Old.Mode.IsDir())
}

// Special is a change that always requires approval, at any depth.
type Special struct {
	Path string
	// "setuid", "setgid", "named pipe", "socket", "device", "link out of the workspace", "hard link" (a further name of
	// a file), "protected", "git repository" (by its entries), "instructions" (for agents), "too deep" (it contains
	// something that wasn't looked at)
	What string
}

// Substitute is a file that looks different to a command.
type Substitute struct {
	Path string // with links resolved
	Real []byte // its content
	Text []byte // what the command sees
	// Merge returns the new content of the file for a changed text.
	Merge func(changed []byte) ([]byte, error)
}

// Effects are the changes of a trial.
type Effects struct {
	Changes []Change // sorted by path
	Special []Special
	// NotKept are the first changed paths in temp directories, and MoreNotKept how many more there are.
	NotKept     []string
	MoreNotKept int
	// TooLong is the number of files and directories that aren't kept because their paths are too long, each with
	// everything in it.
	TooLong int
	// Emptied means that the command started with empty temp directories and without changes in caches, because those
	// of earlier commands had reached the limit.
	Emptied bool
	// Conflicts are changes to files that another process changed since the trial started: the trial can't be kept.
	Conflicts []string
}

// None reports whether there are no changes that could be kept.
func (e Effects) None() bool { return len(e.Changes) == 0 }

// Kept is the result of Keep.
type Kept struct {
	Changes []Change // sorted by path
	before  map[string]string
}

// Before returns a file, directory or link with the old state of a path, for undo. It exists until the trial is
// dropped. It is empty for a created path.
func (k Kept) Before(path string) string { return k.before[path] }
