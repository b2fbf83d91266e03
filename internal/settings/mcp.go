package settings

import (
	"encoding/json"
	"errors"
	"maps"
)

// MCP is which MCP servers there are, and which of them are used.
type MCP struct {
	Servers       map[string]Server // by alias; a later source replaces a server whole
	ServerCommand string            // the command of one more server
	Allowed       []Entry           // patterns of aliases; nil: all
	Excluded      []Entry           // likewise: not these
}

// Server is the configuration of one MCP server, as it was written. What it means, package discover knows.
type Server struct {
	JSON json.RawMessage // an object
	From Place
}

const serversKey = "mcpServers"

// putServers adds servers to those of weaker sources.
func putServers(s *Settings, g given) (string, error) {
	if g.file == nil || g.kind() != "an object" {
		return "", mustBe("an object of servers", g)
	}
	servers := maps.Clone(s.MCP.Servers)
	if servers == nil {
		servers = map[string]Server{}
	}
	for _, m := range g.members() {
		switch kind := m.kind(); {
		case kind == "null": // as if it were not there
		case kind != "an object":
			return "", errors.New("server " + m.name + " must be an object, got " + kind)
		case m.name == "":
			return "", errors.New("server without a name")
		default:
			servers[m.name] = Server{json.RawMessage(m.json()), g.file.place(m.start)}
		}
	}
	s.MCP.Servers = servers
	return "", nil
}

// replaced is a list of which the last source's counts alone.
func replaced(at func(*Settings) *[]Entry) func(*Settings, given) (string, error) {
	put := entries(at)
	return func(s *Settings, g given) (string, error) {
		*at(s) = []Entry{}
		return put(s, g)
	}
}

// serversOf takes the servers of a project's .mcp.json. The file holds no rules that could protect, so that nothing in
// it stops the start.
func (l *loader) serversOf(f *file, from layer, tightenOnly bool) {
	for _, m := range f.root().members() {
		if m.name != serversKey || m.kind() == "null" {
			continue
		}
		for _, k := range l.keys {
			if k.name != serversKey {
				continue
			}
			if err := l.put(k, given{m.value, f.place(m.start), from.qwen, from.project}, tightenOnly); err != nil {
				l.ignore(err)
			}
		}
	}
}

// ignore turns an error into a note.
func (l *loader) ignore(err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Reason: err.Error()}
	}
	key := e.Key
	if key == "" {
		key = "the file"
	}
	l.settings.notes = append(l.settings.notes, Note{e.From, key, "is ignored: " + e.Reason})
}
