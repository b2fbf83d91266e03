package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/tool"
)

const addUsage = "mcp add [--scope user|project] NAME COMMAND [ARGS…], or NAME --http URL, or NAME --sse URL"

// mcpAdd adds a server to the settings.
func mcpAdd(_ context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return usagef("usage: adze %s", addUsage)
	}
	alias := words[0]
	if strings.TrimSpace(alias) != alias || alias == "" || tool.Hidden(alias) {
		return usagef("invalid server name %q", alias)
	}
	server, err := serverOf(o, words[1:])
	if err != nil {
		return err
	}
	raw, err := encode(server)
	if err != nil {
		return err
	}
	done := "Added"
	path, err := changeSettings(env, o, func(path string, text []byte) ([]byte, error) {
		if _, found, err := settings.RemoveServer(path, text, alias); err == nil && found {
			done = "Replaced"
		}
		return settings.SetServer(path, text, alias, raw)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s MCP server %q in %s: %s\n", done, alias, path, tool.Visible(string(raw)))
	if server.Command != "" && env.Getenv("PATH") != "" {
		if _, err := exec.LookPath(server.Command); errors.Is(err, exec.ErrNotFound) {
			env.tell(fmt.Sprintf("warning: command %q not found in PATH", server.Command))
		}
	}
	if session.Scope(o.scope) == session.ForProject {
		fmt.Fprintln(env.Stdout, "Run 'adze trust' to enable it.")
	}
	return nil
}

// encode writes JSON without making <, > and & unreadable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// serverOf is the server that the command line describes.
func serverOf(o *options, command []string) (discover.Server, error) {
	var server discover.Server
	remote := o.http != "" || o.sse != ""
	switch {
	case o.http != "" && o.sse != "", remote && len(command) > 0, !remote && len(command) == 0:
		return server, usagef("mcp add needs a command, --http URL or --sse URL (one of them)\nUsage: adze %s", addUsage)
	case remote && len(o.env) > 0:
		return server, usagef("--env applies only to a command; use --header with --http and --sse")
	case !remote && len(o.headers) > 0:
		return server, usagef("--header applies only to --http and --sse; use --env with a command")
	case remote:
		server = discover.Server{HTTPURL: o.http, URL: o.sse}
		u, err := url.Parse(o.http + o.sse)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return server, usagef("%q is not an http(s) URL", o.http+o.sse)
		}
	case strings.HasPrefix(command[0], "http://"), strings.HasPrefix(command[0], "https://"):
		return server, usagef("%q is a URL, not a command\nUse --http %[1]s (or --sse for server-sent events).", command[0])
	default:
		server = discover.Server{Command: command[0], Args: command[1:]}
	}
	var err error
	if server.Env, err = pairs(o.env, "=", "--env K=V"); err != nil {
		return server, err
	}
	server.Headers, err = pairs(o.headers, ":", "--header 'K: V'")
	return server, err
}

func pairs(given []string, between, usage string) (map[string]string, error) {
	var out map[string]string
	for _, g := range given {
		name, value, ok := strings.Cut(g, between)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usagef("expected %s, got %q", usage, g)
		}
		if out == nil {
			out = map[string]string{}
		}
		if between == ":" {
			value = strings.TrimSpace(value)
		}
		out[name] = value
	}
	return out, nil
}

// mcpRemove removes a server from the settings.
func mcpRemove(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 1, "mcp remove [--scope user|project] NAME"); err != nil {
		return err
	}
	path, err := changeSettings(env, o, func(path string, text []byte) ([]byte, error) {
		out, found, err := settings.RemoveServer(path, text, words[0])
		if err == nil && !found {
			err = fmt.Errorf("no MCP server %q in %s%s", words[0], path, elsewhere(env, o, words[0]))
		}
		return out, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Removed MCP server %q from %s\n", words[0], path)
	return err
}

// elsewhere names the file that contains a server that is not in the given one.
func elsewhere(env Env, o *options, alias string) string {
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return ""
	}
	defer closeSession(env, s)
	if server, ok := s.Settings.MCP.Servers[alias]; ok {
		return "; it is in " + server.From.String()
	}
	return ""
}

// changeSettings rewrites the settings file that the command line means.
func changeSettings(env Env, o *options, change func(path string, text []byte) ([]byte, error)) (string, error) {
	folder, err := settingsFolder(env, o)
	if err != nil {
		return "", err
	}
	return folder.Change(session.Scope(o.scope), change)
}

// settingsFolder is where settings are changed. The user's own settings need no directory.
func settingsFolder(env Env, o *options) (session.Folder, error) {
	folder, err := env.session().Folder("")
	if err == nil && session.Scope(o.scope) == session.ForProject {
		folder.Path, err = workingDir(env, o.cwd)
	}
	return folder, err
}
