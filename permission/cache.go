package permission

import (
	"errors"
	"strings"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/permission/shell/prove"
	"github.com/adze-dev/adze/tool"
)

// cache has the facts found while one request is judged, independent of rules and mode: commands name the same paths again
// and again, and offers are tried with known facts. It never outlives the judgment, because files change.
type cache struct {
	disk     Disk // nil: unknown
	steps    int  // of the line that is being judged
	exceeded bool // a line needed more than maxSteps

	knowsEnforced, isEnforced bool // whether the sandbox enforces reads, once it was asked

	scripts  map[where]script
	resolved map[string]*resolvedPath // by path, as written and as resolved
	git      map[string]string
	secrets  map[search]searched
	managers *string // the part of PATH that belongs to version managers; nil: not known yet
	facts    map[*bash.Command]*fact
}

// search is a search through a directory.
type search struct {
	dir string
	Search
}

// searched is the result of a search: a secret, or none. known: everything was checked.
type searched struct {
	secret string
	known  bool
}

// where is a command line with its working directory.
type where struct{ line, dir string }

// script is a parsed command line.
type script struct {
	*bash.Script
	err    error
	hidden bool // it contains invisible characters
}

// fact is what is known about a simple command.
type fact struct {
	why      string // why it is not read-only; "": it is
	unlisted string // the program, if why is that it's not on the read-only list
	touches  []touchedPath
	targets  []target // targets of all touches
	all      bool     // there are no other paths
	objects  bool     // git may show any file's content from its objects
}

// touchedPath is a path or pattern that a command touches. Its targets are those of the fact up to end, starting where those
// of the previous path end.
type touchedPath struct {
	prove.Touch
	end int
}

// begin returns an engine for one judgment.
func (e engine) begin() engine {
	e.cache = &cache{
		scripts: map[where]script{}, resolved: map[string]*resolvedPath{},
		git: map[string]string{}, secrets: map[search]searched{}, facts: map[*bash.Command]*fact{},
	}
	if e.world.Disk != nil {
		e.disk = e.world.Disk()
	}
	return e
}

// maxSteps bounds the work on one line, in place of its time: a verdict must not depend on how busy the machine is. A step
// is a command or a path that is compared with the rules. Commands that people write need a few hundred.
const maxSteps = 1 << 16

// lookupSteps is the cost of a question that makes the disk search or read files, which the disk bounds too.
const lookupSteps = 16

var errTooLong = errors.New("the command takes too many steps to check")

// step counts n steps and reports whether the limit was exceeded. Once it was, it always reports true: facts that were found
// until then are incomplete.
func (l *cache) step(n int) bool {
	l.steps += n
	l.exceeded = l.exceeded || l.steps > maxSteps
	return l.exceeded
}

// read parses a command line once.
func (l *cache) read(line, dir, home string) script {
	at := where{line, dir}
	s, known := l.scripts[at]
	if !known {
		s.Script, s.err = shell.Read(line, bash.Options{Dir: dir, Home: home})
		s.hidden = tool.Hidden(line)
		l.scripts[at] = s
	}
	return s
}

// secret returns the secret that a search would read. It searches once.
func (e *engine) secret(dir string, s Search) searched {
	if e.pass == quick {
		return searched{}
	}
	l := e.cache
	found, done := l.secrets[search{dir, s}]
	if !done && !l.step(lookupSteps) {
		if at := l.disk.Resolve(dir); s != prove.Tracked && (lies(e.world.state, at) || lies(at, e.world.state) && !lies(at, e.world.spill)) {
			found.secret, found.known = e.world.state, true
		} else {
			found.secret, found.known = l.disk.Secret(dir, s)
		}
		l.secrets[search{dir, s}] = found
	}
	return found
}

// fact determines what a command does.
func (e *engine) fact(c *bash.Command) *fact {
	f, known := e.facts[c]
	if known {
		return f
	}
	f = &fact{all: true}
	e.facts[c] = f
	proof := prove.Prove(c)
	if e.pass == held {
		proof = prove.ProveHeld(c)
		f.all, f.objects = !proof.Open, proof.Objects
	}
	f.why, f.unlisted = proof.Why, proof.Unlisted
	for i := 0; i < len(proof.Git) && f.why == ""; i++ {
		f.why = e.runsGit(proof.Git[i])
	}
	if f.why == "" && e.pass != held {
		f.why = e.managed(c.Name())
	}
	for i := 0; i < len(proof.Git) && f.why == "" && proof.Whole && e.pass != held; i++ { // the sandbox hides what is outside
		f.why = e.addWorktree(&proof, proof.Git[i])
	}
	room := len(c.Words) + len(c.Redirs)
	if f.why == "" {
		room = len(proof.Touches)
	}
	f.touches, f.targets = make([]touchedPath, 0, room), make([]target, 0, room)
	switch {
	case f.why == "":
		for _, t := range proof.Touches {
			if !e.touch(f, t) {
				break
			}
		}
	case e.pass == held: // it requires approval, whatever it reads
	case !c.MayRun:
		f.all = match.Mentions(c, func(t prove.Touch) bool { return e.touch(f, t) })
	}
	return f
}

// touch adds a path and its targets. It reports false if there are too many.
func (e *engine) touch(f *fact, t prove.Touch) bool {
	cost := 1
	if t.Pattern != prove.Exact || t.Scope.Deep() {
		cost = lookupSteps
	}
	if e.step(cost) {
		return false
	}
	if t.Inside && e.disk != nil {
		if found, ok := e.disk.Glob(t.Path[:strings.LastIndexByte(t.Path, '/')] + "/."); ok && len(found) == 0 {
			return true
		}
	}
	f.targets = e.targets(f.targets, t)
	f.touches = append(f.touches, touchedPath{t, len(f.targets)})
	return !e.exceeded
}

// runsGit says why git may run a program in a directory.
func (e *engine) runsGit(dir string) string {
	why, known := e.git[dir]
	if !known {
		e.step(lookupSteps)
		why = e.lookGit(dir)
		e.git[dir] = why
	}
	return why
}

func (e *engine) lookGit(dir string) string {
	if e.disk == nil {
		return "can't determine which programs git runs here"
	}
	program, known := e.disk.Git(e.at(dir).path)
	switch {
	case !known:
		return "can't determine which programs git runs here"
	case program != "":
		return "git is configured to run " + show(program)
	}
	return ""
}
