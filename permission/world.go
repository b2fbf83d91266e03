package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/tool"
)

// World is what a Policy knows about the disk. All paths are absolute and resolved, like the targets of an access.
type World struct {
	Roots  []string // the workspace; rules that start with / are relative to the first one
	Home   string   // the user's home directory
	State  string   // $ADZE_HOME: everything below it is protected and secret
	Spill  string   // directory of results that were too large for the model: reading it needs no approval
	System []string // directories of the system that may be read; nil: SystemDirectories
	// Lines reads command lines, for others who need them too. nil: the policy has its own.
	Lines *shell.Lines
	// Disk returns the disk for one decision, which may cache its answers. See package ondisk. nil: nothing is known of
	// paths in commands.
	Disk func() Disk
	// Place returns where commands run that were not approved. It is called if it decides. nil: None.
	Place func() Place
	// Network means that commands in the place Overlay reach hosts that rules or the user allow.
	Network bool
	// Secrets returns the secret files of the workspace, and whether the list is complete. It is called for commands
	// that search directories in the place None. nil: such commands require approval.
	Secrets func() (paths []string, known bool)

	elsewhere string // the description of a path outside the workspace

	// The same directories, cleaned.
	roots, system      []string
	readable           []string // outside the workspace
	home, state, spill string
	protected          func(path string) (why string, ok bool) // by name
}

// filled returns the world with defaults.
func (w World) filled() World {
	if w.System == nil {
		w.System = SystemDirectories()
	}
	if w.Lines == nil {
		w.Lines = &shell.Lines{}
	}
	w.elsewhere = w.outside()
	w.home, w.state, w.spill = tidied(w.Home), tidied(w.State), tidied(w.Spill)
	w.roots, w.system = allTidied(w.Roots), allTidied(w.System)
	w.protected = names.ProtectedIn(w.roots, w.home)
	w.readable = append(slices.Clone(w.system), allTidied([]string{os.TempDir(), "/tmp", "/var/tmp"})...)
	for _, name := range homeTools {
		if w.home != "" {
			w.readable = append(w.readable, w.home+"/"+name)
		}
	}
	return w
}

// tidied returns a cleaned directory; "" stays "".
func tidied(directory string) string {
	if directory == "" {
		return ""
	}
	return filepath.Clean(directory)
}

func allTidied(directories []string) []string {
	out := make([]string, len(directories))
	for i, f := range directories {
		out[i] = filepath.Clean(f)
	}
	return out
}

// SystemDirectories returns the directories that every program reads, without /proc.
func SystemDirectories() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc",
		"/private/etc", // the target of /etc on macOS
	}
}

// finding is one access, classified without a mode.
type finding struct {
	class class
	// exact marks a secret or a protected name, which only a rule that names this path covers.
	exact bool
	path  string   // the path, if rules can apply to it
	parts []string // its components
	dir   bool     // the access is to everything below path
	names bool     // and only to names
	// inCommand means that a command accesses it, not a tool.
	inCommand bool

	// Its description in three parts, because most are never shown: "reads ", a target, and a note.
	act, target, note string
}

// what describes the finding: "reads /home/me/notes.txt, outside the workspace /home/me/app".
func (f *finding) what() string {
	if f.target == "" && f.act == "" {
		return f.note
	}
	return f.act + show(f.target) + f.note
}

// told returns a finding without a path.
func told(c class, what string) finding { return finding{class: c, note: what} }

// look classifies an access by the table.
func (w *World) look(a tool.Access) finding {
	switch a.Verb {
	case tool.Nothing.Verb:
		return told(harmless, "touches nothing")
	case tool.Locks:
		return told(harmless, "changes nothing outside this session")
	case tool.Reads:
		return w.read(a.Target)
	case tool.Writes:
		return w.write(a.Target)
	case tool.Reaches:
		if a.Target == "*" {
			return told(host, "contacts any host")
		}
		return finding{class: host, act: "contacts the host ", target: a.Target}
	}
	return told(unknown, "has effects that can't be known in advance")
}

// read classifies a path that is read. Everything below a directory of the workspace may be read although it may
// contain secrets: their names are not secret, and searches omit the contents of secret files.
func (w *World) read(target string) finding {
	if target == "*" {
		return told(otherRead, "reads an unknown path")
	}
	f := finding{class: otherRead, act: "reads ", target: target}
	if !f.split() {
		return f
	}
	if lies(f.path, w.spill) {
		f.class = harmless
		return f
	}
	if why, ok := names.SecretWhenNamed(f.path); ok {
		f.exact = true
		f.note = ", which may be secret (" + why + ")"
		return f
	}
	switch {
	case lies(f.path, w.state):
		f.exact = true
		f.note = " (Adze's configuration directory)"
	case w.inside(f.path), w.ofSystem(f.path):
		f.class = harmless
	default:
		f.note = w.elsewhere
	}
	return f
}

