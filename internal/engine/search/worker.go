package search

import (
	"cmp"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// worker is one of the threads of a walk, with its reused buffers.
type worker struct {
	walk  *walk
	list  dirEntries
	files []dirEntry
	jobs  []job

	mu    sync.Mutex
	seats []*seat // of the members; nil: it left
	file  visited
}

// each calls do for those of the members that are still here.
func (k *worker) each(who members, do func(*seat) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range k.seats {
		if s == nil || !who.has(i) {
			continue
		}
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

func (k *worker) loop() {
	for {
		j, ok := k.walk.take()
		if !ok {
			k.each(^members(0), func(s *seat) error {
				s.visitor.done()
				s.sorted = true
				return nil
			})
			return
		}
		if j.files != nil {
			k.visitAll(j.at, j.files, j.files.entries)
			k.walk.leave(j.at)
			continue
		}
		k.enter(j)
	}
}

// problem adds a directory that couldn't be searched.
func (k *worker) problem(who members, path string, err error) {
	k.each(who, func(s *seat) error {
		s.sum.problem(path, err)
		return nil
	})
}

// enter opens and visits a directory.
func (k *worker) enter(j job) {
	at := j.at
	if at == nil {
		f, err := k.openJob(j)
		if err != nil {
			if err != errSkip {
				k.problem(j.who, j.path(), err)
			}
			return
		}
		at = k.walk.hold(f, nil, j.base)
	}
	defer k.walk.leave(at)
	if j.who = k.admit(at, &j); j.who == 0 {
		return
	}
	list, err := k.look(at, &j)
	if err != nil {
		k.problem(j.who, j.path(), err)
		return
	}
	k.sort(at, list, j.who)
	k.visitAll(at, list, k.files)
}

// admit returns the members that search a directory, and sets what is withheld from them.
func (k *worker) admit(at *openDir, j *job) (who members) {
	k.mu.Lock()
	defer k.mu.Unlock()
	path := ""
	for i, s := range k.seats {
		if s == nil || !j.who.has(i) {
			continue
		}
		if withhold := s.member.scope.Withhold; withhold != nil {
			if path == "" {
				path = filepath.FromSlash(cmp.Or(j.path(), "/"))
				at.withheld = make([]func(string) bool, len(k.seats))
			}
			var all bool
			if all, at.withheld[i] = withhold(path); all {
				s.sum.Closed++
				continue
			}
		}
		who |= 1 << i
	}
	return who
}

func (k *worker) openJob(j job) (dirHandle, error) {
	if j.parent == nil {
		return k.walk.open(j.path(), false)
	}
	f, err := j.parent.handle.enter(j.name)
	k.walk.leave(j.parent)
	return f, err
}

// sort separates the entries of a directory: directories go to the stack, files to k.files.
func (k *worker) sort(at *openDir, list *dirEntries, who members) {
	k.files, k.jobs = k.files[:0], k.jobs[:0]
	rel := at.rel()
	keepOpen := k.walk.live.Load() < maxLive
	k.mu.Lock()
	for _, e := range list.entries {
		raw := list.name(e)
		name := view(raw)
		if k.walk.tree != nil {
			if e.who = who; e.kind == directory && !k.enters(at, name) {
				e.kind = shut
			}
			if !k.skipped(at, name) {
				k.files = append(k.files, e)
			}
			if e.kind == directory {
				k.jobs = append(k.jobs, k.below(at, raw, e.who, keepOpen))
			}
			continue
		}
		for i, s := range k.seats {
			if s != nil && who.has(i) && s.wants(rel, name, e) {
				e.who |= 1 << i
			}
		}
		switch {
		case e.who == 0:
		case e.kind != directory:
			k.files = append(k.files, e)
		case k.walk.named != nil && k.walk.named[at.path()+"/"+name]:
		case tooDeep(at, name):
			for i, s := range k.seats {
				if s != nil && e.who.has(i) {
					s.sum.problem(at.path(), errTooDeep)
				}
			}
		default:
			k.jobs = append(k.jobs, k.below(at, raw, e.who, keepOpen))
		}
	}
	k.mu.Unlock()
	if len(k.jobs) > 0 {
		k.walk.give(k.jobs)
	}
}

// wants applies the rules and filters of a member to an entry, and counts what rules omit.
func (s *seat) wants(rel, name string, e dirEntry) bool {
	m := s.member
	switch {
	case name[0] == '.' && (m.scope.SkipHidden || name == ".git"), e.kind == other, e.kind == link && m.reads:
		return false
	case ignore.State(e.state) == ignore.Refused:
		s.sum.Refused++
		return false
	case ignore.State(e.state) == ignore.Hidden && !m.scope.NoIgnore:
		s.sum.Ignored++
		return false
	case e.kind == directory:
		return m.filter.mayContain(rel, name)
	}
	return m.filter.file(rel, name)
}

// MaxPath is the length from which a path is too long for the system. Only relative paths lead to what is there, so
// directories with such a path aren't entered.
const MaxPath = 4096

var errTooDeep = errors.New("it contains a directory that is too deep")

func tooDeep(at *openDir, name string) bool { return len(at.path())+1+len(name) >= MaxPath }

// below returns the job to visit a subdirectory.
func (k *worker) below(at *openDir, name []byte, who members, keepOpen bool) job {
	j := job{name: string(name), rules: at.rules, base: at.base, who: who}
	if keepOpen {
		at.users.Add(1)
		j.parent = at
	}
	return j
}

// visitAll visits files of one directory; an idle worker gets half of the remaining ones.
func (k *worker) visitAll(at *openDir, names *dirEntries, files []dirEntry) {
	heavy := k.walk.reads || k.walk.tree != nil
	for i := 0; i < len(files); i++ {
		if k.walk.stop.Load() {
			return
		}
		if left := len(files) - i; heavy && left >= 16 && i%8 == 0 && k.walk.hungry.Load() {
			files = files[:len(files)-k.share(at, names, files[i+left/2:])]
		}
		k.visit(at, names.name(files[i]), files[i])
	}
}

// visit visits a file for its members.
func (k *worker) visit(at *openDir, name []byte, e dirEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := &k.file
	f.at, f.name, f.kind = at, name, e.kind
	others := e.who&(e.who-1) != 0
	opened := !k.walk.reads
	var began time.Time
	for i, s := range k.seats {
		if s == nil || !e.who.has(i) || s.member.stop.Load() {
			continue
		}
		if others {
			began = time.Now()
		}
		f.withheld = at.withheld != nil && at.withheld[i] != nil && at.withheld[i](view(name))
		if !opened && !f.withheld {
			f.content.open(at, name)
			defer f.content.close()
			opened, began = true, time.Now()
		}
		s.sum.Seen++
		s.visitor.visit(f)
		if others {
			k.spend(s, time.Since(began))
		}
	}
}

// share pushes files of a directory on the stack and returns how many.
func (k *worker) share(at *openDir, names *dirEntries, files []dirEntry) int {
	copied := &dirEntries{}
	for _, e := range files {
		copied.add(view(names.name(e)), e.kind)
		copied.entries[len(copied.entries)-1].who = e.who
	}
	at.users.Add(1)
	k.walk.give([]job{{files: copied, at: at}})
	return len(files)
}
