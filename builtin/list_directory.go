package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/tool"
)

//go:embed list_directory.md
var listDirectoryText string

type listDirectoryArgs struct {
	Path string `json:"path" description:"Absolute path of the folder."`
}

func listDirectory(f *files) tool.Tool {
	return tool.Define(tool.Def[listDirectoryArgs]{
		Name: "list_directory", DisplayName: "ListFiles", Description: strings.TrimSpace(listDirectoryText), Kind: tool.Search,
		Prepare: func(ctx context.Context, a listDirectoryArgs) (*tool.Invocation, error) {
			p, err := f.path("path", a.Path, ignore.Folder)
			if err != nil {
				return nil, err
			}
			return &tool.Invocation{
				Description: "list " + p.Rel,
				Access:      []tool.Access{{Verb: tool.Reads, Target: p.Abs + "/"}},
				Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					entries, err := p.ReadDir()
					if err != nil {
						return tool.Result{}, err
					}
					var b strings.Builder
					for _, e := range entries {
						fmt.Fprintln(&b, e.Name())
					}
					return tool.TextResult(b.String()), nil
				},
			}, nil
		},
	})
}
