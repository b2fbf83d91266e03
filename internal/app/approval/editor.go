package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// notFound is the exit code of a shell that can't find a program.
const notFound = 127

// EditText has the user edit a text in a file of that name. editor is a shell command as in git: "code --wait". run
// runs it with access to the terminal.
func EditText(ctx context.Context, editor, name, text string, run func(*exec.Cmd) error) (string, error) {
	dir, err := os.MkdirTemp("", "adze-edit-")
	if err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	err = run(exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notFound {
		return "", fmt.Errorf("run the editor %s: not found; set VISUAL or EDITOR", editor)
	}
	if err != nil {
		return "", fmt.Errorf("run the editor %s: %w", editor, err)
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the edited text: %w", err)
	}
	return string(edited), nil
}
