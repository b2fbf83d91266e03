package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

const noServers = "No MCP servers configured. Add one with 'adze mcp add NAME COMMAND …'."

func mcpList(ctx context.Context, env Env, o *options, s *session.Session, _ []string) error {
	s.Outside.ConnectServers()
	s.Outside.Wait(ctx) // the list has what failed
	for _, p := range s.Outside.Problems() {
		if p.Server == "" {
			env.tell(p.Text)
		}
	}
	all := s.Outside.Listed()
	if o.json {
		return printJSON(env.Stdout, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.Stdout, noServers)
		return err
	}
	_, err := io.WriteString(env.Stdout, describeServers(all))
	return err
}

func describeServers(all []external.ListedServer) string {
	var rows [][]string
	var below strings.Builder
	for _, l := range all {
		tools := humanize.Count(len(l.Tools), "tool")
		started := ""
		switch {
		case l.Started != nil && l.State == string(discover.Starting):
			started = "since " + l.Started.Local().Format(time.TimeOnly)
		case l.Started != nil && l.State == string(discover.Failed):
			started = "tried " + l.Started.Local().Format(time.TimeOnly)
		case l.Started != nil:
			started = fmt.Sprintf("started %s in %d ms", l.Started.Local().Format(time.TimeOnly), l.Took)
		case l.Seen != nil:
			started = "last read " + l.Seen.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{tool.Visible(l.Name), l.State, tools,
			tool.Visible(strings.TrimSpace(l.Transport + " " + l.Target)), started})
		if l.Error != "" {
			fmt.Fprintf(&below, "%s: %s\n", tool.Visible(l.Name), tool.Visible(l.Error))
		}
		for _, w := range l.Warnings {
			fmt.Fprintf(&below, "%s: %s\n", tool.Visible(l.Name), tool.Visible(w))
		}
	}
	return table(rows) + below.String()
}

// openServer opens a session with one server of the settings and no other external tools.
func openServer(env Env, o *options, alias string) (*session.Session, error) {
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return nil, err
	}
	if err := s.Outside.ConnectOne(alias); err != nil {
		closeSession(env, s)
		return nil, err
	}
	return s, nil
}

func mcpTools(ctx context.Context, env Env, o *options, words []string) error {
	s, err := openServer(env, o, words[0])
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	problems := s.Outside.Wait(ctx)
	if ctx.Err() != nil {
		return exitf(exitInterrupted, "interrupted")
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	all := slices.DeleteFunc(s.Executor.Registry.All(),
		func(d tool.Declaration) bool { return d.Origin != discover.Origin(words[0]) })
	if o.json {
		return printJSON(env.Stdout, all)
	}
	_, err = io.WriteString(env.Stdout, describeTools(all)+describeMore(s.Outside))
	return err
}

// describeMore lists what else the servers offer, as one writes it in a prompt.
func describeMore(outside *external.Tools) string {
	var text string
	var rows [][]string
	if prompts := slash.Prompts(outside.Servers()); len(prompts) > 0 {
		text += "Prompts:\n" + slash.Table(prompts)
	}
	for _, r := range outside.Servers().Resources() {
		about, _, _ := strings.Cut(r.Description, "\n")
		rows = append(rows, []string{tool.Visible("@" + r.Server + ":" + r.URI), tool.Visible(about)})
	}
	if len(rows) > 0 {
		text += "Resources:\n" + table(rows)
	}
	return text
}

// mcpLogs prints what a server said, in this run and before.
func mcpLogs(_ context.Context, env Env, o *options, s *session.Session, words []string) error {
	lines, err := discover.LogFile(s.Directory.MCPState(), words[0])
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		if err := s.Outside.Find(words[0]); err != nil {
			return err
		}
		env.tell("the log of MCP server " + words[0] + " is empty")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(env.Stdout, tool.Visible(line)); err != nil {
			return err
		}
	}
	return nil
}

func mcpLogin(ctx context.Context, env Env, o *options, words []string) error {
	return withServer(env, o, words, "mcp login NAME", func(s *discover.Servers, alias string) (string, error) {
		return "Logged in to " + alias + ".", s.Login(ctx, alias)
	})
}

func mcpLogout(ctx context.Context, env Env, o *options, words []string) error {
	return withServer(env, o, words, "mcp logout NAME", func(s *discover.Servers, alias string) (string, error) {
		return "Logged out of " + alias + ".", s.Logout(ctx, alias)
	})
}

