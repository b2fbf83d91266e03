package acp

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adze-dev/adze/tool"
)

// unsavedTime bounds the request for unsaved changes. Without an answer there are none.
const unsavedTime = 5 * time.Second

// guardUnsaved denies edits of files that have unsaved changes in the editor: either the changes or the edit would be
// lost.
func (t *talk) guardUnsaved() {
	if !t.server.can().FS.ReadTextFile {
		return
	}
	next := t.session.Executor.Before
	t.session.Executor.Before = func(ctx context.Context, c tool.Call, d tool.Declaration) (tool.Decision, error) {
		if d.Kind == tool.Edit {
			if err := t.unsaved(ctx, c, d); err != nil {
				return tool.Decision{}, err
			}
		}
		if next == nil {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		return next(ctx, c, d)
	}
}

// unsaved returns an error if the editor has another content than the disk for a file that a call would write.
func (t *talk) unsaved(ctx context.Context, c tool.Call, d tool.Declaration) error {
	known, err := t.session.Executor.Registry.Lookup(d.Name)
	if err != nil {
		return nil // the call itself reports it
	}
	inv, err := known.Prepare(ctx, c.Args)
	if err != nil || inv == nil {
		return nil
	}
	for _, a := range inv.Access {
		if a.Verb != tool.Writes {
			continue
		}
		disk, err := os.ReadFile(a.Target)
		if err != nil {
			continue // a new file
		}
		var shown struct {
			Content *string `json:"content"`
		}
		limited, cancel := context.WithTimeout(ctx, unsavedTime)
		err = t.server.conn.call(limited, "fs/read_text_file", map[string]string{"sessionId": t.id, "path": a.Target},
			&shown)
		cancel()
		if err == nil && shown.Content != nil && plain(*shown.Content) != plain(string(disk)) {
			return fmt.Errorf("%s has unsaved changes in the editor. Ask the user to save or discard them", a.Target)
		}
	}
	return nil
}

// writeTime bounds a write by the editor.
const writeTime = 30 * time.Second

// writer returns a function that writes a file in the editor; nil: the editor doesn't offer it.
func (t *talk) writer() func(ctx context.Context, path, text string) error {
	if !t.server.can().FS.WriteTextFile {
		return nil
	}
	return func(ctx context.Context, path, text string) error {
		limited, cancel := context.WithTimeout(ctx, writeTime)
		defer cancel()
		params := map[string]string{"sessionId": t.id, "path": path, "content": text}
		return t.server.conn.call(limited, "fs/write_text_file", params, nil)
	}
}

// plain removes what editors don't preserve: a byte order mark and the kind of line endings.
func plain(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
}
