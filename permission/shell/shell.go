// Package shell reads a bash command line and says what it would do: which simple commands run, in which directory,
// with which words after quote removal, which files they would open, and whether all of it is provably read-only.
//
//	options := bash.Options{Dir: "/home/me/app", Home: "/home/me"}
//	script, err := shell.Read("cd src && git log --oneline | head -5", options)
//	for _, c := range script.Commands {
//		fmt.Println(c.Argv(), c.Dirs)
//	}
//
// One tree serves for everything: what is allowed, denied, provably read-only and shown to the user comes from one
// reading of one parser. A line goes forward through these packages: bash reads it, program is what is known of its
// programs, prove whether they are read-only, wrap which commands they run, match which rules mean them.
//
// It runs nothing, opens nothing and knows no rules: package permission decides.
package shell

import (
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/wrap"
)

// Read reads a command line as bash would, with the commands that others run. A line with a syntax error gives an error
// although bash runs the lines before it.
func Read(line string, o bash.Options) (*bash.Script, error) {
	return bash.Read(line, o, wrap.Unwrap)
}