// mcpReconnect starts a server again and reads its lists again, whatever is cached of it; without a name, all of them.
func mcpReconnect(ctx context.Context, env Env, o *options, words []string) error {
	if len(words) == 0 {
		return reconnectAll(ctx, env, o)
	}
	return withServer(env, o, words, "mcp reconnect [NAME]", func(s *discover.Servers, alias string) (string, error) {
		if err := s.Reconnect(ctx, alias); err != nil {
			return "", fmt.Errorf("MCP server %s: %w", alias, err)
		}
		st := s.List()[0]
		return fmt.Sprintf("%s: %s, %s, %d ms", alias, st.State, humanize.Count(len(st.Tools), "tool"),
			st.Took.Milliseconds()), nil
	})
}

// reconnectAll continues after a server that fails, and returns all errors at the end.
func reconnectAll(ctx context.Context, env Env, o *options) error {
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	aliases, problems := s.Outside.Configured()
	closeSession(env, s)
	failed := make([]error, 0, len(problems))
	for _, p := range problems {
		failed = append(failed, errors.New(p.String()))
	}
	for _, alias := range aliases {
		failed = append(failed, mcpReconnect(ctx, env, o, []string{alias}))
	}
	if len(failed) == 0 {
		_, err := fmt.Fprintln(env.Stdout, noServers)
		return err
	}
	return errors.Join(failed...)
}

// withServer does something with one server and prints what came of it.
func withServer(env Env, o *options, words []string, usage string,
	do func(*discover.Servers, string) (string, error)) error {
	if err := takes(words, 1, usage); err != nil {
		return err
	}
	s, err := openServer(env, o, words[0])
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	text, err := do(s.Outside.Servers(), words[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, text)
	return err
}

// mcpFlags are the flags of adze mcp alone.
func mcpFlags(o *options) []flag {
	return []flag{
		{long: "scope", value: "SCOPE", on: "mcp-add mcp-remove config-set config-unset config-import config-path",
			about: "settings file: user (default) or project",
			among: []string{string(project.ForUser), string(project.ForProject)},
			to:    text(&o.scope)},
		{long: "env", value: "K=V", on: "mcp-add", about: "environment variable for the server (repeatable)",
			to: texts(&o.env)},
		{long: "header", value: "'K: V'", on: "mcp-add", about: "HTTP header for the server (repeatable)",
			to: texts(&o.headers)},
		{long: "http", value: "ADDRESS", on: "mcp-add mcp-serve", about: "server URL (streamable HTTP)",
			abouts: map[string]string{"mcp-serve": "listen on 127.0.0.1:PORT instead of stdio"},
			to:     text(&o.http)},
		{long: "sse", value: "URL", on: "mcp-add", about: "server URL (server-sent events)",
			to: text(&o.sse)},
		{long: "rule", value: "RULE", on: "mcp-serve", about: "rule for calls that run without approval (repeatable)",
			to: texts(&o.rules)},
		{long: "tools", value: "A,B", on: cmdPrompt + " mcp-serve",
			about: "the only built-in tools to offer, or default",
			abouts: map[string]string{
				"mcp-serve": "tools to offer (default: all that need no user, model or conversation)",
			},
			to: func(v string) error {
				o.tools, o.hasTools = v, true
				return nil
			}},
	}
}

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
	raw, err := humanize.JSON(server)
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
	if o.scope == project.ForProject {
		fmt.Fprintln(env.Stdout, "Run 'adze trust' to enable it.")
	}
	return nil
}

// serverOf is the server that the command line describes.
func serverOf(o *options, command []string) (discover.Server, error) {
	var server discover.Server
	remote := o.http != "" || o.sse != ""
	switch {
	case o.http != "" && o.sse != "", remote && len(command) > 0, !remote && len(command) == 0:
		return server, usagef("mcp add needs a command, --http URL or --sse URL (one of them)\nUsage: adze %s",
			addUsage)
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
		return server, usagef("%q is a URL, not a command\nUse --http %[1]s (or --sse for server-sent events).",
			command[0])
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
	directory, err := settingsDirectory(env, o)
	if err != nil {
		return "", err
	}
	return directory.Change(o.scope, change)
}

// settingsDirectory is where settings are changed. The user's own settings need no directory.
func settingsDirectory(env Env, o *options) (project.Directory, error) {
	directory, err := env.session().Directory("")
	if err == nil && o.scope == project.ForProject {
		directory.Path, err = workingDir(env, o.cwd)
	}
	return directory, err
}

// openBrowser opens an address if this system has a known way to. The address is printed anyway, so that nothing is
// said when there is none.
func openBrowser(address string) {
	argv := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		argv[0] = "open"
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
