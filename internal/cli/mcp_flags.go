package cli

import "github.com/adze-dev/adze/internal/session"

// mcpFlags are the flags of adze mcp alone.
func mcpFlags() []flag {
	return []flag{
		{long: "scope", value: "SCOPE", on: "mcp-add mcp-remove config-set config-unset config-path", about: "settings file: user (default) or project",
			among: []string{string(session.ForUser), string(session.ForProject)},
			set: func(o *options, v string) error {
				o.scope = v
				return nil
			}},
		{long: "env", value: "K=V", on: "mcp-add", about: "environment variable for the server (repeatable)",
			set: func(o *options, v string) error {
				o.env = append(o.env, v)
				return nil
			}},
		{long: "header", value: "'K: V'", on: "mcp-add", about: "HTTP header for the server (repeatable)",
			set: func(o *options, v string) error {
				o.headers = append(o.headers, v)
				return nil
			}},
		{long: "http", value: "ADDRESS", on: "mcp-add mcp-serve", about: "server URL (streamable HTTP)",
			abouts: map[string]string{"mcp-serve": "listen on 127.0.0.1:PORT instead of stdio"},
			set: func(o *options, v string) error {
				o.http = v
				return nil
			}},
		{long: "sse", value: "URL", on: "mcp-add", about: "server URL (server-sent events)",
			set: func(o *options, v string) error {
				o.sse = v
				return nil
			}},
		{long: "tools", value: "A,B", on: "mcp-serve", about: "tools to offer (default: all that need no user, model or conversation)",
			set: func(o *options, v string) error {
				o.tools = v
				return nil
			}},
	}
}
