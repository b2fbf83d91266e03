package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/tool"
)

//go:embed glob.md
var globText string

type globArgs struct {
	Pattern          string `json:"pattern" description:"Glob pattern, relative to path." minLength:"1"`
	Path             string `json:"path,omitempty" description:"Directory to search, absolute or relative to the workspace (default: the workspace)." alias:"dir_path"`
	CaseSensitive    bool   `json:"case_sensitive,omitempty" description:"Match case."`
	RespectGitIgnore bool   `json:"respect_git_ignore,omitempty" description:"Skip git-ignored files." default:"true"`
}

// globLimit is the maximum number of paths in a result: the newest ones.
const globLimit = 200

func glob(f *files) tool.Tool {
	return tool.Define(tool.Def[globArgs]{
		Name: "glob", DisplayName: "Glob",
		Summary:     "Find files by glob pattern",
		Description: strings.TrimSpace(globText), RuleNames: []string{"FindFiles"}, Kind: tool.Search,
		Prepare: func(_ context.Context, a globArgs) (*tool.Invocation, error) {
			if strings.TrimSpace(a.Pattern) == "" {
				return nil, tool.BadParam("pattern", "must not be empty. Use ** to find all files.")
			}
			where, err := f.searchPlace(a.Path, directoryOnly)
			inv := &tool.Invocation{
				Description: fmt.Sprintf("glob %s in %s", command.Label(a.Pattern), where.name), Access: where.access,
			}
			if err != nil {
				return inv, err
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) { return f.glob(ctx, a, where) }
			return inv, nil
		},
	})
}

func (f *files) glob(ctx context.Context, a globArgs, where searchPlace) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	req := search.FilesRequest{
		Scope: where.scope(f, !a.RespectGitIgnore, false), Pattern: a.Pattern, Case: search.Insensitive,
		Limit: globLimit,
	}
	req.Withhold = f.secrets.names(where.paths)
	if a.CaseSensitive {
		req.Case = search.Sensitive
	}
	res, err := search.Files(ctx, req)
	if err != nil && ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return tool.Result{}, tool.BadParam("pattern", "%v", err)
	}
	atLeast, more := "", ""
	if res.Incomplete != search.Complete {
		atLeast, more = "at least ", fmt.Sprintf("\nThe search did not finish: %s. Narrow path or pattern.",
			res.Incomplete)
	}
	total := atLeast + humanize.Count(res.Total, "file")
	summary := fmt.Sprintf("Found %s matching %q in %s, newest first", total, a.Pattern, where.name)
	if res.Total == 0 {
		summary = fmt.Sprintf("No files match %q in %s", a.Pattern, where.name)
	} else if res.Total > len(res.Files) {
		more = fmt.Sprintf("\nThese are the %d newest; narrow path or pattern for others.", len(res.Files)) + more
	}
	for _, n := range res.Notes {
		more += "\n" + n
	}
	if res.Closed > 0 {
		more += "\nSkipped Adze's own directory."
	}
	if res.Total == 0 && res.Ignored > 0 {
		more += fmt.Sprintf("\n%s skipped (git-ignored). Set respect_git_ignore to false to include them.",
			humanize.Count(res.Ignored, "file or directory"))
	}
	var b strings.Builder
	quoted := false
	for _, found := range res.Files {
		shown := shownName(found.Path)
		quoted = quoted || shown != found.Path
		b.WriteString("\n" + shown)
	}
	if quoted {
		more += "\n" + quotedNote
	}
	if len(res.Files) > 0 {
		more += "\n"
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(summary + "." + more + b.String())}, Display: tool.Markdown(total),
	}, nil
}
