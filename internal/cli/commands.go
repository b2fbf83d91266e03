package cli

// commands is the one list of commands, in the order of the help.
func commands() []command {
	return []command{
		{words: "[PROMPT…]", about: "do what the prompt says, headless", run: runPrompt, help: `
adze -p "what does main.go do?"
adze -p "add a --verbose flag" --approval-mode auto-edit
git diff | adze -p "write a commit message for this"
adze -p "list the tests" --output-format json
adze -p "compare @main.go with @docs:style://go"      a file, and a resource of the MCP server docs
adze -p "/help"                                       the commands that a prompt can begin with`},
		{name: "tool list", about: "list the tools", run: toolList, help: `
adze tool list
adze tool list --json`},
		{name: "tool show", words: "NAME", about: "show what a tool takes", run: toolShow, help: `
adze tool show read_file`},
		{name: "tool call", words: "NAME JSON", about: "call a tool; - takes the JSON from stdin", run: toolCall, help: `
adze tool call list_directory '{"path":"'"$PWD"'"}'
adze tool call write_file '{"file_path":"/tmp/x","content":"hi\n"}' --dry-run
echo '{"absolute_path":"/etc/hostname"}' | adze tool call read_file - --json

Exit codes: 0 success, 1 the tool failed, 2 usage, 3 refused, 130 cancelled.`},
		{name: "tool run", about: `run the calls {"id","name","args"} that come line by line on stdin`, run: toolRun, help: `
adze tool run --approval-mode auto-edit < calls.jsonl`},
		{name: "mcp list", about: "list the MCP servers, what they do and what they offer", run: mcpList, help: `
adze mcp list
adze mcp list --json`},
		{name: "mcp tools", words: "NAME", about: "list the tools, prompts and resources of an MCP server", run: mcpTools, help: `
adze mcp tools github`},
		{name: "mcp logs", words: "NAME", about: "print the last lines that an MCP server said", run: mcpLogs, help: `
adze mcp logs github`},
		{name: "mcp add", words: "NAME [COMMAND [ARGS…]]", about: "add an MCP server to the settings", run: mcpAdd, help: `
adze mcp add files npx -y @modelcontextprotocol/server-filesystem .
adze mcp add --env 'TOKEN=$GITHUB_TOKEN' github github-mcp-server stdio
adze mcp add --scope project docs --http https://example.com/mcp --header 'X-Key: $DOCS_KEY'

Flags stand before the command; what follows it is the command's. $VAR is filled in when the server is used.`},
		{name: "mcp remove", words: "NAME", about: "remove an MCP server from the settings", run: mcpRemove, help: `
adze mcp remove files`},
		{name: "mcp login", words: "NAME", about: "log in at an MCP server, in a browser", run: mcpLogin},
		{name: "mcp logout", words: "NAME", about: "forget the login at an MCP server", run: mcpLogout},
		{name: "mcp reconnect", words: "[NAME]", about: "start an MCP server anew, or all, and read again what it offers", run: mcpReconnect},
		{name: "mcp serve", about: "offer the tools to other programs, as an MCP server on stdin and stdout", run: mcpServe, help: `
adze mcp serve --cwd ~/app
adze mcp serve --tools read_file,grep_search,glob
adze mcp serve --http 127.0.0.1:8931

The client shows approval requests to its user where it can; otherwise calls that require approval are denied.`},
		{name: "memory show", about: "show what the context files tell every model", run: showMemory, help: `
adze memory show`},
		{name: "permission check", words: "-- 'COMMAND'", about: "explain whether a command would be allowed, and why", run: permissionCheck, help: `
adze permission check -- 'git log --oneline | head'
adze permission check --allow 'Shell(make:*)' -- 'make test && rm -rf build'
adze permission check --batch < questions.jsonl`},
		{name: "sandbox run", words: "-- COMMAND", about: "try a sandbox: run a command in one", run: sandboxRun, help: `
adze sandbox run -- make test
adze sandbox run --mode read-only -- sh -c 'touch x'`},
		{name: "doctor", about: "say what works here, what does not, and why", run: doctor},
		{name: "trust", words: "[DIR]", about: "see what a folder's files want to do, and let them", run: runTrust, help: `
adze trust
adze trust --remove`},
		{name: "demo", about: "see it work: a recorded model, the real core and the real tools", homeless: true, run: runDemo, help: `
adze demo`},
		{name: "version", about: "print the version", homeless: true, run: printVersion},
		{name: "help", words: "[COMMAND]", about: "explain adze or a command", run: runHelp},
	}
}
