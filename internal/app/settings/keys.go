package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// key is one setting: its names, its values and where it is stored.
type key struct {
	name   string
	also   []string // older spellings, oldest first; if a file has several, the newest wins
	env    []string // environment variables, the strongest last
	about  string   // description for docs/settings.md and the JSON Schema
	shape  shape    // of its value
	preset string   // the default as JSON; "": none
	put    func(*Settings, given) (note string, err error)
	own    bool // only the user's own files may set it, even if the project is trusted
	adds   bool // the values of all sources add up; otherwise the last one replaces the others
	// tightens reports whether an untrusted project may make a change. nil: it may make none.
	tightens func(before, after *Settings) bool
}

// given is a value for a setting.
type given struct {
	value
	from Place
	qwen bool // from a file of Qwen Code, which may have other values
	// project means that it is from a file of the project, not from the user's own.
	project bool
}

// keys returns all settings.
func keys() []key {
	return slices.Concat(toolKeys(), sandboxKeys(), ruleKeys(), mcpKeys(), contextKeys(), webKeys(), modelKeys(),
		limitKeys(), generalKeys(), undoKeys(), uiKeys(), hookKeys(), lspKeys(), telemetryKeys())
}

func toolKeys() []key {
	return []key{
		{
			name: "tools.approvalMode", also: []string{"approvalMode"}, preset: `"default"`,
			about: "Approval mode: plan (keep no changes), default (ask before changes), auto-edit (keep changes in " +
				"the workspace) or yolo (approve everything).",
			shape: enumShape(modes()), put: putApprovalMode, tightens: stricterMode,
		},
		{
			name: "tools.core", also: []string{"coreTools"}, shape: listShape,
			about: "The only built-in tools that the model gets. An entry with a specifier, such as Shell(git:*), " +
				"also limits the calls of its tool. MCP servers and discovered tools are not affected.",
			put: replaced(func(s *Settings) *[]Entry { return &s.Tools.Core }), tightens: fewerCore,
		},
		{
			name: "tools.disabled", shape: listShape, adds: true,
			about: "Tools to remove. An entry with a specifier is a deny rule.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Tools.Disabled }), tightens: always,
		},
		{
			name: "tools.exclude", also: []string{"excludeTools"}, shape: listShape, adds: true,
			about: "Rules for denied calls. A rule without a specifier also removes its tool.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Tools.Exclude }), tightens: always,
		},
		{
			name: "tools.truncateToolOutputThreshold", also: []string{"truncateToolOutputThreshold"}, preset: "25000",
			shape: integerShape,
			about: "Maximum characters of a result for the model; the rest is saved to a file. 0 for no limit.",
			put:   integer(func(s *Settings) *int { return &s.Tools.OutputThreshold }),
		},
		{
			name: "tools.toolSearch.enabled", preset: "true", shape: booleanShape,
			about: "Declare external tools only when the model has found them, if their declarations are too long.",
			put:   boolean(func(s *Settings) *bool { return &s.Tools.Search.Enabled }),
		},
		{
			name: "tools.toolSearch.threshold", preset: "10", shape: integerShape,
			about: "Maximum share of the context window for declarations of external tools, in percent.",
			put:   integer(func(s *Settings) *int { return &s.Tools.Search.Threshold }),
		},
		{
			name: "tools.shell.passEnv", shape: listShape, adds: true,
			about: "Environment variables to pass to commands even though they look like credentials.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Tools.PassEnv }),
		},
		{
			name: "tools.env", shape: listShape, adds: true,
			about: "Environment variables for commands in trials, besides those that builds commonly need: NAME, or " +
				"NAME=value. Not for credentials.",
			put: entries(func(s *Settings) *[]Entry { return &s.Tools.Env }),
		},
		{
			name: "tools.notSecret", own: true, shape: listShape, adds: true,
			about: "Exceptions from masked secrets: kinds of tokens, such as jwt, and patterns for paths of files " +
				"whose tokens are shown, such as testdata/**. See secrets.md.",
			put: entries(func(s *Settings) *[]Entry { return &s.Tools.NotSecret }),
		},
		{
			name: "tools.afterChange", shape: afterChangeShape, adds: true, put: putAfterChange,
			about: "Programs that run after calls that changed files, such as formatters: {\"glob\": \"**/*.go\", " +
				"\"run\": [\"gofmt\", \"-w\", \"{files}\"]}. They run without a shell, in the sandbox of commands; " +
				"`timeout` is in milliseconds (default: 30000). See hooks.md.",
		},
		{
			name: "tools.toolDiscoveryCommand", also: []string{"toolDiscoveryCommand", "tools.discoveryCommand"},
			shape: stringShape,
			about: "Command that prints the declarations of more tools.",
			put:   text(func(s *Settings) *string { return &s.Tools.DiscoveryCommand }),
		},
		{
			name: "tools.toolCallCommand", also: []string{"toolCallCommand", "tools.callCommand"}, shape: stringShape,
			about: "Command that runs a tool from `tools.toolDiscoveryCommand`.",
			put:   text(func(s *Settings) *string { return &s.Tools.CallCommand }),
		},
		{
			name: "tools.toolCallTimeout", shape: `{"type":"integer","minimum":0}`,
			about: "Timeout of `tools.toolCallCommand`, in milliseconds; 0 for no limit.",
			put:   milliseconds(func(s *Settings) *int { return &s.Tools.CallTimeout }),
		},
	}
}

