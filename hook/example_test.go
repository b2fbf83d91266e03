package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/hook"
)

// A hook in Go that denies commands that delete directories. A program in settings decides the same way, by its output.
func Example() {
	r := hook.Open(hook.Options{Hooks: []hook.Hook{{
		Event:   hook.PreToolUse,
		Matcher: "Bash",
		Run: func(_ context.Context, in hook.Input) (hook.Output, error) {
			if bytes.Contains(in.ToolInput, []byte("rm -r")) {
				return hook.Output{Decision: "deny", Reason: "Directories are deleted by hand."}, nil
			}
			return hook.Output{}, nil
		},
	}}})
	defer r.Close()

	for _, command := range []string{"make test", "rm -r build"} {
		args, _ := json.Marshal(map[string]string{"command": command})
		result := r.Run(context.Background(), hook.Input{Event: hook.PreToolUse, ToolInput: args}, "run_shell_command", "Bash")
		fmt.Printf("%s: %v %q\n", command, result.Verdict, result.Reason)
	}
	// Output:
	// make test: none ""
	// rm -r build: deny "Directories are deleted by hand."
}

// A matcher has the names of one or several tools.
func ExampleMatches() {
	for _, matcher := range []string{"Bash", "Edit|Write", "*"} {
		name, ok := hook.Matches(matcher, []string{"run_shell_command", "Bash"})
		fmt.Println(matcher, name, ok)
	}
	// Output:
	// Bash Bash true
	// Edit|Write  false
	// * run_shell_command true
}
