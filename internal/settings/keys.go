package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// key is one setting: how it is spelt, what it may be, where it goes.
type key struct {
	name string
	also []string // older spellings, oldest first; where several stand in one file the newest wins
	env  []string // variables that set it, the strongest last
	put  func(*Settings, given) (note string, err error)
	own  bool // only the user's own files may set it, trusted directory or not
	// tightens reports whether a change is one that a directory nobody trusts may make. nil: it may make none.
	tightens func(before, after *Settings) bool
}

// given is a value on its way into a setting.
type given struct {
	value
	from Place
	qwen bool // from a file of Qwen Code, whose values need not all exist here
	// project says that it is from a file of the directory, not from one of the user's own.
	project bool
}

// keys is every setting there is.
func keys() []key { return slices.Concat(workKeys(), modelKeys(), generalKeys(), undoKeys()) }

func workKeys() []key {
	return []key{
		{
			name: "tools.approvalMode", also: []string{"approvalMode"},
			put: putApprovalMode, tightens: stricterMode,
		},
		{
			name: "tools.truncateToolOutputThreshold", also: []string{"truncateToolOutputThreshold"},
			put: integer(func(s *Settings) *int { return &s.Tools.OutputThreshold }),
		},
		{
			name: "tools.toolSearch.enabled",
			put:  boolean(func(s *Settings) *bool { return &s.Tools.Search.Enabled }),
		},
		{
			name: "tools.toolSearch.threshold",
			put:  integer(func(s *Settings) *int { return &s.Tools.Search.Threshold }),
		},
		{
			name: "tools.shell.passEnv",
			put:  entries(func(s *Settings) *[]Entry { return &s.Tools.PassEnv }),
		},
		{
			name: "tools.toolDiscoveryCommand", also: []string{"toolDiscoveryCommand", "tools.discoveryCommand"},
			put: text(func(s *Settings) *string { return &s.Tools.DiscoveryCommand }),
		},
		{
			name: "tools.toolCallCommand", also: []string{"toolCallCommand", "tools.callCommand"},
			put: text(func(s *Settings) *string { return &s.Tools.CallCommand }),
		},
		{
			name: "tools.toolCallTimeout",
			put:  milliseconds(func(s *Settings) *int { return &s.Tools.CallTimeout }),
		},
		{name: serversKey, put: putServers},
		{
			name: "mcp.mcpServerCommand", also: []string{"mcpServerCommand", "mcp.serverCommand"},
			put: text(func(s *Settings) *string { return &s.MCP.ServerCommand }),
		},
		{
			name: "mcp.allowed", also: []string{"allowMCPServers"},
			put: replaced(func(s *Settings) *[]Entry { return &s.MCP.Allowed }),
		},
		{
			name: "mcp.excluded", also: []string{"excludeMCPServers"},
			put: entries(func(s *Settings) *[]Entry { return &s.MCP.Excluded }), tightens: always,
		},
		{
			name: "context.includeDirectories", also: []string{"includeDirectories"},
			put: entries(func(s *Settings) *[]Entry { return &s.Context.IncludeDirectories }),
		},
		{
			name: "context.autoCompactThreshold",
			put:  share(func(s *Settings) *float64 { return &s.Context.CompactAt }),
		},
		{name: "context.fileName", also: []string{"contextFileName"}, put: putFileNames},
		{
			name: "tools.sandbox", also: []string{"sandbox"},
			put: putSandbox, tightens: stricterSandbox,
		},
		{name: "tools.sandboxBackend", put: putBackend},
		{
			name: "tools.sandboxWrite",
			put:  entries(func(s *Settings) *[]Entry { return &s.Tools.SandboxWrite }),
		},
		{
			name: "tools.sandboxUnixSockets",
			put:  boolean(func(s *Settings) *bool { return &s.Tools.SandboxUnixSockets }), tightens: fewerSockets,
		},
		{
			name: "tools.webFetch.allowPrivateHosts", own: true,
			put: entries(func(s *Settings) *[]Entry { return &s.Web.AllowPrivateHosts }),
		},
		{name: "webSearch.provider", put: putProviders},
		{
			name: "webSearch.default",
			put:  text(func(s *Settings) *string { return &s.Web.DefaultProvider }),
		},
		{
			name: "permissions.allow", also: []string{"allowedTools", "tools.allowed"},
			put: entries(func(s *Settings) *[]Entry { return &s.Permissions.Allow }),
		},
		{
			name: "permissions.ask",
			put:  entries(func(s *Settings) *[]Entry { return &s.Permissions.Ask }), tightens: always,
		},
		{
			name: "tools.exclude", also: []string{"excludeTools"},
			put: entries(func(s *Settings) *[]Entry { return &s.Tools.Exclude }), tightens: always,
		},
		{
			name: "permissions.deny",
			put:  entries(func(s *Settings) *[]Entry { return &s.Permissions.Deny }), tightens: always,
		},
	}
}

