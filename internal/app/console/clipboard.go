package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/permission/environ"
)

// clipboardTime is how long a program that reads the clipboard can take: it waits for the one that has the content.
const clipboardTime = 5 * time.Second

// Clipboard reads the clipboard with programs.
type Clipboard struct {
	Dir, Path string   // where they run, and where they are looked for
	Roots     []string // whose programs don't count: the model may have written them
	Environ   []string
}

// Read returns an image, or a text, from the first program that can read it.
func (c Clipboard) Read(ctx context.Context) (image []byte, text string, err error) {
	err = errors.New("the clipboard can't be read: none of wl-paste, xclip and pngpaste is in PATH")
	for _, lines := range [][3]string{ // that print the types of the content, an image, and text
		{"wl-paste --list-types", "wl-paste --type image/png", "wl-paste --no-newline"},
		{"xclip -selection clipboard -o -t TARGETS", "xclip -selection clipboard -o -t image/png",
			"xclip -selection clipboard -o"},
		{"", "pngpaste -", "pbpaste"},
	} {
		if c.program(lines[1]) == "" {
			continue
		}
		types := []byte("image/png")
		if lines[0] != "" {
			if types, err = c.print(ctx, lines[0]); err != nil {
				continue
			}
		}
		if bytes.Contains(types, []byte("image/png")) {
			if image, failed := c.print(ctx, lines[1]); failed == nil {
				return image, "", nil
			}
		}
		var content []byte
		if content, err = c.print(ctx, lines[2]); err == nil {
			return nil, string(content), nil
		}
	}
	return nil, "", err
}

// print runs a program and returns what it prints.
func (c Clipboard) print(ctx context.Context, line string) ([]byte, error) {
	argv := strings.Fields(line)
	ctx, cancel := context.WithTimeout(ctx, clipboardTime)
	defer cancel()
	stdout, stderr := proc.NewBeginning(document.MaxImageSource, cancel), proc.NewBeginning(1000, nil)
	cmd := exec.CommandContext(ctx, c.program(line), argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Environ
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, time.Second
	err := cmd.Run()
	switch why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s was stopped after %s, or 100 MB", argv[0], clipboardTime)
	case err != nil:
		return nil, fmt.Errorf("%s failed: %s", argv[0], cmp.Or(why, err.Error()))
	}
	return []byte(stdout.String()), nil
}

// program is the path of the program of a command line; "": it isn't in Path.
func (c Clipboard) program(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return proc.Program(name, environ.Path(c.Path, c.Roots...), c.Roots)
}
