package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

//go:embed tool_search.md
var toolSearchText string

// ToolSearch is the name of the tool that finds tools, for the code that decides which ones are declared to a model.
const ToolSearch = "tool_search"

type toolSearchArgs struct {
	Query      string `json:"query" description:"Keywords, +words or select:NAME,NAME."`
	MaxResults int    `json:"max_results,omitempty" description:"Maximum number of tools to load (default: 5)." minimum:"1" maximum:"20"`
}

const (
	usualFound    = 5
	maxFoundQuery = 1000 // characters
)

// FindTools searches the deferred tools, best match first, and has those that it returns declared from the next turn
// on. The call identifies the agent.
type FindTools func(ctx context.Context, c tool.Call, query string, limit int) []tool.Declaration

// toolSearch finds tools. It is deferred itself, because it is useless while no other tool is deferred.
func toolSearch(find FindTools) tool.Tool {
	return tool.Define(tool.Def[toolSearchArgs]{
		Name: ToolSearch, DisplayName: "ToolSearch",
		Summary:     "Load external tools on demand",
		Description: strings.TrimSpace(toolSearchText), Kind: tool.Think,
		Deferred: true, Needs: tool.NeedsSession, Auxiliary: true,
		Prepare: func(_ context.Context, a toolSearchArgs) (*tool.Invocation, error) {
			query := strings.TrimSpace(a.Query)
			switch {
			case query == "":
				return nil, tool.BadParam("query", "must not be empty; describe in a few words what the tool should do")
			case len(query) > maxFoundQuery:
				return nil, tool.BadParam("query", "has %d characters; a few words are enough", len(query))
			}
			limit := a.MaxResults
			if limit == 0 {
				limit = usualFound
			}
			return &tool.Invocation{
				Description: "find tools for " + oneLine(query, 100),
				Access:      []tool.Access{tool.Nothing}, // a found tool needs approval when it is called
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					if err := ctx.Err(); err != nil {
						return tool.Result{}, err
					}
					var found []tool.Declaration
					if find != nil {
						found = find(ctx, l.Call, query, limit)
					}
					return foundTools(query, found), nil
				},
			}, nil
		},
	})
}

// foundTools returns the result. It omits parameters: they come with the declarations.
func foundTools(query string, found []tool.Declaration) tool.Result {
	var b strings.Builder
	if len(found) == 0 {
		fmt.Fprintf(&b, "No tool fits %q.", oneLine(query, 100))
	} else {
		fmt.Fprintf(&b, "%s, declared to you from your next turn on:", humanize.Count(len(found), "tool"))
	}
	var names []string
	for _, d := range found {
		names = append(names, d.Name)
		fmt.Fprintf(&b, "\n- %s: %s", d.Name, oneLine(d.Description, 200))
	}
	if missing := notSelected(query, found); len(missing) > 0 {
		fmt.Fprintf(&b, "\nUnknown tool: %s.", oneLine(strings.Join(missing, ", "), 300))
	}
	if len(found) == 0 {
		b.WriteString(" Try other words, fewer of them, or a part of a name.")
	}
	return tool.Result{
		Content: []tool.Part{tool.Text(b.String())},
		Display: tool.Markdown("Found " + tool.Visible(oneLine(orNone(strings.Join(names, ", ")), 300)) + "."),
	}
}

func orNone(s string) string {
	if s == "" {
		return "no tool"
	}
	return s
}

// notSelected returns the unknown names of a select: query.
func notSelected(query string, found []tool.Declaration) []string {
	names, ok := strings.CutPrefix(query, "select:")
	if !ok {
		return nil
	}
	var missing []string
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.ContainsFunc(found, func(d tool.Declaration) bool {
			return strings.EqualFold(d.Name, name) || slices.Contains(d.Aliases, name)
		}) {
			missing = append(missing, name)
		}
	}
	return missing
}
