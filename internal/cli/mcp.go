package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

const noServers = "No MCP servers configured. Add one with 'adze mcp add NAME COMMAND …'."

func mcpList(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "mcp list [--json]"); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	s.Outside.ConnectServers()
	s.Outside.Wait(ctx) // the list has what failed
	for _, p := range s.Outside.Problems() {
		if p.Server == "" {
			env.tell(p.Text)
		}
	}
	all := s.ListServers()
	if o.json {
		return printJSON(env.Stdout, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.Stdout, noServers)
		return err
	}
	_, err = io.WriteString(env.Stdout, describeServers(all))
	return err
}

func describeServers(all []session.ListedServer) string {
	var rows [][]string
	var below strings.Builder
	for _, l := range all {
		tools := counted(len(l.Tools), "tool")
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
		rows = append(rows, []string{tool.Visible(l.Name), l.State, tools, tool.Visible(strings.TrimSpace(l.Transport + " " + l.Target)), started})
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
	if err := takes(words, 1, "mcp tools NAME [--json]"); err != nil {
		return err
	}
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
	all := slices.DeleteFunc(s.Executor.Registry.All(), func(d tool.Declaration) bool { return d.Origin != discover.Origin(words[0]) })
	if o.json {
		return printJSON(env.Stdout, all)
	}
	_, err = io.WriteString(env.Stdout, describeTools(all)+describeMore(s.Outside))
	return err
}

// describeMore lists what else the servers offer, as one writes it in a prompt.
func describeMore(outside *session.Outside) string {
	var text string
	var rows [][]string
	if prompts := outside.Prompts(); len(prompts) > 0 {
		text += "Prompts:\n" + slashTable(prompts)
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
func mcpLogs(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 1, "mcp logs NAME"); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	lines, err := discover.LogFile(s.Folder.MCPState(), words[0])
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
		return fmt.Sprintf("%s: %s, %s, %d ms", alias, st.State, counted(len(st.Tools), "tool"), st.Took.Milliseconds()), nil
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
func withServer(env Env, o *options, words []string, usage string, do func(*discover.Servers, string) (string, error)) error {
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
