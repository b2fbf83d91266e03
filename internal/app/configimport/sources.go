package configimport

// source is a kind of settings files of an agent.
type source struct {
	agent string
	files string // patterns of paths below the home directory or the project's top, with spaces
	slash string // where paths that begin with a slash are, in the home directory; "": in the project
	keys  []key  // others are reported, unless they are state
	state bool
	whole taker // plans the counterparts of files without keys; nil: they have keys
}

// key is a setting of another agent, or one in an object.
type key struct {
	name string
	take taker  // nil: it has no counterpart
	why  string // it has none
}

// taker plans the counterpart of a value.
type taker func(r *reader, name string, value any)

// sources has all settings files that are read. A later file of an agent replaces the values of earlier ones.
var sources = []source{
	{agent: "claude", files: ".claude/settings.json", slash: "~/.claude", keys: claudeKeys},
	{agent: "claude", files: ".claude/settings.local.json", slash: "~", keys: claudeKeys},
	{agent: "claude", files: ".claude.json", keys: []key{{name: "mcpServers", take: servers}}, state: true},
	{agent: "qwen", files: ".qwen/settings.json", keys: claudeKeys},
	{agent: "gemini", files: ".gemini/settings.json", keys: []key{
		{name: "mcpServers", take: servers}, {name: "model.name", take: model},
		{name: "general.defaultApprovalMode", take: mode}, {name: "tools.exclude", take: deny},
		{name: "tools.confirmationRequired", take: ask}, {name: "tools.allowed", take: allow},
		{name: "tools.core", take: restricts}, {name: "hooks", why: "hooks of Gemini CLI get other input"},
		{name: "policyPaths", take: restricts}, {name: "mcp.excluded", take: turnsOff},
		{name: "mcp.allowed", take: turnsOff},
	}},
	{agent: "gemini", files: ".gemini/policies/*.toml", whole: restricts},
	{agent: "codex", files: ".codex/config.toml", keys: []key{
		{name: "mcp_servers", take: servers}, {name: "model", take: model}, {name: "sandbox_mode", take: sandbox},
		{name: "approval_policy", why: "Adze asks by its own modes and rules"},
		{name: "hooks", why: "hooks of Codex get other names of tools"}, {name: "permissions", take: restricts},
	}},
	{agent: "codex", files: ".codex/rules/*.rules", whole: prefixRules},
	{agent: "opencode", keys: []key{
		{name: "mcp", take: servers}, {name: "model", take: model}, {name: "permission", take: lastRules},
		{name: "tools", take: switches}, {name: "agent", take: restricts}, {name: "mode", take: restricts},
	}, files: ".config/opencode/opencode.json .config/opencode/opencode.jsonc opencode.json opencode.jsonc"},
}

// claudeKeys are the keys of Claude Code and of Qwen Code.
var claudeKeys = []key{
	{name: "mcpServers", take: servers}, {name: "model", take: model}, {name: "model.name", take: model},
	{name: "permissions.deny", take: deny}, {name: "permissions.ask", take: ask},
	{name: "permissions.allow", take: allow}, {name: "permissions.defaultMode", take: mode},
	{name: "tools.approvalMode", take: mode}, {name: "hooks", take: hooks}, {name: "disableAllHooks", take: turnsOff},
	{name: "tools.exclude", take: deny}, {name: "tools.allowed", take: allow}, {name: "tools.core", take: restricts},
	{name: "mcp.excluded", take: turnsOff}, {name: "mcp.allowed", take: turnsOff},
}
