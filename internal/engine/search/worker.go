package search

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// worker is one of the threads of a walk, with its reused buffers.
type worker struct {
	walk    *walk
	visitor visitor
	sum     Summary
	list    dirEntries
	files   []dirEntry
	jobs    []job
}

func (k *worker) loop() {
	for {
		j, ok := k.walk.take()
		if !ok {
			k.visitor.done()
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

// enter opens and visits a directory.
func (k *worker) enter(j job) {
	at := j.at
	if at == nil {
		f, err := k.openJob(j)
		if err != nil {
			if err != errSkip {
				k.sum.problem(j.path(), err)
			}
			return
		}
		at = k.walk.hold(f, nil, j.base)
	}
	defer k.walk.leave(at)
	if k.walk.scope.Withhold != nil {
		var all bool
		if all, at.withheld = k.walk.scope.Withhold(filepath.FromSlash(cmp.Or(j.path(), "/"))); all {
			k.sum.Closed++
			return
		}
	}
	if err := at.handle.list(&k.list); err != nil {
		k.sum.problem(j.path(), err)
		return
	}
	if at.rules == nil {
		var marks ignore.Marks
		for _, e := range k.list.entries {
			marks |= j.rules.Mark(view(k.list.name(e)))
		}
		at.rules = j.rules.Enter(j.name, marks)
	}
	k.sort(at)
	k.visitAll(at, &k.list, k.files)
}

func (k *worker) openJob(j job) (dirHandle, error) {
	if j.parent == nil {
		return k.walk.open(j.path(), false)
	}
	f, err := j.parent.handle.enter(j.name)
	k.walk.leave(j.parent)
	return f, err
}

// sort separates the entries of a directory: directories go to the stack, files stay in k.files.
func (k *worker) sort(at *openDir) {
	k.files, k.jobs = k.files[:0], k.jobs[:0]
	rel := at.rel()
	keepOpen := k.walk.live.Load() < maxLive
	for _, e := range k.list.entries {
		raw := k.list.name(e)
		name := view(raw)
		if e.kind == unknownKind {
			e.kind, _, _ = at.handle.stat(raw, false)
		}
		if k.walk.whole {
			if e, ok := k.whole(at, e, name); ok {
				k.files = append(k.files, e)
			}
			if e.kind != directory || !k.enters(at, name) {
				continue
			}
			k.jobs = append(k.jobs, k.below(at, raw, keepOpen))
			continue
		}
		if name[0] == '.' && (k.walk.scope.SkipHidden || name == ".git") {
			continue
		}
		if e.kind == other || (e.kind == link && !k.walk.links) || !k.allowed(at, name, e.kind) {
			continue
		}
		if e.kind != directory {
			if k.walk.filter.file(rel, name) {
				k.files = append(k.files, e)
			}
			continue
		}
		if !k.walk.filter.mayContain(rel, name) || (k.walk.named != nil && k.walk.named[at.path()+"/"+name]) {
			continue
		}
		if tooDeep(at, name) {
			k.sum.problem(at.path(), errTooDeep)
			continue
		}
		k.jobs = append(k.jobs, k.below(at, raw, keepOpen))
	}
	if len(k.jobs) > 0 {
		k.walk.give(k.jobs)
	}
}

// MaxPath is the length from which a path is too long for the system. Only relative paths lead to what is there, so
// directories with such a path aren't entered.
const MaxPath = 4096

var errTooDeep = errors.New("it contains a directory that is too deep")

func tooDeep(at *openDir, name string) bool { return len(at.path())+1+len(name) >= MaxPath }

// below returns the job to visit a subdirectory.
func (k *worker) below(at *openDir, name []byte, keepOpen bool) job {
	j := job{name: string(name), rules: at.rules, base: at.base}
	if keepOpen {
		at.users.Add(1)
		j.parent = at
	}
	return j
}

// allowed applies the ignore rules to an entry and counts what they omit.
func (k *worker) allowed(at *openDir, name string, kd kind) bool {
	var v ignore.Verdict
	if k.walk.scope.NoIgnore {
		v = at.rules.Refusal(name, kd == directory)
	} else {
		v = at.rules.Match(name, kd == directory)
	}
	switch v.State {
	case ignore.Hidden:
		k.sum.Ignored++
	case ignore.Refused:
		k.sum.Refused++
	default:
		return true
	}
	return false
}

// visitAll visits files of one directory; an idle worker gets half of the remaining ones.
func (k *worker) visitAll(at *openDir, names *dirEntries, files []dirEntry) {
	for i := 0; i < len(files); i++ {
		if k.walk.stop.Load() {
			return
		}
		if left := len(files) - i; k.walk.heavy && left >= 16 && i%8 == 0 && k.walk.hungry.Load() {
			files = files[:len(files)-k.share(at, names, files[i+left/2:])]
		}
		k.sum.Seen++
		k.visitor.visit(at, names.name(files[i]), files[i].kind)
	}
}

// share pushes files of a directory on the stack and returns how many.
func (k *worker) share(at *openDir, names *dirEntries, files []dirEntry) int {
	copied := &dirEntries{}
	for _, e := range files {
		copied.add(view(names.name(e)), e.kind)
	}
	at.users.Add(1)
	k.walk.give([]job{{files: copied, at: at}})
	return len(files)
}
