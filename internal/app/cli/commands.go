package cli

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/configimport"
)

// commands is the one list of commands, in the order of the help.
func commands() []command {
	return slices.Concat(workCommands(), sessionCommands(), serverCommands(), pluginCommands(), configCommands(),
		otherCommands())
}

func workCommands() []command {
	return []command{
		{words: "[PROMPT…]", about: "open a conversation, or run one prompt", run: runPrompt, help: `
adze -p "what does main.go do?"
adze -p "add a --verbose flag" --approval-mode auto-edit
git diff | adze -p "write a commit message for this"
adze -p "list the tests" --output-format json
adze -p "compare @main.go with @docs:style://go"    # attach a file and a resource of the MCP server docs
adze -p "/help"                                     # list slash commands
adze -c -p "and now the tests"                      # continue the newest session of this directory`},
		{name: "acp", about: "serve an editor with the Agent Client Protocol, on stdin and stdout",
			usage: "acp", run: serveEditor, help: `
adze acp
adze acp --approval-mode plan --model qwen3-coder

In Zed, add to settings.json:
  "agent_servers": {"Adze": {"type": "custom", "command": "adze", "args": ["acp"]}}`},
		{name: "fleet", words: "COMMAND", about: "run many tasks, on this machine or on many (needs adze-fleet)", homeless: true, run: runFleet, help: `
adze fleet run tasks.jsonl              # run the tasks of a file; the same command continues
adze fleet status                       # runs; with a name, the tasks of a run
adze fleet logs RUN/TASK -f             # what happens in a task
adze fleet collect RUN -o out           # write the results of a run
adze fleet retry RUN                    # run the tasks again that didn't pass
adze fleet cancel RUN                   # stop a run
adze fleet server                       # run a queue for workers on this machine
adze fleet worker --server URL          # take tasks from a queue
adze fleet help                         # all flags

These are commands of adze-fleet, which is in each release. From source:
` + fleetInstall},
		{name: "models", about: "list the models that you can use",
			usage: "models [--json]", run: inSession(listModels), help: `
adze models
adze models --json
adze models --auth-type anthropic`},
		{name: "tool list", about: "list tools",
			usage: "tool list [--json]", run: inSession(toolList), help: `
adze tool list
adze tool list --json`},
		{name: "tool show", words: "NAME", noun: aTool, about: "show a tool's description and parameters",
			usage: "tool show NAME [--json]", run: inSession(toolShow), help: `
adze tool show read_file`},
		{name: "tool call", words: "NAME JSON", noun: aTool, about: "call a tool (JSON - reads stdin)",
			usage: "tool call NAME JSON [--json] [--dry-run]", run: toolCall, help: `
adze tool call list_directory '{"path":"'"$PWD"'"}'
adze tool call write_file '{"file_path":"/tmp/x","content":"hi\n"}' --dry-run
echo '{"absolute_path":"/etc/hostname"}' | adze tool call read_file - --json

Exit codes: 0 success, 1 the tool failed, 2 wrong usage, 3 permission denied, 130 interrupted.`},
		{name: "tool run", about: `run tool calls from stdin, JSON Lines {"id","name","args"}`,
			usage: "tool run < calls.jsonl", run: toolRun, help: `
adze tool run --approval-mode auto-edit < calls.jsonl`},
	}
}

