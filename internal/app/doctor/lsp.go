package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/tool"
)

// versionTime is how long a language server may take to print its version.
const versionTime = 10 * time.Second

// languageServers lists the language servers for the project's files: what is installed, and what is missing.
func (c *Report) languageServers(ctx context.Context, s *session.Session) {
	all := s.LanguageServers()
	if len(all) == 0 {
		return
	}
	c.section("language servers")
	for _, one := range all {
		name := tool.Visible(one.Name)
		if one.Program == "" {
			c.plain(strings.TrimSuffix(name+" is not installed: "+tool.Visible(one.Why), ": "))
			continue
		}
		if one.State == external.ServerOff {
			c.warn(name + ": " + one.Why)
			continue
		}
		output, failure := s.Tools.RunProgram(ctx, append([]string{one.Program}, one.Version...), versionTime)
		said, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
		if failure != "" || said == "" {
			said = "version unknown"
		}
		c.ok(name + ": " + tool.Visible(said) + " (" + tool.Visible(one.Program) + ")")
	}
}
