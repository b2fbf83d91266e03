package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed write_file.md
var writeFileText string

type writeFileArgs struct {
	Path    string `json:"file_path" alias:"absolute_path,path" description:"Absolute path of the file."`
	Content string `json:"content" description:"Full content of the file."`
}

const writeName = "write_file"

// incompleteContent is the type of errors about a content with a line such as "// rest of the file unchanged".
const incompleteContent tool.ErrorType = "write_incomplete_content"

func writeFile(f *files) tool.Tool {
	return tool.Define(tool.Def[writeFileArgs]{
		Name: writeName, DisplayName: "WriteFile",
		Summary:     "Create or overwrite a file",
		Description: strings.TrimSpace(writeFileText), RuleNames: []string{"Write"}, Kind: tool.Edit,
		Prepare: func(ctx context.Context, a writeFileArgs) (*tool.Invocation, error) {
			p, err := f.at(toWrite, "file_path", a.Path, ignore.File)
			inv := &tool.Invocation{Description: "write " + p.Rel, Access: writes(p.Abs)}
			if err != nil {
				return inv, err
			}
			c, err := f.overwrite(p, a.Content)
			if err != nil {
				return inv, err
			}
			if c.none() && !f.secrets.is(p) { // a denial must not tell that the content is known
				return f.unchanged(c), nil
			}
			shown := c.fileDiff()
			inv.Confirm = shown
			if !c.large() {
				inv.Rework = func(text string) json.RawMessage {
					return rework(writeFileArgs{
						Path: shown.Path, Content: text,
					})
				}
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				notes, err := f.commit(ctx, c)
				if err != nil {
					return tool.Result{}, err
				}
				f.seen.RecordWhole(p.Abs, c.newHash(), text.Lines(c.now.Text))
				f.seen.Keep(p.Abs, c.newHash(), c.now.Text)
				said := fmt.Sprintf("Successfully created and wrote to new file: %s.", p.Abs)
				if c.was.exists {
					said = fmt.Sprintf("Successfully overwrote file: %s.", p.Abs)
				}
				return tool.Result{Content: []tool.Part{tool.Text(said + notes)}, Display: shown}, nil
			}
			return inv, nil
		},
	})
}

// overwrite returns the change that replaces the whole content of a file.
func (f *files) overwrite(p workspace.Path, content string) (*change, error) {
	o, err := f.original(toWrite, p)
	if err != nil {
		return nil, err
	}
	if err := f.checkRead(toWrite, o, true); err != nil {
		return nil, err
	}
	if content, err = f.restore(toWrite, o, content); err != nil {
		return nil, err
	}
	if o.doc == nil || !o.exists {
		now, err := text.DecodeAs([]byte(content), text.UTF8)
		if err != nil {
			return nil, toWrite.failure(p, err)
		}
		return o.with(toWrite, now)
	}
	if n, line := leftOut(p.Abs, o.doc.Text, content); n > 0 {
		return nil, toWrite.errorf(incompleteContent, p, "line %d (%s) stands for text that it leaves out, and "+
			"nothing was written. Give the whole content%s",
			n, line, f.offer.hint("edit", ", or change a part with edit"))
	}
	now, err := o.doc.Rewrite(content)
	if err != nil {
		return nil, unwritable(toWrite, p, err)
	}
	return o.with(toWrite, now)
}

// unwritable returns the error for text that the file's encoding can't represent.
func unwritable(a action, p workspace.Path, err error) error {
	var char *text.UnencodableError
	if errors.As(err, &char) {
		return a.errorf(a.otherwise, p, "%w; write it with characters that this encoding has, or convert the file to "+
			"UTF-8 with a command first", char)
	}
	return a.failure(p, err)
}

// unchanged returns the invocation of a call that changes nothing: it only reads, and needs no approval.
func (f *files) unchanged(c *change) *tool.Invocation {
	p := c.was.path
	return &tool.Invocation{
		Description: "write " + p.Rel + " (no change)",
		Access:      reads(p.Abs),
		Run: func(context.Context, *tool.Live) (tool.Result, error) {
			now, err := f.original(c.action, p)
			if err != nil {
				return tool.Result{}, err
			}
			if now.hash != c.was.hash || !now.exists {
				return tool.Result{}, c.was.vanished(c.action)
			}
			return tool.Result{
				Content: []tool.Part{tool.Text(fmt.Sprintf("No change: %s already has exactly this content.", p.Abs))},
				Display: c.fileDiff(),
			}, nil
		},
	}
}
