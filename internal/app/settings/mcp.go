package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// MCP is the configuration of MCP servers.
type MCP struct {
	Servers       map[string]Server // by alias; a later source replaces a whole server
	ServerCommand string            // the command of one more server
	Allowed       []Entry           // patterns of aliases; nil: all
	Excluded      []Entry           // likewise: not these
}

// Server is the configuration of one MCP server, as written. Package discover interprets it.
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
	servers := merged(s.MCP.Servers, nil)
	for _, m := range g.members() {
		switch kind := m.kind(); {
		case kind == "null": // as if it were missing
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

// replaced reads a list of which only the last source counts.
func replaced(at func(*Settings) *[]Entry) func(*Settings, given) (string, error) {
	put := entries(at)
	return func(s *Settings, g given) (string, error) {
		*at(s) = []Entry{}
		return put(s, g)
	}
}

// vscodeKey is the key of MCP servers in .vscode/mcp.json.
const vscodeKey = "servers"

// serversOf reads the servers of a project's .mcp.json or .vscode/mcp.json. These files have no rules that could
// protect, so errors in them don't stop the start.
func (l *loader) serversOf(f *file, from layer, tightenOnly bool) {
	if from.servers == vscodeKey {
		f = l.fromVSCode(f)
	}
	mcp := l.keys[slices.IndexFunc(l.keys, func(k key) bool { return k.name == serversKey })]
	for _, m := range f.root().members() {
		if m.name == from.servers && m.kind() != "null" {
			if err := l.put(mcp, given{m.value, f.place(m.start), from.qwen, from.project}, tightenOnly); err != nil {
				l.ignore(err)
			}
		}
	}
}

// fromVSCode replaces VS Code's variables, also so that trust finds the programs that a server names.
func (l *loader) fromVSCode(f *file) *file {
	dir, err := json.Marshal(filepath.Dir(filepath.Dir(f.path)))
	if err != nil {
		return f
	}
	variables := strings.NewReplacer("${workspaceFolder}", string(dir[1:len(dir)-1]), "${env:", "${")
	text := variables.Replace(string(f.clean))
	if strings.Contains(text, "${input:") {
		l.ignore(&Error{From: Place{Source: f.path}, Key: "${input:…}",
			Reason: "VS Code asks for it. Set a variable, and write ${env:NAME}"})
	}
	if changed, err := parse(f.path, []byte(text)); err == nil {
		return changed
	}
	return f
}

// ignore turns an error into a note.
func (l *loader) ignore(err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Reason: err.Error()}
	}
	l.settings.notes = append(l.settings.notes, Note{e.From, cmp.Or(e.Key, "the file"), "is ignored: " + e.Reason})
}

// Hooks are the settings of hooks.
type Hooks struct {
	Given           []GivenHooks // weakest source first; all of them run
	Disabled        bool
	StopBlockingCap int // how often in a row Stop hooks can keep the model working
}

// GivenHooks are the hooks of one source, as written. Package hook interprets them.
type GivenHooks struct {
	JSON json.RawMessage // an object
	From Place
}

// defaultStopBlockingCap is the same as in other agents.
const defaultStopBlockingCap = 8

func hookKeys() []key {
	return []key{
		{
			name: "hooks", shape: `{"type":"object","additionalProperties":{"type":"array"}}`, adds: true,
			about: "Commands to run at session events. See hooks.md.", put: putHooks,
		},
		{
			name: "disableAllHooks", own: true, preset: "false", shape: booleanShape, // the user's hooks may protect
			about: "Run no hooks.", put: boolean(func(s *Settings) *bool { return &s.Hooks.Disabled }),
		},
		{
			name: "stopHookBlockingCap", preset: "8", shape: `{"type":"integer","minimum":1}`,
			about: "How often in a row Stop hooks can make the model continue.", put: putStopBlockingCap,
		},
	}
}

// putHooks adds hooks to those of weaker sources.
func putHooks(s *Settings, g given) (string, error) {
	if g.file == nil || g.kind() != "an object" {
		return "", mustBe("an object of events", g)
	}
	for _, m := range g.members() {
		if kind := m.kind(); kind != "a list" {
			return "", errors.New("event " + m.name + " must be a list, got " + kind)
		}
	}
	s.Hooks.Given = append(slices.Clip(s.Hooks.Given), GivenHooks{json.RawMessage(g.json()), g.from})
	return "", nil
}

func putStopBlockingCap(s *Settings, g given) (string, error) {
	note, err := integer(func(s *Settings) *int { return &s.Hooks.StopBlockingCap })(s, g)
	if err == nil && s.Hooks.StopBlockingCap < 1 {
		err = errors.New("must be 1 or more")
	}
	return note, err
}