func sessionCommands() []command {
	return []command{
		{name: "diff", words: "[SESSION|CALL] [-- PATH…]", noun: aSession,
			about: "print what a session or a call changed, for git apply", run: inSession(runDiff), help: `
adze diff                                           # what the newest session of this directory changed
adze diff 3f2a --stat                               # the files that a session changed
adze diff call_2 -- src                             # what one call changed in a directory
adze diff > session.patch                           # git apply session.patch applies it, with -R reverts it

Exit code 3: some changes aren't in the diff (secret files, files over 32 MB, what isn't saved).`},
		{name: "undo", words: "[-- PATH…]", about: "undo what calls of a session changed on disk", run: runUndo, help: `
adze undo                                           # undo the last call that changed files
adze undo -- src/a.go                               # undo only what it changed in a file or a directory
adze undo --turn 3 --dry-run                        # show what an undo of a turn would do
adze undo --all --yes                               # undo everything that the session changed`},
		{name: "redo", words: "[-- PATH…]", about: "redo the last undo", run: runRedo, help: `
adze redo
adze redo --session 3f2a --yes`},
		{name: "session list", about: "list recorded sessions",
			usage: "session list [--all] [--json]", run: sessionList, help: `
adze session list
adze session list --all --json`},
		{name: "usage", about: "show tokens and cost of recorded sessions, by day and model",
			usage: "usage [--days N] [--json]", run: runUsage, help: `
adze usage
adze usage --days 7 --json`},
		{name: "session show", words: "ID", noun: aSession, about: "show a recorded session",
			usage: "session show ID [--json]", run: sessionShow, help: `
adze session show 3f2a
adze session show 3f2a --json`},
		{name: "session search", words: "WORDS…", about: "find prompts, answers and results in all sessions",
			run: sessionSearch, help: `
adze session search login redirect                  # texts with both words, in any case
adze session search 'connection refused' --json`},
		{name: "session fork", words: "ID [SEQ]", noun: aSession, about: "copy a session, up to an entry, and print the ID of the copy", run: sessionFork, help: `
adze session fork 3f2a
adze session fork 3f2a 120`},
		{name: "session delete", words: "ID…", noun: aSession, about: "delete sessions", run: sessionDelete, help: `
adze session delete 3f2a
adze session delete --older 90d  # list the sessions that weren't used for 90 days, and ask`},
		{name: "session export", words: "ID", noun: aSession, about: "print a session as Markdown, HTML or JSON",
			usage: "session export ID [--format md|html|json]", run: sessionExport, help: `
adze session export 3f2a > session.md
adze session export 3f2a --format html > session.html`},
		{name: "session replay", words: "ID", noun: aSession,
			about: "play a recorded session, in the terminal or into a file",
			usage: "session replay ID [--speed N] [--cast FILE] [--svg FILE]", run: sessionReplay, help: `
adze session replay 3f2a
adze session replay 3f2a --speed 4
adze session replay 3f2a --cast session.cast --svg session.svg

No model and no tool runs. Pauses longer than 2 s are shortened to 2 s.
Space pauses; q, Esc or Ctrl+C ends the replay. Files have 80 columns and 24 rows.`},
	}
}

func serverCommands() []command {
	return []command{
		{name: "mcp list", about: "list MCP servers and their status",
			usage: "mcp list [--json]", run: inSession(mcpList), help: `
adze mcp list
adze mcp list --json`},
		{name: "mcp tools", words: "NAME", noun: aServer, about: "list an MCP server's tools, prompts and resources",
			usage: "mcp tools NAME [--json]", run: mcpTools, help: `
adze mcp tools github`},
		{name: "mcp logs", words: "NAME", noun: aServer, about: "show an MCP server's recent log",
			usage: "mcp logs NAME", run: inSession(mcpLogs), help: `
adze mcp logs github`},
		{name: "mcp add", words: "NAME [COMMAND [ARGS…]]", about: "add an MCP server to the settings", run: mcpAdd, help: `
adze mcp add files npx -y @modelcontextprotocol/server-filesystem .
adze mcp add --env 'TOKEN=$GITHUB_TOKEN' github github-mcp-server stdio
adze mcp add --scope project docs --http https://example.com/mcp --header 'X-Key: $DOCS_KEY'

Put Adze flags before COMMAND; everything after it is passed to the server.
$VAR is expanded when the server starts.`},
		{name: "mcp remove", words: "NAME", noun: aServer, about: "remove an MCP server from the settings",
			usage: "mcp remove [--scope user|project] NAME", run: mcpRemove, help: `
adze mcp remove files`},
		{
			name: "mcp login", words: "NAME", noun: aServer, about: "log in to an MCP server, in a browser",
			run: mcpLogin,
		},
		{name: "mcp logout", words: "NAME", noun: aServer, about: "log out of an MCP server", run: mcpLogout},
		{
			name: "mcp reconnect", words: "[NAME]", noun: aServer, about: "reconnect one or all MCP servers",
			run: mcpReconnect,
		},
		{name: "mcp serve", about: "run Adze as an MCP server",
			usage: "mcp serve [--cwd DIR] [--tools a,b] [--http 127.0.0.1:PORT] [FLAGS]", run: mcpServe, help: `
adze mcp serve --cwd ~/app
adze mcp serve --tools read_file,grep_search,glob
adze mcp serve --http 127.0.0.1:8931

Calls that need approval are sent to the client (elicitation) if it supports that, and denied otherwise.`},
	}
}

