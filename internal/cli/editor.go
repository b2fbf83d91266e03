package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/tool"
)

// editorOf is the user's editor.
func editorOf(env Env) string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if e := env.Getenv(name); e != "" {
			return e
		}
	}
	return "vi"
}

// canEdit reports whether the call proposes a text that the user could change.
func (t *terminal) canEdit(r tool.Request) bool {
	_, _, ok := approval.Proposal(r)
	return ok
}

// edit opens the proposed text in the user's editor. What they save is what will be written; if they change nothing,
// they are asked again.
func (t *terminal) edit(ctx context.Context, r tool.Request) (tool.Decision, error) {
	proposed, file, ok := approval.Proposal(r)
	if !ok {
		return tool.Decision{}, fmt.Errorf("this call has no text to edit")
	}
	dir, err := os.MkdirTemp("", "adze-edit-")
	if err != nil {
		return tool.Decision{}, fmt.Errorf("create a file to edit: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(path, []byte(proposed), 0o600); err != nil {
		return tool.Decision{}, fmt.Errorf("create a file to edit: %w", err)
	}
	// The variable is a command for the shell, as git takes it: "code --wait".
	cmd := exec.CommandContext(ctx, "sh", "-c", t.editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return tool.Decision{}, fmt.Errorf("run the editor %s: %w", t.editor, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return tool.Decision{}, fmt.Errorf("read the edited file: %w", err)
	}
	if string(text) == proposed {
		return tool.Decision{}, nil
	}
	d, ok := approval.Edited(r, string(text))
	if !ok {
		return tool.Decision{}, fmt.Errorf("this call can't use the edited text")
	}
	return d, nil
}
