package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/tool"
)

// ReadLimits are the files that auto-approved commands may read, where the kernel can enforce it: the workspace without
// its hidden files, system directories, the toolchains in PATH, and what a decision grants besides.
type ReadLimits struct {
	// System are the system directories.
	System []string
	// Hide reports whether a file of the workspace looks empty to auto-approved commands. tracked reports whether git
	// tracks the file as it is. nil: untracked files with secret-looking names.
	Hide func(path string, tracked func() bool) bool
	// Asks reports whether a hidden file requires approval by a rule: a command that opens it needs approval. nil: none
	// does.
	Asks func(path string) bool
	// Skip reports whether Hide hides only secrets by name in a directory, which makes finding them faster. nil: no.
	Skip func(dir string) bool
	// Watch watches the workspace, together with other parts of the program. nil: on its own.
	Watch *watch.Hub
}

// limiter enforces read limits in a session.
type limiter struct {
	runner     *proc.Runner
	bubblewrap bool
	around     places.Surroundings // without Env, which unapproved returns
	unapproved func() environs
	finder     *secretfiles.Finder
	watch      *watch.Hub             // nil: the finder's own
	asks       func(path string) bool // nil: never
	values     *secretvalues.List
	makeCache  func() (string, error)
	own        string // Adze's directory, which looks empty; "": none

	once   sync.Once
	limits *sandbox.Limits
	cache  string // the directory of caches, which last for the session; "": none
	err    error  // why nothing is enforced

	mu     sync.Mutex
	nested map[string]bool // files of git's configuration in the workspace
	caches int             // how many there are
	free   []string        // those that no command uses

	started atomic.Bool // the search for files has started
}

func newLimiter(o Options, r *proc.Runner, unapproved func() environs) *limiter {
	if o.Sandbox.Limits == nil || o.Sandbox.Mode == string(sandbox.Off) {
		return nil
	}
	l := &limiter{
		runner: r, bubblewrap: o.Sandbox.Bubblewrap, asks: o.Sandbox.Limits.Asks, values: o.Values, makeCache: o.Caches,
		nested:     map[string]bool{},
		around:     places.Surroundings{Roots: o.Workspace.Roots(), System: o.Sandbox.Limits.System},
		unapproved: unapproved,
	}
	if own := o.Own; !slices.ContainsFunc(o.Workspace.Roots(),
		func(root string) bool { return names.Below(root, own) }) {
		l.own = own // otherwise the command would lose its workspace, and can't read what is around that anyway
	}
	hide := o.Sandbox.Limits.Hide
	if hide == nil {
		hide = secretfiles.DefaultHide
	}
	l.watch = o.Sandbox.Limits.Watch
	l.finder = secretfiles.New(secretfiles.Options{
		Roots: o.Workspace.Roots(), Once: []string{"/etc", "/opt"}, Omit: l.closed(), Hide: l.hides(hide),
		Skip:  o.Sandbox.Limits.Skip,
		Watch: l.watch,
	})
	return l
}

// closed returns the directories that look empty to commands: Adze's own, and those in the workspace in which trials
// write.
func (l *limiter) closed() (dirs []string) {
	if l.own != "" {
		dirs = append(dirs, l.own)
	}
	for _, root := range l.around.Roots {
		dirs = append(dirs, filepath.Join(root, trial.Hidden))
	}
	return dirs
}

// hides returns hide without git's configuration, which configs handles, files in /etc that everyone or not even the
// user may read, and certificates elsewhere.
func (l *limiter) hides(hide func(string, func() bool) bool) func(string, func() bool) bool {
	return func(path string, tracked func() bool) bool {
		if _, inside := names.Within(path, l.around.Roots); inside {
			if secretvalues.GitConfig(path) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.nested[path] = true
				return false
			}
			return hide(path, tracked)
		}
		if !hide(path, func() bool { return false }) { // files that git tracks in /etc aren't public
			return false
		}
		if !names.Below(path, "/etc") && filepath.Ext(path) != ".pem" {
			return true
		}
		st, err := os.Stat(path)
		return err != nil || st.Mode()&0o004 == 0 && mayRead(path, st)
	}
}

