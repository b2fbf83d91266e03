package slash

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/tool"
)

// loggedLines is how many of the last lines that a language server printed are shown.
const loggedLines = 10

func slashLSP(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	var b strings.Builder
	for _, one := range s.LanguageServers() {
		fmt.Fprintf(&b, "%s: %s", one.Name, one.State)
		for _, more := range []string{one.Why, one.Program} {
			if more != "" {
				b.WriteString(", " + more)
			}
		}
		b.WriteString("\n")
		if one.Log != "" {
			lines := strings.Split(one.Log, "\n")
			for _, line := range lines[max(0, len(lines)-loggedLines):] {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	if b.Len() == 0 {
		return Expansion{Print: "No language server is known for the files of this project."}, nil
	}
	return Expansion{Print: tool.Visible(strings.TrimSuffix(b.String(), "\n"))}, nil
}
