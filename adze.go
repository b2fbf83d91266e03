// Package adze is the door for programs that use Adze as a library. The rooms behind it:
//
//	tool        what a tool is, the registry, and the executor that a model's calls go through
//	builtin     the tools themselves
//	permission  which calls run unasked, which ask, which are refused
//	agent       a conversation with a model in which it calls tools; model/openai is such a model
//	discover    external tools: MCP servers, a project's own command
//	serve       tools to outside: an MCP server
//
// Only one thing must be done at the very start of a program, and it is here: [Main]. Nothing else in this package
// does anything, and no other package does anything when it is imported.
package adze

import "github.com/adze-dev/adze/builtin"

// Helper is what [Main] returns, for [builtin.Options].
type Helper = builtin.Helper

// Main must be the first call in the main function of a program that runs commands with Adze's tools. Such a command has a
// keeper, and in a sandbox it is the keeper that enters it: both are this program's own binary, executed again. In
// those processes Main does not return.
//
// A program that does not call it is never executed again. Its commands are ended by process group, they run without a
// sandbox where that was only a precaution, and do not run where the sandbox was demanded; results say so.
func Main() Helper { return builtin.Main() }
