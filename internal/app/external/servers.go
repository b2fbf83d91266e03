package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
)

// configured returns the servers of plugins, those of settings, with variables expanded, and those in more. The last of
// the same name counts. It returns the problems of invalid ones, too.
func configured(env project.Env, plugins []*plugin.Plugin, set settings.MCP, more map[string]discover.Server) (
	servers map[string]discover.Server, problems []Problem) {
	servers = map[string]discover.Server{}
	for _, p := range plugins {
		maps.Copy(servers, p.Servers)
	}
	for _, alias := range slices.Sorted(maps.Keys(set.Servers)) {
		written := set.Servers[alias]
		var server discover.Server
		if err := json.Unmarshal(written.JSON, &server); err != nil {
			problems = append(problems, Problem{alias, fmt.Sprintf("%s: %s", written.From, discover.Misread(err))})
			continue
		}
		servers[alias] = server.Expand(env.Lookup)
	}
	if line := set.ServerCommand; line != "" {
		words, err := discover.Words(line)
		_, taken := servers["mcp"]
		switch {
		case err != nil:
			problems = append(problems, Problem{"mcp", err.Error()})
		case taken:
			problems = append(problems, Problem{
				Text: "mcp.mcpServerCommand is ignored: mcpServers has a server named mcp",
			})
		case len(words) > 0:
			servers["mcp"] = discover.Server{Command: words[0], Args: words[1:]}.Expand(env.Lookup)
		}
	}
	maps.Copy(servers, more)
	problems = slices.DeleteFunc(problems, func(p Problem) bool {
		_, replaced := more[p.Server]
		return replaced
	})
	var allowed []string
	if set.Allowed != nil {
		allowed = append([]string{}, settings.Texts(set.Allowed)...)
	}
	return discover.Select(servers, allowed, settings.Texts(set.Excluded)), problems
}

// ListedServer is a server as adze mcp list prints it.
type ListedServer struct {
	Name        string     `json:"name"`
	State       string     `json:"state"` // one of discover's, untrusted, or off
	Transport   string     `json:"transport,omitempty"`
	Target      string     `json:"target,omitempty"`
	Description string     `json:"description,omitempty"`
	Tools       []string   `json:"tools"`
	Prompts     int        `json:"prompts"`
	Resources   int        `json:"resources"`
	Started     *time.Time `json:"started,omitempty"` // in this run
	Took        int64      `json:"tookMs,omitempty"`
	Seen        *time.Time `json:"seen,omitempty"` // when its lists were last read
	Error       string     `json:"error,omitempty"`
	Warnings    []string   `json:"warnings,omitempty"`
}

// States of servers that were not opened, in addition to those of package discover.
const (
	ServerUntrusted = "untrusted"
	ServerOff       = "off"
)

// Listed returns all configured servers, sorted by name.
func (t *Tools) Listed() []ListedServer {
	all := []ListedServer{}
	for _, st := range t.List() {
		l := ListedServer{
			Name: st.Alias, State: string(st.State), Transport: st.Transport, Target: st.Target,
			Description: st.Description,
			Tools:       append([]string{}, st.Tools...), Prompts: st.Prompts, Resources: st.Resources,
			Started: when(st.Began), Took: st.Took.Milliseconds(), Seen: when(st.Seen), Warnings: st.Warnings,
		}
		if st.Err != nil {
			l.Error = st.Err.Error()
		}
		all = append(all, l)
	}
	for _, p := range t.Problems() {
		if p.Server != "" {
			all = append(all, ListedServer{
				Name: p.Server, State: string(discover.Failed), Tools: []string{}, Error: p.Text,
			})
		}
	}
	for _, item := range project.WithheldServers(t.o.Settings) {
		all = append(all, ListedServer{
			Name: item.What, State: ServerUntrusted, Target: item.Text, Tools: []string{}, Error: Untrusted,
		})
	}
	for alias := range t.o.Settings.MCP.Servers {
		if !slices.ContainsFunc(all, func(l ListedServer) bool { return l.Name == alias }) {
			all = append(all, ListedServer{
				Name: alias, State: ServerOff, Tools: []string{}, Error: "excluded by mcp.allowed or mcp.excluded",
			})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.Round(time.Millisecond)
	return &t
}

// Catalog returns the catalog for external tools in a conversation with a model.
func (t *Tools) Catalog(model string) *agent.Catalog {
	return &agent.Catalog{Finder: builtin.ToolSearch, Most: t.Budget(model)}
}

// Budget returns how many tokens the declarations of external tools may take, by the settings and the context window of
// the model of that name, before they are deferred; 0: any number.
func (t *Tools) Budget(model string) int {
	search := t.o.Settings.Tools.Search
	if !search.Enabled {
		return 0
	}
	// With a threshold of 0 everything is deferred.
	return max(1, t.o.Window(model)*min(max(search.Threshold, 0), 100)/100)
}
