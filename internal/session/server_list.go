package session

import (
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
)

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

// States of servers that were not opened, beside those of package discover.
const (
	ServerUntrusted = "untrusted"
	ServerOff       = "off"
)

// ListServers are all servers that anything configures, sorted by name.
func (s *Session) ListServers() []ListedServer {
	all := []ListedServer{}
	for _, st := range s.Outside.List() {
		l := ListedServer{
			Name: st.Alias, State: string(st.State), Transport: st.Transport, Target: st.Target, Description: st.Description,
			Tools: append([]string{}, st.Tools...), Prompts: st.Prompts, Resources: st.Resources,
			Started: when(st.Began), Took: st.Took.Milliseconds(), Seen: when(st.Seen), Warnings: st.Warnings,
		}
		if st.Err != nil {
			l.Error = st.Err.Error()
		}
		all = append(all, l)
	}
	for _, p := range s.Outside.Problems() {
		if p.Server != "" {
			all = append(all, ListedServer{Name: p.Server, State: string(discover.Failed), Tools: []string{}, Error: p.Text})
		}
	}
	for _, item := range WithheldServers(s.Settings) {
		all = append(all, ListedServer{Name: item.What, State: ServerUntrusted, Target: item.Text, Tools: []string{}, Error: Untrusted})
	}
	for alias := range s.Settings.MCP.Servers {
		if !slices.ContainsFunc(all, func(l ListedServer) bool { return l.Name == alias }) {
			all = append(all, ListedServer{Name: alias, State: ServerOff, Tools: []string{}, Error: "excluded by mcp.allowed or mcp.excluded"})
		}
	}
	slices.SortStableFunc(all, func(a, b ListedServer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.Round(time.Millisecond)
	return &t
}