func (w *World) write(target string) finding {
	if target == "*" {
		return told(outsideWrite, "writes an unknown path")
	}
	f := finding{class: outsideWrite, act: "writes ", target: target}
	if !f.split() {
		return f
	}
	why, protected := w.protected(f.path)
	switch {
	case lies(f.path, w.state):
		f.exact = true
		f.note = " (Adze's configuration directory)"
	case protected:
		f.exact = true
		f.note = ", a protected name (" + why + ")"
	case !w.inside(f.path):
		f.note = w.elsewhere
	case w.Disk != nil && w.Disk().Repository(f.path):
		f.exact = true
		f.note = ", in a directory that git takes for a repository: its settings and hooks run programs"
	case f.dir:
		f.exact = true // a protected name may be below
		f.note = " and everything below it"
	case w.isRoot(f.path):
		f.note = ", the workspace itself"
	default:
		f.class = insideWrite
	}
	return f
}

// place returns where commands run that were not approved.
func (w *World) place() Place {
	if w.Place == nil {
		return None
	}
	return w.Place()
}

// secretBelow returns a secret file below a directory; "": none.
func (w *World) secretBelow(dir string) (secret string, known bool) {
	if w.Secrets == nil || lies(w.state, dir) || !w.inside(dir) {
		return "", false
	}
	paths, known := w.Secrets()
	for _, path := range paths {
		if lies(path, dir) {
			return path, known
		}
	}
	return "", known
}

// inside reports whether path is in the workspace. Kernel files are not, even if the root directory is the workspace.
func (w *World) inside(path string) bool {
	root := "" // the innermost
	for _, r := range w.roots {
		if len(r) >= len(root) && lies(path, r) {
			root = r
		}
	}
	for _, d := range [...]string{"/proc", "/dev", "/sys"} {
		if lies(path, d) && !lies(root, d) {
			return false
		}
	}
	return root != ""
}

// lies reports whether a path is a directory or below it; an unknown directory contains nothing.
func lies(path, directory string) bool { return names.Below(path, directory) }

func liesIn(path string, directories []string) bool {
	return slices.ContainsFunc(directories, func(d string) bool { return lies(path, d) })
}

func (w *World) isRoot(path string) bool { return slices.Contains(w.roots, path) }

// ofSystem reports whether path is in a system directory. A home directory in one (such as a service's, in /opt) is
// not.
func (w *World) ofSystem(path string) bool {
	return liesIn(path, w.system) && (w.home == "" || !liesIn(w.home, w.system) || !lies(path, w.home))
}

func (w World) outside() string {
	if len(w.Roots) == 0 {
		return ", and no workspace is set"
	}
	s := ", outside the workspace " + show(w.Roots[0])
	if n := len(w.Roots) - 1; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// split splits the target into the path, and whether everything below it is meant. It reports whether the path is
// valid: one that isn't absolute and clean was never resolved, so its target is unknown.
func (f *finding) split() bool {
	path := f.target
	if n := len(path); n > 0 && (path[n-1] == '/' || path[n-1] == filepath.Separator) {
		f.dir = true
		if filepath.Clean(path) != path { // "/" is a path itself
			path = path[:n-1]
		}
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		f.note = ", which is not a resolved path"
		return false
	}
	f.path, f.parts = path, components(path)
	return true
}

// brief shortens a command for a sentence: a long one to its beginning and end.
func brief(command string) string {
	const limit = 400
	if len(command) <= limit {
		return show(command)
	}
	head, tail := strings.ToValidUTF8(command[:limit/2], ""), strings.ToValidUTF8(command[len(command)-limit/2:], "")
	return show(head + " … " + tail)
}

// show returns a target as one visible line.
func show(target string) string {
	if target == "" {
		return "an empty path"
	}
	s := tool.Visible(strings.ReplaceAll(target, "\n", `\n`))
	if strings.ContainsAny(s, " \t,;") {
		return strconv.Quote(target)
	}
	return s
}

// Disk answers questions of a policy about the disk. One goroutine calls it during a decision, and it must answer
// quickly. Package ondisk implements it for the real disk. Without one, no path of a command is known, because it may
// be a link to anywhere.
type Disk interface {
	// Resolve makes a path canonical: it follows links and .. like the system, even if the rest of the path doesn't
	// exist yet.
	Resolve(path string) string
	// Exists reports whether there is something at a resolved path.
	Exists(path string) bool
	// Git returns the top of the working tree of the repository that git would use in dir, a resolved directory ("":
	// outside of one), and a program that its configuration would run. known is false if that couldn't be determined.
	Git(dir string) (top, program string, known bool)
	// Repository reports whether a path in the workspace is in a directory that git takes for a repository by its
	// entries, or would if the path existed.
	Repository(path string) bool
	// Tracked calls visit with the path of each file in the index of the repository around dir, until it returns false.
	// known is false if that couldn't be determined.
	Tracked(dir string, visit func(path string) bool) (known bool)
}

// Place is where a command runs that neither a rule nor the user allowed.
type Place int

// The places, weakest first.
const (
	// None: commands run only as they are. Those that obviously only read run without approval.
	None Place = iota
	// ReadOnly refuses writes, and tells about them.
	ReadOnly
	// Overlay keeps writes apart until they are approved.
	Overlay
)

func (p Place) String() string { return [...]string{"none", "read-only", "overlay"}[p] }
