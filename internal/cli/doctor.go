package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/tool"
)

// doctor says what works here, what does not, and why.
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
	s, err := openSession(env, o, oneCall)
	if err != nil {
		section(w, "sandbox", health.Sandbox.Lines(false)...)
		section(w, "settings", "cannot be used: "+err.Error())
		return exitf(exitCode(err), "")
	}
	defer s.close(env)
	section(w, "sandbox", append(health.Sandbox.Lines(s.settings.Tools.SandboxBackend == bubblewrap), sandboxReport(env, s.dir, s.settings.Tools)...)...)
	section(w, "settings", s.settingsReport()...)
	if m, err := openModel(ctx, env, s.settings); err != nil {
		section(w, "model", err.Error())
	} else {
		section(w, "model", m.Name())
		m.Close()
	}
	if lines := s.agentsReport(); len(lines) > 0 {
		section(w, "agents", lines...)
	}
	section(w, "tools", fmt.Sprintf("%d, see adze tool list", len(s.exec.Registry.All())))
	return nil
}

// settingsReport is what was taken of settings in a way that a person might not expect.
func (s *session) settingsReport() []string {
	lines := []string{"your own are in " + s.home, "the approval mode is " + s.policy.Mode().String()}
	for _, n := range s.settings.Notes() {
		lines = append(lines, n.String())
	}
	for _, u := range s.settings.Unknown() {
		lines = append(lines, fmt.Sprintf("%s: %s means nothing to adze", u.From, u.Key))
	}
	return lines
}

// agentsReport is the sub-agents that people have defined, and what of them cannot be kept. Tools of servers that are
// not connected are not known here.
func (s *session) agentsReport() []string {
	var lines []string
	for _, r := range s.roles {
		line := r.Name
		if unknown := r.Unknown(s.exec.Registry.All()); len(unknown) > 0 {
			line += ": there are no tools of these names, so it is not given them: " + strings.Join(unknown, ", ")
		}
		if isGrade(r.Model) {
			line += fmt.Sprintf("; the model %q is another program's word: it uses that of the session", r.Model)
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
