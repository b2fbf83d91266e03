package permission

import (
	"errors"
	"path/filepath"
)

// cache has the facts found while one request is judged, independent of rules and mode: commands name the same paths
// again and again, and offers are tried with known facts. It never outlives the judgment, because files change.
type cache struct {
	disk     Disk // nil: unknown
	steps    int  // of the line that is being judged
	exceeded bool // a line needed more than maxSteps

	git map[string]string // see runsGit
}

// begin returns an engine for one judgment.
func (e engine) begin() engine {
	e.cache = &cache{git: map[string]string{}}
	if e.world.Disk != nil {
		e.disk = e.world.Disk()
	}
	return e
}

// maxSteps bounds the work on one line, in place of its time: a verdict must not depend on how busy the machine is. A
// step is a command or a path that is compared with the rules. Commands that people write need a few hundred.
const maxSteps = 1 << 14

// lookupSteps is the cost of a question that makes the disk search or read files, which the disk bounds too.
const lookupSteps = 16

var errTooLong = errors.New("the command takes too many steps to check")

// step counts n steps and reports whether the limit was exceeded.
func (l *cache) step(n int) bool {
	l.steps += n
	l.exceeded = l.exceeded || l.steps > maxSteps
	return l.exceeded
}

// resolve returns the canonical path, "*" if it is unknown.
func (l *cache) resolve(path string) string {
	if l.disk == nil {
		return filepath.Clean(path)
	}
	return l.disk.Resolve(path)
}

// runsGit says why git may run a program in a directory, or show files outside the workspace.
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
	at := e.resolve(dir)
	top, program, known := e.disk.Git(at)
	switch {
	case !known:
		return "can't determine which programs git runs here"
	case program != "":
		return "git is configured to run " + show(program)
	case top != "" && !e.world.inside(top):
		return "the repository begins outside the workspace"
	}
	return ""
}
