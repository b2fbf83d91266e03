package cli

import "github.com/adze-dev/adze/internal/session"

// mcpFlags are the flags of adze mcp alone.
func mcpFlags() []flag {
	return []flag{
		{long: "scope", value: "SCOPE", on: "mcp-add mcp-remove", about: "user (default): your own settings; project: those of the folder",
			set: func(o *options, v string) error {
				return oneOf(&o.scope, v, string(session.ForUser), string(session.ForProject))
			}},
		{long: "env", value: "K=V", on: "mcp-add", about: "a variable for the server's command; may be given several times",
			set: func(o *options, v string) error {
				o.env = append(o.env, v)
				return nil
			}},
		{long: "header", value: "'K: V'", on: "mcp-add", about: "a header for the server's address; may be given several times",
			set: func(o *options, v string) error {
				o.headers = append(o.headers, v)
				return nil
			}},
		{long: "http", value: "ADDRESS", on: "mcp-add mcp-serve", about: "add: the server's URL, streamable HTTP; serve: listen on 127.0.0.1:PORT",
			set: func(o *options, v string) error {
				o.http = v
				return nil
			}},
		{long: "sse", value: "URL", on: "mcp-add", about: "the server's URL, server-sent events",
			set: func(o *options, v string) error {
				o.sse = v
				return nil
			}},
		{long: "tools", value: "A,B", on: "mcp-serve", about: "offer these tools only; else all that need no person, model or conversation",
			set: func(o *options, v string) error {
				o.tools = v
				return nil
			}},
	}
}
