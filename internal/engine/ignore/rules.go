package ignore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Options configure Rules. The zero value has no workspace: git's rules then apply only in repositories.
type Options struct {
	// Roots are the workspace's directories, absolute and with links resolved.
	Roots []string
	// Getenv returns HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM and GIT_CONFIG_NOSYSTEM; nil is
	// os.Getenv.
	Getenv func(string) string
	// NoGit disables git's rules.
	NoGit bool
	// Custom are further names of AI ignore files, up to MaxCustom; more are ignored.
	Custom []string
}

// Rules returns verdicts on paths anywhere on disk.
type Rules struct {
	roots  []string // with forward slashes, as Dir.path
	getenv func(string) string
	noGit  bool
	custom []string

	mu     sync.Mutex
	places map[string]*dirState
}

// maxPlaces bounds the cache; it is emptied when full.
const maxPlaces = 8192

// New returns rules. It reads nothing before the first question.
func New(o Options) *Rules {
	r := &Rules{getenv: o.Getenv, noGit: o.NoGit, places: make(map[string]*dirState)}
	for _, name := range o.Custom {
		if !slices.Contains(families[:], name) && !slices.Contains(r.custom, name) && len(r.custom) < MaxCustom {
			r.custom = append(r.custom, name)
		}
	}
	if r.getenv == nil {
		r.getenv = os.Getenv
	}
	for _, root := range o.Roots {
		r.roots = append(r.roots, slashed(root))
	}
	return r
}

// slashed returns a path in the form of Dir.path.
func slashed(path string) string {
	return strings.TrimRight(filepath.ToSlash(filepath.Clean(path)), "/")
}

// Check returns the verdict on a path, which must be absolute and need not exist: whether it or a directory above it is
// ignored. AI ignore files take precedence over git's rules.
func (r *Rules) Check(path string, kind Kind) Verdict {
	p := slashed(path)
	cut := strings.LastIndexByte(p, '/')
	if cut < 0 {
		return Verdict{} // the root directory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind == Directory {
		return r.reach(p).own()
	}
	parent := r.reach(p[:cut])
	v := parent.own()
	if v.State == Refused {
		return v
	}
	if refused := parent.dir.Refusal(p[cut+1:], kind); refused.State == Refused {
		return refused
	}
	if v.State == Hidden {
		return v
	}
	return parent.dir.hidden(p[cut+1:], kind)
}

// Start returns the directory at which a walk begins, and the verdict on that directory itself. The caller decides
// whether to walk a named directory that is hidden: if so, git's rules start again there, because the rules that hide
// the directory would hide all its content. A Dir from Start, and those entered from it, see the disk as it was when
// they were made.
func (r *Rules) Start(directory string) (*Dir, Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.reach(slashed(directory))
	v := p.own()
	if v.State != Hidden && (p.dir.git != nil || p.within) {
		return p.dir, v
	}
	fresh := *p.dir
	fresh.git = nil
	if v.State == Hidden || !p.within {
		fresh.load(p.marks&(markGit|markRepo), nil)
	}
	return &fresh, v
}

// dirState is a directory as last seen on disk, with its rules.
type dirState struct {
	marks Marks
	self  *watch // the directory, whose time changes with its entries
	files *watch // the files that were read for it

	parent  *dirState
	within  bool // at or below the start of a root's rules
	begins  bool // the start itself
	dir     *Dir
	hidden  Verdict
	refused Verdict
}

// own returns the verdict on the directory itself.
func (p *dirState) own() Verdict {
	if p.refused.State == Refused {
		return p.refused
	}
	return p.hidden
}

// reach updates the states from the root directory down to a directory.
func (r *Rules) reach(directory string) *dirState {
	if len(r.places) > maxPlaces {
		clear(r.places)
	}
	volume := filepath.ToSlash(filepath.VolumeName(filepath.FromSlash(directory)))
	chain := []string{volume}
	for i := len(volume) + 1; i <= len(directory); i++ {
		if i == len(directory) || directory[i] == '/' {
			chain = append(chain, directory[:i])
		}
	}
	marks := make([]Marks, len(chain))
	for i, path := range chain {
		marks[i] = r.look(path)
	}
	begin := r.beginning(chain, marks)
	var p *dirState
	for i, path := range chain {
		p = r.settle(path, p, i >= begin, i == begin)
	}
	return p
}

// look returns which ignore files a directory has, from the cache if the directory didn't change.
func (r *Rules) look(path string) Marks {
	if p := r.places[path]; p != nil && p.self.unchanged() {
		return p.marks
	}
	dir := filepath.FromSlash(path)
	w := newWatch()
	w.add(dir + string(filepath.Separator))
	marks := r.probe(dir)
	p := r.places[path]
	if p == nil || p.marks != marks {
		p = &dirState{marks: marks}
		r.places[path] = p
	}
	p.self = w
	return marks
}

// beginning returns the index in the chain at which the rules of the innermost root around the chain's end begin: the
// top of that root's repository, or the outermost root if it is in none. Without a root it is past the end.
func (r *Rules) beginning(chain []string, marks []Marks) int {
	inner, outer := -1, len(chain)
	for i, path := range chain {
		for _, root := range r.roots {
			if root == path {
				inner, outer = i, min(outer, i)
			}
		}
	}
	for i := inner; i >= 0; i-- {
		if marks[i]&markRepo != 0 {
			return i
		}
	}
	return outer
}

// settle returns the state of a directory: a new one, or the cached one if it is unchanged.
func (r *Rules) settle(path string, parent *dirState, within, begins bool) *dirState {
	p := r.places[path]
	if p.dir != nil && p.parent == parent && p.within == within && p.begins == begins && p.files.unchanged() {
		return p
	}
	// A new state, so that those below, which refer to the old one as parent, are replaced too.
	fresh := &dirState{marks: p.marks, self: p.self, parent: parent, within: within, begins: begins, files: newWatch()}
	fresh.dir = &Dir{path: path, r: r}
	if parent != nil {
		*fresh.dir = *parent.dir
		fresh.dir.path = path
		r.judge(fresh, path[strings.LastIndexByte(path, '/')+1:])
	}
	if begins {
		fresh.dir.git = nil
	}
	load := fresh.marks
	if !within && fresh.dir.git == nil && load&markRepo == 0 {
		load &^= markGit
	}
	fresh.dir.load(load, fresh.files)
	r.places[path] = fresh
	return fresh
}

// judge determines the verdict on a directory from its parent. Where rules begin, git's verdict from above doesn't
// count: a home directory that is a repository and ignores everything doesn't affect a project inside.
func (r *Rules) judge(p *dirState, name string) {
	p.refused = p.parent.refused
	if p.refused.State != Refused {
		p.refused = p.parent.dir.Refusal(name, Directory)
	}
	if p.begins || (!p.within && p.marks&markRepo != 0) {
		return
	}
	p.hidden = p.parent.hidden
	if p.hidden.State != Hidden {
		p.hidden = p.parent.dir.hidden(name, Directory)
	}
}
