// Package adze is the entry point for programs that embed Adze. The packages behind it:
//
//	tool        tools, the registry, and the executor that runs a model's calls
//	builtin     the built-in tools
//	permission  which calls run without approval, require approval, or are denied
//	agent       a conversation with a model that calls tools; model/openai is such a model
//	discover    external tools: MCP servers, a project's own command
//	serve       an MCP server for the tools
//
// A program calls [Main] first. Importing these packages has no side effects.
package adze

import "github.com/adze-dev/adze/builtin"

// Helper is the result of [Main], for [builtin.Options].
type Helper = builtin.Helper

// Main must be the first call in the main function of a program that runs commands with Adze's tools. Each command has
// a helper process, which also enters its sandbox: this program's own binary, executed again. In those processes Main
// doesn't return.
//
// Without the call there are no helper processes: commands are stopped by process group, run without a sandbox if that
// is optional, and don't run if it is required. Results say so.
func Main() Helper { return builtin.Main() }
