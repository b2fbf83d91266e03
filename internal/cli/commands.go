package cli

// commands is the one list of commands, in the order of the help.
func commands() []command {
	return []command{
		{words: "[PROMPT…]", about: "do what the prompt says, headless", run: runPrompt, help: `
adze -p "what does main.go do?"
adze -p "add a --verbose flag" --approval-mode auto-edit
git diff | adze -p "write a commit message for this"
adze -p "list the tests" --output-format json`},
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
		{name: "memory show", about: "show what the context files tell every model", run: showMemory, help: `
adze memory show`},
		{name: "trust", words: "[DIR]", about: "see what a folder's files want to do, and let them", run: runTrust, help: `
adze trust
adze trust --remove`},
		{name: "demo", about: "see it work: a recorded model, the real core and the real tools", run: runDemo, help: `
adze demo`},
		{name: "version", about: "print the version", run: printVersion},
		{name: "help", words: "[COMMAND]", about: "explain adze or a command", run: runHelp},
	}
}
