// Package adze is a coding agent in a program: a model that works in a directory with Adze's tools.
//
//	func main() {
//		adze.Main() // first in main
//		a, err := adze.New(adze.Dir("."), adze.Model("qwen3-coder-plus"), adze.Ask(adze.OnTerminal))
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer a.Close()
//		if err := adze.Print(os.Stdout, a.Run(context.Background(), "Fix the failing test.")); err != nil {
//			log.Print(err)
//		}
//	}
//
// # Safe without options
//
// Only [Dir] is required. Without [Ask], calls that require approval are denied. No settings, hooks, skills, MCP
// servers, context files and .env files of the user or the project are read, unless [Settings] says so. Commands that
// aren't approved run in Adze's sandbox, which needs [Main].
//
// # Main
//
// Each command has a helper process, which also enters its sandbox: the program's own binary, executed again. In these
// processes Main doesn't return. What runs before it, runs in them too: the initialization of packages, their variables
// and init functions. So a program calls Main before it reads flags, opens files or listens. A test calls it in
// TestMain, before m.Run.
//
// # The packages behind it
//
//	tool        tools, the registry, and the executor that runs a model's calls
//	builtin     the built-in tools
//	permission  which calls run without approval, require approval, or are denied
//	agent       a conversation with a model that calls tools; model/openai is such a model
//	discover    external tools: MCP servers, a project's own command
//	serve       an MCP server for the tools
//	hook        functions and commands that run before and after calls
//	journal     recorded sessions
//
// Importing these packages has no side effects.
package adze

import (
	"sync/atomic"

	"github.com/adze-dev/adze/builtin"
)

// Helper is the result of [Main], for [builtin.Options].
type Helper = builtin.Helper

// helper is the result of Main; nil: it wasn't called. It is a fact about the process, as its arguments are.
var helper atomic.Pointer[Helper]

// Main must be the first call in the main function of a program that runs commands with Adze's tools. Each command has
// a helper process, which also enters its sandbox: this program's own binary, executed again. In those processes Main
// doesn't return.
//
// Without the call, [New] fails on Linux unless [WithoutSandbox] is set. With package builtin alone there are no helper
// processes then: commands are stopped by process group, run without a sandbox if that is optional, and don't run if it
// is required. Results say so.
func Main() Helper {
	h := builtin.Main()
	helper.Store(&h)
	return h
}