// mayRead reports whether the user may read a file. Commands can't read other files anyway, and hiding a file takes
// time.
func mayRead(path string, st os.FileInfo) bool {
	if !st.Mode().IsRegular() {
		return true // opening it may block
	}
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, os.ErrPermission)
}

// start determines once what commands may read.
func (l *limiter) start() error {
	l.once.Do(func() {
		if l.err = l.runner.CanLimit(l.bubblewrap); l.err == nil {
			l.err = l.prepare()
		}
	})
	return l.err
}

// find starts the search for hidden files, once.
func (l *limiter) find() {
	if !l.started.Swap(true) {
		l.finder.Start()
	}
}

// prepare determines what commands may read.
func (l *limiter) prepare() (err error) {
	l.find()
	around := l.around
	around.Env = l.unapproved().short
	l.limits = around.Limits()
	l.cache, err = l.makeCache()
	return err
}

// How long a command waits for the list of hidden files: one that may do without it, and one that relies on it.
const (
	firstWait   = 200 * time.Millisecond
	reliantWait = 30 * time.Second
)

// spec returns the sandbox of a command that obviously only reads; nil if nothing can be enforced: its verdict doesn't
// rely on it. The output is held back by h.
func (l *limiter) spec(d tool.Decision) (s *sandbox.Spec, h *held, err error) {
	if l == nil || l.start() != nil {
		return nil, nil, nil
	}
	s, before, err := l.limited(d.Grant[1:], firstWait)
	if err != nil { // files outside the workspace stay inaccessible
		s = l.granted(nil, d.Grant[1:])
	}
	s.Bubblewrap = l.bubblewrap
	h, err = l.hold(s, before, sandbox.Replaced)
	return s, h, err
}

// hold completes the sandbox of a command: it writes only to its own cache, and where git's configuration contains
// credentials it looks like a file of that kind.
func (l *limiter) hold(s *sandbox.Spec, before *secretfiles.Snapshot, configs sandbox.Kind) (*held, error) {
	for _, c := range l.configs() {
		s.Covers = append(s.Covers, sandbox.Cover{Path: c.Path, As: configs, Text: string(c.Clean)})
	}
	cache, err := l.takeCache()
	s.Limits.Write = []string{cache}
	return &held{limiter: l, before: before, cache: cache}, err
}

// supervised returns the sandbox of a program that runs without approval, with the paths that rules let it read. Its
// output is held back by h.
func (l *limiter) supervised(b *sandboxes, grant []tool.Access, configs sandbox.Kind) (s *sandbox.Spec, h *held,
	err error) {
	s, before, err := l.limited(grant, reliantWait)
	if err != nil {
		return nil, nil, err
	}
	// As in a trial, programs of the workspace may run.
	s.Limits.Execute = append(slices.Clip(s.Limits.Execute), b.roots...)
	s.Trial = trial.Limits()
	h, err = l.hold(s, before, configs)
	b.denials.add(s)
	return s, h, err
}

// supervisedEnviron returns the environment of such a program.
func (l *limiter) supervisedEnviron(b *sandboxes, h *held) []string {
	return unwritten(l.environ(b.unapproved().tried, h.cache), h.cache)
}

// takeCache returns a cache that no other command uses: one could leave there what it read for another one.
func (l *limiter) takeCache() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		cache := l.free[n-1]
		l.free = l.free[:n-1]
		return cache, nil
	}
	l.caches++
	cache := filepath.Join(l.cache, strconv.Itoa(l.caches))
	return cache, os.Mkdir(cache, 0o700)
}

