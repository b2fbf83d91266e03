// Package supervisor turns this program into the supervisor of a command before most of it is initialized: a supervisor
// is started for every command, and the tables of the other packages take it more time than its work.
//
// Go initializes the packages of a program in the order of their paths, each after those that it imports. This package
// comes right after the supervisor's own, and before the libraries for Markdown, schemas, HTTP and MCP.
package supervisor

import "github.com/adze-dev/adze/internal/engine/proc"

// Helper is the result of [proc.Main], which doesn't return in a supervisor process.
var Helper = proc.Main()
