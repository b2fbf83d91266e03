package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed run_shell_command.md
var runShellCommandText string

type runShellCommandArgs struct {
	Command      string `json:"command" description:"Command to run with bash -c."`
	Description  string `json:"description,omitempty" description:"What the command does, in 5-10 words, shown to the user."`
	Directory    string `json:"directory,omitempty" description:"Directory to run in, absolute or relative to the workspace (default: the workspace)." alias:"dir_path"`
	Timeout      int    `json:"timeout,omitempty" description:"Timeout in milliseconds (max 600000)." minimum:"1" maximum:"600000" default:"120000" ignored:"dangerouslyDisableSandbox"`
	IsBackground bool   `json:"is_background,omitempty" description:"Run in background and return an ID at once.{{shell_output: Use shell_output to read the output.}}{{shell_stop: Use shell_stop to stop it.}}" alias:"run_in_background"`
}

func runShellCommand(f *files, s *command.Shell) tool.Tool {
	return patching{shellNamed(s.OtherShell(), tool.Define(tool.Def[runShellCommandArgs]{
		Name: "run_shell_command", DisplayName: "Shell",
		Summary:     "Run a bash command, in the foreground or background",
		Description: strings.TrimSpace(runShellCommandText),
		RuleNames:   []string{"Bash"}, Kind: tool.Execute, Budget: -1,
		Prepare: func(ctx context.Context, a runShellCommandArgs) (*tool.Invocation, error) {
			inv, err := prepareCommand(ctx, f, s, a)
			note := f.offer.hint(patchName, "apply_patch is a tool. Call it, or give a command that is only "+
				"apply_patch with a quoted here-document.")
			if inv != nil && note != "" && strings.Contains(a.Command, patchName+" <<") {
				inv.Notes = append(inv.Notes, note)
			}
			return inv, err
		},
	})), f}
}

// shellNamed returns the tool with texts that name the shell, if it isn't bash.
func shellNamed(name string, t tool.Tool) tool.Tool {
	if name == "" {
		return t
	}
	d := t.Declaration()
	replace := strings.NewReplacer("a bash command", "a command of the shell "+name+" (not bash)", "bash -c", name)
	d.Summary, d.Description = replace.Replace(d.Summary), replace.Replace(d.Description)
	d.Parameters = []byte(replace.Replace(string(d.Parameters)))
	return worded{t, d}
}

// maxCommand is the maximum length of a command.
const maxCommand = 1 << 20

func prepareCommand(ctx context.Context, f *files, s *command.Shell, a runShellCommandArgs) (*tool.Invocation, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return nil, tool.BadParam("command", "must not be empty")
	case strings.ContainsRune(a.Command, 0):
		return nil, tool.BadParam("command", "contains a NUL byte, which shells don't accept")
	case !utf8.ValidString(a.Command):
		return nil, tool.BadParam("command", "is not valid UTF-8")
	case len(a.Command) > maxCommand:
		return nil, tool.BadParam("command", "has %d bytes, over the %d that are run; put it into a file and run that",
			len(a.Command), maxCommand)
	}
	dir, err := f.directory(a.Directory)
	if err != nil {
		return command.Invocation(a.Command), err
	}
	inv, err := s.Prepare(ctx, command.Request{
		Command: a.Command, Purpose: a.Description, Dir: dir, Timeout: time.Duration(a.Timeout) * time.Millisecond,
		Background: a.IsBackground,
	})
	if err != nil {
		return inv, err
	}
	inv.Rework = func(texts ...*string) json.RawMessage {
		now := a
		now.Command = *texts[0]
		return rework(now)
	}
	return inv, nil
}

// directory resolves the directory to run in.
func (f *files) directory(name string) (dir workspace.Path, err error) {
	if name == "" {
		name = f.ws.Project()
	}
	dir, err = f.at(toRunIn, "directory", name, ignore.Directory)
	if err != nil {
		return dir, err
	}
	info, err := dir.Stat()
	switch {
	case err != nil:
		return dir, toRunIn.failure(dir, err)
	case !info.IsDir():
		return dir, toRunIn.errorf(notADirectory, dir, "it is not a directory")
	}
	return dir, nil
}

var toRunIn = action{"run a command in", command.Failure}