func configCommands() []command {
	return []command{
		{name: "config list", about: "list settings, their values and where they are set",
			usage: "config list [--json]", run: configList, help: `
adze config list
adze config list --json`},
		{name: "config get", words: "KEY", noun: aSetting, about: "show the value of a setting",
			usage: "config get KEY [--json]", run: configGet, help: `
adze config get tools.approvalMode
adze config get permissions.allow --json`},
		{name: "config set", words: "KEY VALUE", noun: aSetting, about: "change a setting", run: configSet,
			usage: "config set [--scope user|project] KEY VALUE", help: `
adze config set model.name gpt-5
adze config set tools.core '["read_file", "grep_search"]'
adze config set --scope project tools.sandbox workspace

VALUE is JSON. Anything else is a string.`},
		{name: "config unset", words: "KEY", noun: aSetting, about: "remove a setting",
			usage: "config unset [--scope user|project] KEY", run: configUnset, help: `
adze config unset model.name`},
		{name: "config import", words: "AGENT", about: "import the settings of another agent", run: configImport,
			usage: "config import [--scope user|project] [--yes] " + strings.Join(configimport.Agents(), "|"), help: `
adze config import claude
adze config import codex --scope project

It reads the agent's permissions, MCP servers, hooks and model in your home directory, or with --scope project in the
project. It prints what it would write to your settings file of that scope and what it can't import, and asks.
Rules become equal or stricter ones. Keys, tokens, variables and headers are named, never copied.`},
		{name: "config path", about: "print the path of your settings file",
			usage: "config path [--scope user|project] [--json]", run: configPath, help: `
adze config path
adze config path --scope project
adze config path --json    # all settings files, weakest first`},
		{name: "config schema", about: "print the JSON Schema of settings files",
			usage: "config schema", run: configSchema, help: `
adze config schema > settings.schema.json`},
	}
}

func otherCommands() []command {
	return []command{
		{name: "memory show", about: "show the loaded context files (AGENTS.md, QWEN.md)",
			usage: "memory show", run: inSession(showMemory), help: `
adze memory show`},
		{name: "permission check", words: "-- 'COMMAND'", about: "show whether a command would be allowed, and why", run: permissionCheck, help: `
adze permission check -- 'git log --oneline | head'
adze permission check --allow 'Shell(make:*)' -- 'make test && rm -rf build'
adze permission check --batch < questions.jsonl

Exit codes: 0 it runs, perhaps in a trial first, 2 wrong usage, 3 you would be asked, 4 it would be denied.`},
		{name: "sandbox run", words: "-- COMMAND", about: "run a command in the sandbox", run: sandboxRun, help: `
adze sandbox run -- make test
adze sandbox run --mode read-only -- sh -c 'touch x'
adze sandbox run --mode trial -- make               # show what it would change, and ask to keep it`},
		{name: "doctor", about: "check your setup", usage: "doctor", run: runDoctor},
		{name: "trust", words: "[DIR]", noun: aDirectory, about: "review and trust a project's settings", run: runTrust, help: `
adze trust
adze trust --remove`},
		{name: "demo", about: "run a demo with a prerecorded model", usage: "demo", homeless: true, run: runDemo, help: `
adze demo`},
		{name: "completion", words: "SHELL", noun: aShell,
			about: "print a completion script for bash, zsh, fish or powershell", homeless: true,
			usage: "completion bash|zsh|fish|powershell", run: printCompletion, help: `
adze completion bash > ~/.local/share/bash-completion/completions/adze
adze completion zsh > "${fpath[1]}/_adze"
adze completion fish > ~/.config/fish/completions/adze.fish
adze completion powershell >> $PROFILE`},
		{name: "man", about: "print the manual page", homeless: true,
			usage: "man", run: printMan, help: `
adze man | man -l -`},
		{name: "__complete", words: "SHELL -- WORD…", about: "complete a word", hidden: true, run: completeWords},
		{name: "version", about: "print the version", usage: "version [--json]", homeless: true, run: printVersion},
		{name: "help", words: "[COMMAND]", noun: aCommand, about: "show help for adze or a command", run: runHelp},
	}
}