// limited returns a read-only sandbox with what a command may read, and with the files that look empty to it. before is
// the state that they are in before the command starts.
func (l *limiter) limited(grant []tool.Access, wait time.Duration) (s *sandbox.Spec, before *secretfiles.Snapshot,
	err error) {
	var ok bool
	if before, ok = l.finder.Snapshot(wait); !ok {
		return nil, nil, l.outdated()
	}
	return l.granted(before.Paths, grant), before, nil
}

// granted returns the sandbox of a command from which files are hidden, with the paths that it may read besides.
func (l *limiter) granted(hide []string, grant []tool.Access) *sandbox.Spec {
	limits := *l.limits
	covers := append(sandbox.Empty.Cover(hide...), sandbox.Closed.Cover(l.closed()...)...)
	for _, a := range grant {
		if a.Verb == tool.Reads {
			path := filepath.Clean(a.Target)
			limits.Read = append(slices.Clip(limits.Read), path)
			covers = slices.DeleteFunc(covers, func(c sandbox.Cover) bool {
				return c == sandbox.Cover{Path: path, As: sandbox.Empty}
			})
			covers = append(covers, sandbox.Cover{Path: path, As: sandbox.Shown})
		}
	}
	return &sandbox.Spec{Mode: sandbox.ReadOnly, Limits: &limits, Covers: covers}
}

func (l *limiter) outdated() error {
	return fmt.Errorf("the list of files to hide isn't current (%s). Run the command again", l.finder.Problem())
}

// configs returns the files of git's configuration that contain credentials. The list of hidden files must be current.
func (l *limiter) configs() []secretvalues.Config {
	l.mu.Lock()
	nested := slices.Collect(maps.Keys(l.nested))
	l.mu.Unlock()
	return l.values.Configs(nested)
}

// environ returns the environment of a limited command: caches go where they can be written, and settings that may
// contain credentials aren't read.
func (l *limiter) environ(env []string, cache string) []string {
	return append(slices.Clip(env), "XDG_CACHE_HOME="+cache, "npm_config_cache="+filepath.Join(cache, "npm"),
		"npm_config_userconfig="+os.DevNull,
		"npm_config_update_notifier=false", "PIP_CONFIG_FILE="+os.DevNull, "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PYTHONDONTWRITEBYTECODE=1")
}

func (l *limiter) close() {
	if l == nil {
		return
	}
	l.finder.Close()
	if l.cache != "" {
		os.RemoveAll(l.cache)
	}
}

// Secrets returns the files of the workspace that commands must not read without approval, and whether the list is
// complete.
func (s *Shell) Secrets() (paths []string, known bool) {
	l := s.sandboxes.limiter
	if l == nil {
		return nil, false
	}
	l.find()
	return l.finder.List(firstWait)
}

// ReadLimitsChanged must be called when results of [ReadLimits].Hide may have changed.
func (s *Shell) ReadLimitsChanged() {
	if l := s.sandboxes.limiter; l != nil && l.started.Load() {
		l.finder.Invalidate()
	}
}

// hiddenNote names the hidden files that a command opened.
func hiddenNote(o proc.Outcome, root string) string {
	n := len(o.Hidden)
	if n == 0 && !o.MoreHidden {
		return ""
	}
	const limit = 5
	var shown []string
	for _, path := range o.Hidden[:min(n, limit)] {
		shown = append(shown, tool.Visible(names.Short(path, root)))
	}
	list := strings.Join(shown, ", ")
	if o.Observed {
		return "Files that may be secret are hidden, and could not be opened: " + list
	}
	switch {
	case n == 0:
		return "Some files were hidden because they may be secret; they looked empty."
	case o.MoreHidden || n > limit:
		return fmt.Sprintf("%d or more files were hidden because they may be secret; they looked empty: %s, …", n, list)
	case n == 1:
		return "1 file was hidden because it may be secret; it looked empty: " + list
	}
	return fmt.Sprintf("%d files were hidden because they may be secret; they looked empty: %s", n, list)
}
