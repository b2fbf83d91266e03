// Package shell reads a bash command line and says what it would do: which simple commands run, in which directory,
// with which words after quote removal, and which files they would open.
//
//	options := bash.Options{Dir: "/home/me/app", Home: "/home/me"}
//	script, err := shell.Read("cd src && git log --oneline | head -5", options)
//	for _, c := range script.Commands {
//		fmt.Println(c.Argv(), c.Dirs)
//	}
//
// A line goes forward through these packages: bash reads it, program is what is known of its programs, wrap finds the
// commands that they run, match the rules that apply to them, form those that obviously only read.
//
// It runs nothing, opens nothing and knows no rules: package permission decides.
package shell

import (
	"slices"
	"sync"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/wrap"
)

// Read reads a command line as bash would, with the commands that others run. A line with a syntax error gives an error
// although bash runs the lines before it.
func Read(line string, o bash.Options) (*bash.Script, error) {
	return bash.Read(line, o, wrap.Unwrap)
}

// Lines reads each line of a session once: the sandbox, the verdict and the prompt of a call are based on one script,
// which must not be changed. The zero value is ready to use, by several goroutines.
type Lines struct {
	mu   sync.Mutex
	read []readLine // the oldest first
}

type readLine struct {
	line    string
	options bash.Options
	script  *bash.Script
	err     error
}

// maxLines is the number of lines that are kept: the calls of a turn, which are prepared before they are judged.
const maxLines = 8

// Read is [Read] for a line that may have been read before.
func (l *Lines) Read(line string, o bash.Options) (*bash.Script, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.read, func(r readLine) bool { return r.line == line && r.options == o })
	if i < 0 {
		r := readLine{line: line, options: o}
		r.script, r.err = Read(line, o)
		i = len(l.read)
		l.read = append(l.read, r)
	}
	found := l.read[i]
	l.read = l.read[max(0, len(l.read)-maxLines):]
	return found.script, found.err
}
