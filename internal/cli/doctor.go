package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/tool"
)

// doctor reports what works on this machine, what does not, and why.
func doctor(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "doctor"); err != nil {
		return err
	}
	w := env.Stdout
	section(w, "adze", fmt.Sprintf("%s, %s/%s", env.Version, runtime.GOOS, runtime.GOARCH))
	r := proc.Open(proc.Options{Helper: env.Helper})
	health := r.Health()
	section(w, "commands", append([]string{"run with " + health.Shell}, health.Notes...)...)
	if err := r.Close(); err != nil {
		return err
	}
	s, err := openSession(env, o, session.Options{SingleCall: true})
	if err != nil {
		section(w, "sandbox", health.Sandbox.Lines(false)...)
		section(w, "settings", strings.Split("invalid: "+err.Error(), "\n")...)
		return exitf(exitCode(err), "")
	}
	defer closeSession(env, s)
	section(w, "sandbox", append(health.Sandbox.Lines(s.Settings.Tools.SandboxBackend == session.Bubblewrap), sandboxReport(s.Folder, s.Settings.Tools)...)...)
	section(w, "settings", settingsReport(s)...)
	name := ""
	if m, err := s.Models.Open(ctx); err != nil {
		section(w, "model", strings.Split(err.Error(), "\n")...)
	} else {
		name = m.Name()
		section(w, "model", fmt.Sprintf("%s (%s)", tool.Visible(name), tool.Visible(s.Models.Where())))
	}
	if lines := agentsReport(s); len(lines) > 0 {
		section(w, "agents", lines...)
	}
	outside := outsideReport(ctx, s, name)
	section(w, "tools", append([]string{fmt.Sprintf("%d tools (see adze tool list)", len(s.Executor.Registry.All()))}, outside...)...)
	return nil
}

// outsideReport is a line for every source of external tools, and for its problems.
func outsideReport(ctx context.Context, s *session.Session, modelName string) []string {
	s.Outside.Connect()
	s.Outside.Wait(ctx) // what failed is told below
	var lines []string
	if ended, said, ok := s.Outside.Discovered(); ok {
		lines = append(lines, commandReport(s.Executor.Registry, ended, said)...)
	}
	for _, l := range listServers(s) {
		line := fmt.Sprintf("MCP server %s: %s, %s", l.Name, l.State, counted(len(l.Tools), "tool"))
		if l.Error != "" {
			line = fmt.Sprintf("MCP server %s: %s: %s", l.Name, l.State, l.Error)
		}
		lines = append(lines, line)
		if unknown := discover.UnknownKeys(s.Settings.MCP.Servers[l.Name].JSON); len(unknown) > 0 {
			lines = append(lines, fmt.Sprintf("MCP server %s: unknown setting %s", l.Name, strings.Join(unknown, ", ")))
		}
		if n := len(l.Warnings); n > 0 {
			lines = append(lines, fmt.Sprintf("MCP server %s: %s, see adze mcp list", l.Name, counted(n, "warning")))
		}
	}
	tokens := 0
	for _, d := range s.Executor.Registry.All() {
		if d.Origin != "" {
			tokens += agent.Tokens(d)
		}
	}
	if most := s.Outside.Budget(modelName); most > 0 && tokens > most {
		lines = append(lines, fmt.Sprintf("external tools take about %d tokens, over the limit of %d (tools.toolSearch.threshold): the model loads them with %s",
			tokens, most, builtin.ToolSearch))
	}
	return lines
}

// commandReport reports the result of the discovery command.
func commandReport(registry *tool.Registry, ended bool, said []string) []string {
	if !ended {
		return []string{"the discovery command timed out after 10 s"}
	}
	n := 0
	for _, d := range registry.All() {
		if d.Origin == discover.CommandOrigin {
			n++
		}
	}
	lines := []string{"the discovery command provides " + counted(n, "tool")}
	for _, one := range said {
		lines = append(lines, strings.ReplaceAll(one, "\n", "\n    ")) // what it said may be many lines
	}
	return lines
}

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// settingsReport lists the settings that a user might not expect.
func settingsReport(s *session.Session) []string {
	lines := []string{"user settings: " + filepath.Join(s.Folder.Home, "settings.json"), "approval mode: " + s.Policy.Mode().String()}
	for _, n := range s.Settings.Notes() {
		lines = append(lines, n.String())
	}
	for _, u := range s.Settings.Unknown() {
		lines = append(lines, fmt.Sprintf("%s: unknown setting %q", u.From, u.Key))
	}
	return lines
}

// agentsReport lists the defined subagents and their unsupported settings. The tools of servers that are not connected
// are unknown here.
func agentsReport(s *session.Session) []string {
	var lines []string
	for _, r := range s.Definitions.Roles {
		line := r.Name
		if unknown := r.Unknown(s.Executor.Registry.All()); len(unknown) > 0 {
			line += ": unknown or unsupported tools, not granted: " + strings.Join(unknown, ", ")
		}
		if session.IsGrade(r.Model) {
			line += fmt.Sprintf("; unknown model %q, uses the session's model", r.Model)
		}
		lines = append(lines, line)
	}
	return lines
}

func section(w io.Writer, title string, lines ...string) {
	fmt.Fprintf(w, "%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(w, "  %s\n", tool.Visible(l))
	}
}
