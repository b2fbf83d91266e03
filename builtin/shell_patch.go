package builtin

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/tool"
)

// patching is run_shell_command. A command that is only apply_patch is a call of that tool: models are trained on
// agents that have it as a program.
type patching struct {
	tool.Tool
	files *files
}

func (p patching) Unwrap() tool.Tool { return p.Tool }

// Reroute returns apply_patch if the command is nothing else.
func (p patching) Reroute(raw json.RawMessage) (tool.Tool, json.RawMessage) {
	var a runShellCommandArgs
	if !strings.Contains(string(raw), patchName) || json.Unmarshal(tool.ArgumentsOf(p.Tool, raw), &a) != nil ||
		a.IsBackground {
		return nil, nil
	}
	dir, input, ok := patchOf(a.Command)
	if !ok {
		return nil, nil
	}
	for _, base := range []string{a.Directory, p.files.ws.Project()} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(base, dir)
		}
	}
	return applyPatchIn(p.files, dir, "This was done as an edit of files. No command ran."),
		rework(applyPatchArgs{input})
}

// quotedDocument matches the first line of apply_patch with a here-document.
var quotedDocument = lazy.Regexp(`^` + patchName + `[ \t]*<<[ \t]*(['"])([^'"\\ $` + "`" + `\n]+)(['"])[ \t\r]*\n`)

// patchOf reads a command that is apply_patch with a quoted here-document, optionally after "cd DIR &&".
func patchOf(line string) (dir, input string, ok bool) {
	line = strings.TrimSpace(line)
	if before, after, found := strings.Cut(line, "&&"); found && strings.HasPrefix(line, "cd ") {
		words := shellwords.Split(before, true)
		if len(words.Words) != 2 || words.Open != 0 || words.Special != 0 || strings.ContainsAny(before, "$`*?[~{\n") ||
			strings.HasPrefix(words.Words[1], "-") {
			return "", "", false
		}
		dir, line = words.Words[1], strings.TrimSpace(after)
	}
	m := quotedDocument().FindStringSubmatch(line)
	if m == nil || m[1] != m[3] {
		return "", "", false
	}
	input, after, ended := strings.Cut(line[len(m[0])-1:]+"\n", "\n"+m[2]+"\n")
	return dir, strings.TrimPrefix(input, "\n") + "\n", ended && strings.TrimSpace(after) == ""
}
