package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/tool"
)

//go:embed grep_search.md
var grepSearchText string

type grepSearchArgs struct {
	Pattern      string `json:"pattern" description:"Regular expression to search for."`
	Path         string `json:"path,omitempty" description:"File or directory to search, absolute or relative to the workspace (default: the workspace)." alias:"dir_path" ignored:"-n"`
	Glob         string `json:"glob,omitempty" description:"Only files whose path matches this glob pattern, e.g. *.go or !*_test.go." alias:"include,include_pattern"`
	Type         string `json:"type,omitempty" description:"Only files of this type, e.g. go, ts, py."`
	OutputMode   string `json:"output_mode,omitempty" description:"Output format: content (matching lines), files_with_matches (paths only) or count (matches per file)." enum:"content,files_with_matches,count" default:"content"`
	Case         string `json:"case,omitempty" description:"Case matching: smart (case-insensitive unless the pattern has an uppercase letter), sensitive or insensitive." enum:"smart,sensitive,insensitive" default:"smart"`
	AnyCase      bool   `json:"-i,omitempty" declared:"false"` // case: insensitive
	Context      int    `json:"context,omitempty" description:"Lines to show before and after each match." minimum:"0" maximum:"100" alias:"-C"`
	Before       int    `json:"before,omitempty" description:"Lines to show before each match." minimum:"0" maximum:"100" alias:"-B"`
	After        int    `json:"after,omitempty" description:"Lines to show after each match." minimum:"0" maximum:"100" alias:"-A"`
	Multiline    bool   `json:"multiline,omitempty" description:"Allow matches to span lines; . also matches newlines."`
	FixedStrings bool   `json:"fixed_strings,omitempty" description:"Treat the pattern as literal text."`
	Limit        int    `json:"limit,omitempty" description:"Maximum number of matches to return." minimum:"1" maximum:"10000" default:"200" alias:"head_limit,max_results,maxResults"`
	Offset       int    `json:"offset,omitempty" description:"Number of matches to skip." minimum:"0"`
	NoIgnore     bool   `json:"no_ignore,omitempty" description:"Also search git-ignored files."`
	Hidden       bool   `json:"hidden,omitempty" description:"Search hidden files (dotfiles)." default:"true"`
}

// searchTime bounds the time of a search. The result has the matches found until then.
const searchTime = 30 * time.Second

func grepSearch(f *files) tool.Tool {
	return tool.Define(tool.Def[grepSearchArgs]{
		Name: "grep_search", DisplayName: "Grep",
		Summary:     "Search file contents with a regular expression",
		Description: strings.TrimSpace(grepSearchText), RuleNames: []string{"SearchFiles"}, Kind: tool.Search,
		Aliases: []string{"search_file_content"}, Budget: -1,
		Prepare: func(_ context.Context, a grepSearchArgs) (*tool.Invocation, error) {
			pattern, err := search.Compile(search.Query{
				Pattern: a.Pattern, Fixed: a.FixedStrings, Case: caseOf(a), Multiline: a.Multiline,
				DotNewline: a.Multiline,
			})
			if err != nil {
				return nil, tool.BadParam("pattern", "%v", err)
			}
			if a.Type != "" && !knownType(a.Type) {
				return nil, tool.BadParam("type", "unknown type %q (expected %s)", a.Type,
					strings.Join(search.Types(), ", "))
			}
			if own, err := f.isHistory("path", a.Path); own || err != nil {
				return f.grepHistory(a, pattern), err
			}
			where, err := f.searchPlace(a.Path, anyPlace)
			inv := &tool.Invocation{
				Description: fmt.Sprintf("grep \"%s\" in %s", command.Label(a.Pattern), where.name),
				Access:      where.access,
			}
			if err != nil {
				return inv, err
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				return f.grep(ctx, a, pattern, where)
			}
			return inv, nil
		},
	})
}

func caseOf(a grepSearchArgs) search.Case {
	switch {
	case a.AnyCase || a.Case == "insensitive":
		return search.Insensitive
	case a.Case == "sensitive":
		return search.Sensitive
	}
	return search.Smart
}

func knownType(name string) bool {
	for _, t := range search.Types() {
		if t == name {
			return true
		}
	}
	return false
}

// request returns the search for the engine.
func (a grepSearchArgs) request(p *search.Pattern, where search.Scope) search.GrepRequest {
	return search.GrepRequest{
		Scope: where, Pattern: p,
		Before: max(a.Context, a.Before), After: max(a.Context, a.After),
		Limit: a.Limit, Offset: a.Offset,
		Mode: map[string]search.Mode{"files_with_matches": search.Paths, "count": search.Counts}[a.OutputMode],
	}
}

func (f *files) grep(ctx context.Context, a grepSearchArgs, p *search.Pattern, where searchPlace) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	req := a.request(p, where.scope(f, a.NoIgnore, !a.Hidden))
	if a.Glob != "" {
		req.Globs = strings.Fields(a.Glob)
	}
	if a.Type != "" {
		req.Types = []string{a.Type}
	}
	res, err := search.Grep(ctx, req)
	if err != nil && ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return tool.Result{}, tool.Errorf("grep_execution_error", "search in %s: %w", where.name, err)
	}
	text := &grepText{args: a, where: where, res: res, notes: p.Notes}
	out := text.write()
	f.credit(text.shown)
	return tool.Result{Content: []tool.Part{tool.Text(out)}, Display: tool.Markdown(text.found())}, nil
}