func mcpKeys() []key {
	return []key{
		{
			name: serversKey, shape: `{"type":"object","additionalProperties":{"type":["object","null"]}}`, adds: true,
			about: "MCP servers by name.", put: putServers,
		},
		{
			name: "mcp.mcpServerCommand", also: []string{"mcpServerCommand", "mcp.serverCommand"}, shape: stringShape,
			about: "Command of an additional MCP server.",
			put:   text(func(s *Settings) *string { return &s.MCP.ServerCommand }),
		},
		{
			name: "mcp.allowed", also: []string{"allowMCPServers"}, shape: listShape,
			about: "The only MCP servers that Adze starts; * is a wildcard.",
			put:   replaced(func(s *Settings) *[]Entry { return &s.MCP.Allowed }), tightens: fewerServers,
		},
		{
			name: "mcp.excluded", also: []string{"excludeMCPServers"}, shape: listShape, adds: true,
			about: "MCP servers that Adze doesn't start; * is a wildcard.",
			put:   entries(func(s *Settings) *[]Entry { return &s.MCP.Excluded }), tightens: always,
		},
	}
}

func contextKeys() []key {
	return []key{
		{
			name: "context.includeDirectories", also: []string{"includeDirectories"}, shape: listShape, adds: true,
			about: "Additional directories of the workspace.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Context.IncludeDirectories }),
		},
		{
			name: "context.fileName", also: []string{"contextFileName"},
			shape: `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`,
			about: "Names of context files, in place of AGENTS.md and QWEN.md.", put: putFileNames,
		},
		{
			name: "context.nested", preset: "true", shape: booleanShape,
			about: "Load context files of a subdirectory when a tool first reaches it.",
			put:   boolean(func(s *Settings) *bool { return &s.Context.Nested }),
		},
		{
			name: "context.autoCompactThreshold", preset: "0.85", shape: `{"type":"number","minimum":0,"maximum":1}`,
			about: "Share of the context window at which a conversation is compacted. With 0 or 1, only when the " +
				"server rejects it.",
			put: share(func(s *Settings) *float64 { return &s.Context.CompactAt }),
		},
		{
			name: "context.fileFiltering.respectGitIgnore", also: []string{"fileFiltering.respectGitIgnore"},
			preset: "true", shape: booleanShape,
			about: "Skip git-ignored files in listings and searches.",
			put:   boolean(func(s *Settings) *bool { return &s.Context.GitIgnore }), tightens: respectsGit,
		},
		{
			name: "context.fileFiltering.respectQwenIgnore", preset: "true", shape: booleanShape,
			about: "Must be true: AI ignore files such as .adzeignore and .qwenignore always apply.", put: putAIIgnore,
			tightens: always,
		},
		{
			name: "context.fileFiltering.customIgnoreFiles", shape: listShape, adds: true,
			about: "Additional names of AI ignore files, besides .adzeignore, .qwenignore, .agentignore and .aiignore.",
			put:   putIgnoreFiles, tightens: always,
		},
		{
			name: "skills.disabled", shape: listShape, adds: true,
			about: "Skills to hide from the model.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Context.DisabledSkills }), tightens: always,
		},
		{
			name: "slashCommands.disabled", shape: listShape, adds: true,
			about: "Slash commands to remove, without the slash.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Context.DisabledSlashes }), tightens: always,
		},
	}
}