// builtin is what holds where nobody says otherwise.
func builtin() Settings {
	return Settings{General: defaultGeneral(), Undo: defaultUndo(), Tools: Tools{ApprovalMode: "default", Sandbox: "auto", SandboxBackend: "built-in", OutputThreshold: 25_000, Search: ToolSearch{Enabled: true, Threshold: 10}}, Context: Context{CompactAt: 0.85}}
}

// spellings are all names of the key, the newest last.
func (k key) spellings() []string { return append(slices.Clone(k.also), k.name) }

// modes are the approval modes, strictest first. Package permission gives them their meaning.
func modes() []string { return []string{"plan", "default", "auto-edit", "yolo"} }

func stricterMode(before, after *Settings) bool {
	return slices.Index(modes(), after.Tools.ApprovalMode) <= slices.Index(modes(), before.Tools.ApprovalMode)
}

func always(_, _ *Settings) bool { return true }

// putApprovalMode takes Qwen's spellings too. Its mode auto, where a model decides, is auto-edit here; a mode that
// Qwen may have one day becomes the one that asks.
func putApprovalMode(s *Settings, g given) (note string, err error) {
	var said string
	if json.Unmarshal(g.json(), &said) != nil {
		return "", mustBe("a string", g)
	}
	mode := strings.ReplaceAll(strings.ToLower(said), "_", "-")
	switch {
	case mode == "autoedit":
		mode = "auto-edit"
	case mode == "auto":
		mode = "auto-edit"
		note = fmt.Sprintf("%q is not supported; using auto-edit, the nearest stricter mode", said)
	case g.qwen && !slices.Contains(modes(), mode):
		mode = "default"
		note = fmt.Sprintf("%q is not supported; using default", said)
	}
	if !slices.Contains(modes(), mode) {
		return "", fmt.Errorf("has the invalid value %q\nExpected one of: %s", said, strings.Join(modes(), ", "))
	}
	s.Tools.ApprovalMode = mode
	return note, nil
}

func text(at func(*Settings) *string) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		var said string
		if json.Unmarshal(g.json(), &said) != nil {
			return "", mustBe("a string", g)
		}
		*at(s) = said
		return "", nil
	}
}

func integer(at func(*Settings) *int) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		said := string(g.json())
		if g.file == nil {
			said = g.text
		}
		// Through a float, for 25000.0 and 25e3 are the same number in JSON.
		n, err := strconv.ParseFloat(said, 64)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return "", mustBe("a whole number", g)
		}
		*at(s) = int(n)
		return "", nil
	}
}

// share is a number from 0 to 1.
func share(at func(*Settings) *float64) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		said := string(g.json())
		if g.file == nil {
			said = g.text
		}
		n, err := strconv.ParseFloat(said, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return "", mustBe("a number from 0 to 1", g)
		}
		*at(s) = n
		return "", nil
	}
}

func milliseconds(at func(*Settings) *int) func(*Settings, given) (string, error) {
	read := integer(at)
	return func(s *Settings, g given) (string, error) {
		note, err := read(s, g)
		if err == nil && *at(s) < 0 {
			err = mustBe("a number of milliseconds", g)
		}
		return note, err
	}
}

func boolean(at func(*Settings) *bool) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		said := string(g.json())
		if g.file == nil {
			said = g.text
		}
		if said != "true" && said != "false" {
			return "", mustBe("true or false", g)
		}
		*at(s) = said == "true"
		return "", nil
	}
}

// entries is a list that adds up over all sources. A variable or flag gives one element.
func entries(at func(*Settings) *[]Entry) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		list := slices.Clip(*at(s))
		if g.file == nil {
			*at(s) = append(list, Entry{g.text, g.from})
			return "", nil
		}
		if g.kind() != "a list" {
			return "", mustBe("a list of strings", g)
		}
		for _, m := range g.members() {
			var said string
			if m.kind() != "a string" || json.Unmarshal(m.json(), &said) != nil {
				return "", mustBe("a list of strings", given{value: m.value})
			}
			list = append(list, Entry{said, g.file.place(m.start)})
		}
		*at(s) = list
		return "", nil
	}
}

func mustBe(want string, g given) error {
	if g.file == nil {
		return fmt.Errorf("must be %s, got %q", want, g.text)
	}
	got := g.kind()
	if got == "a number" || got == "a boolean" || got == "a string" && len(g.json()) < 80 {
		got = string(g.json())
	}
	return fmt.Errorf("must be %s, got %s", want, got)
}
