package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

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
			return f.prepareChange(toWrite, "write", a.Path, func(p workspace.Path) (*change, error) {
				return f.overwrite(p, a.Content)
			}, func(_ []*change, files []tool.FileDiff, texts []*string) any {
				return writeFileArgs{files[0].Path, *texts[0]}
			})
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
	return f.withContent(toWrite, o, content)
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
				Display: fileDiff([]*change{c}),
			}, nil
		},
	}
}