func ruleKeys() []key {
	return []key{
		{
			name: "permissions.allow", also: []string{"allowedTools", "tools.allowed"}, shape: listShape, adds: true,
			about: "Rules for calls that run without approval.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Permissions.Allow }),
		},
		{
			name: "permissions.ask", shape: listShape, adds: true,
			about: "Rules for calls that always require approval.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Permissions.Ask }), tightens: always,
		},
		{
			name: "permissions.deny", shape: listShape, adds: true,
			about: "Rules for denied calls.",
			put:   entries(func(s *Settings) *[]Entry { return &s.Permissions.Deny }), tightens: always,
		},
	}
}

// builtin returns the defaults.
func builtin() Settings {
	return Settings{
		General: defaultGeneral(),
		LSP:     LSP{Diagnostics: true},
		Undo:    defaultUndo(),
		Hooks:   Hooks{StopBlockingCap: defaultStopBlockingCap},
		Tools: Tools{
			ApprovalMode: "default", Sandbox: "auto", SandboxBackend: "built-in", Trial: "auto",
			OutputThreshold: 25_000, Search: ToolSearch{Enabled: true, Threshold: 10},
		},
		Model:   Model{FallbackWait: 60},
		Context: Context{Nested: true, GitIgnore: true, CompactAt: 0.85},
		UI:      UI{Theme: Themes()[0], Notifications: notifications()[0], OutputLines: 5},
	}
}

// spellings returns all names of the key, the newest last.
func (k key) spellings() []string { return append(slices.Clone(k.also), k.name) }

// modes returns the approval modes, strictest first. Package permission defines them.
func modes() []string { return []string{"plan", "default", "auto-edit", "yolo"} }

func stricterMode(before, after *Settings) bool {
	return slices.Index(modes(), after.Tools.ApprovalMode) <= slices.Index(modes(), before.Tools.ApprovalMode)
}

func always(_, _ *Settings) bool { return true }

// putApprovalMode also accepts Qwen's spellings. Its mode auto, where a model decides, is auto-edit here; an unknown
// mode of Qwen is default.
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
	return whole(math.MaxInt32, at)
}

// whole reads an integer up to a limit.
func whole[N int | int64](limit float64, at func(*Settings) *N) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		// As a float, because 25000.0 and 25e3 are the same number in JSON.
		n, err := strconv.ParseFloat(g.literal(), 64)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > limit {
			return "", mustBe("a whole number", g)
		}
		*at(s) = N(n)
		return "", nil
	}
}

// share reads a number from 0 to 1.
func share(at func(*Settings) *float64) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		n, err := strconv.ParseFloat(g.literal(), 64)
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
		said := g.literal()
		if said != "true" && said != "false" {
			return "", mustBe("true or false", g)
		}
		*at(s) = said == "true"
		return "", nil
	}
}

// entries reads a list that is combined over all sources. A variable gives one element, a flag one or more.
func entries(at func(*Settings) *[]Entry) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (string, error) {
		list := slices.Clip(*at(s))
		if g.file == nil {
			said := g.texts
			if said == nil {
				said = []string{g.text}
			}
			for _, one := range said {
				list = append(list, Entry{one, g.from})
			}
			*at(s) = list
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

// literal returns a number or a boolean as it is written.
func (g given) literal() string {
	if g.file == nil {
		return g.text
	}
	return string(g.json())
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
